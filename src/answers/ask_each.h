// Arguments that may be given several values: the question is asked once for each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tilecast/arguments.h"

namespace tilecast {

// Each query once for every value of an argument; as they are where there are no values.
template <class Query>
Status ask_each(std::vector<Query>& queries, const char* argument, const std::vector<std::string>& values) {
  if (values.empty()) return Ok{};
  std::vector<Query> more;
  for (const Query& query : queries)
    for (const std::string& value : values) {
      Query one = query;
      if (auto set = set_argument(arguments_of(one), argument, value); !set) return set;
      more.push_back(std::move(one));
    }
  queries = std::move(more);
  return Ok{};
}

}  // namespace tilecast
