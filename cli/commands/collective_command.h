// `tilecast collective OP` and `tilecast clusters`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilecast/collective.h"

namespace tilecast {

struct CollectiveOptions {
  CollectiveQuery query;
  std::vector<std::string> sizes, tokens, clusters;  // asked of each: bytes or tokens on every cluster
  bool json = false;
  std::optional<Error> refusal;  // of a flag's value
};

Result<std::string> run_collective(const CollectiveOptions& options);
Result<std::string> run_clusters(const CollectiveOptions& options);

}  // namespace tilecast
