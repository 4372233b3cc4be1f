// Numbers of things, for people: "1 row", "2 rows".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilecast {

// `many`: of words that take more than an s.
inline std::string counted(std::int64_t number, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(number) + " ";
  if (number == 1) return text.append(one);
  return many.empty() ? text.append(one).append("s") : text.append(many);
}

}  // namespace tilecast
