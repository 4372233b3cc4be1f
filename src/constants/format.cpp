#include "constants/format.h"

#include <array>
#include <cstdio>

namespace tilecast {

std::string constant_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace tilecast
