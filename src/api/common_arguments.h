// Arguments that several questions have, declared once.
#pragma once

#include "tilecast/arguments.h"

namespace tilecast {

constexpr double kMostRanks = 1 << 20;  // that work may be spread over

inline Argument weights_argument() {
  return {.name = "weights",
          .help = "weights of `tilecast-lab train` in place of the shipped ones",
          .example = "my.weights",
          .touches = Touches::file};
}

// Of whole steps and programs; `kernel` also knows published methods.
inline Argument method_argument() {
  return {.name = "method",
          .help = "how kernels are forecast; analytic leaves out everything learned",
          .example = "analytic",
          .choices = {"tilecast", "analytic", "roofline"}};
}

}  // namespace tilecast
