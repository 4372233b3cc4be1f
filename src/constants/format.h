// A constant's value as text.
#pragma once

#include <string>

namespace tilecast {

// Six digits at most: 0.43, 262144, 2.66667, 5e-11.
std::string constant_text(double value);

}  // namespace tilecast
