// Facts that the build wrote down (cmake/commit.cmake).
#pragma once

#include <string_view>

namespace tilecast {

struct BuildFacts {
  std::string_view commit, date, weights_date;
};
BuildFacts build_facts();

}  // namespace tilecast
