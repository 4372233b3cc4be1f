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

#include "tilecast/kernel.h"

namespace tilecast {

std::string roofline_plot(const LaunchForecast::Roofline& roofline);

}  // namespace tilecast
