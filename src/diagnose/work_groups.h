// A recording's work as it is compared: all kernels of one operator's calls with the same dims, or all of one name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnose.h"

namespace tilecast {

struct ReadGroup {
  WorkGroup group;
  std::optional<ReadShape> shape;  // where anything tells it
  std::string exchange;            // of a collective (exchange.h)
};

struct GroupedWork {
  std::vector<ReadGroup> groups;
  std::vector<std::size_t> of_kind;  // the group of each of the recording's kinds
  std::vector<WorkFamily> families;  // of each kind
  Seconds recognised;                // of a known family
  std::vector<std::string> notes;    // shapes of tables that make no sense
};

GroupedWork group_work(const Recording& recording);

}  // namespace tilecast
