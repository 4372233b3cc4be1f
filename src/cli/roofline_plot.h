// A small roofline drawn in the terminal: the roof of the GPU, and where the kernel's launch stands under it.
//
//   989 T/s |                    ____________________
//           |                 _/            o
//           |              _/
//           |           _/
//           +----------------------------------------
//            1         16        256       4096   op/B
#pragma once

#include <string>

#include "estimate/estimate.h"

namespace tilecast {

// Empty when the launch does no arithmetic or moves no bytes.
std::string roofline_plot(const Launch& launch, const LaunchEstimate& estimate, const Gpu& gpu);

}  // namespace tilecast
