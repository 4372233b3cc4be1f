// Enumerations by the names that tables and command lines use.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/text.h"
#include "tilecast/result.h"

namespace tilecast {

// Case and punctuation are forgiven; a miss suggests the nearest.
template <class Enum, std::size_t N>
Result<Enum> enum_named(std::string_view name, const std::array<std::string_view, N>& names, const char* what) {
  for (std::size_t i = 0; i < N; ++i)
    if (name_key(names[i]) == name_key(name)) return static_cast<Enum>(i);
  const std::vector<std::string> known(names.begin(), names.end());
  return error("unknown " + std::string(what) + " '" + std::string(name) + "'",
               suggestion(name, known, "one of " + join(known, ", ")));
}

}  // namespace tilecast
