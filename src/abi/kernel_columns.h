// A batch of kernels shared out over threads.
#pragma once

#include <span>

#include "tilecast/kernel.h"

namespace tilecast {

// As forecast_times() (tilecast/kernel.h), in seconds, on `threads` threads, 0: all that the machine has.
Status kernel_times(const KernelQuery& common, std::span<const DimColumn> columns, std::span<double> seconds,
                    int threads);

}  // namespace tilecast
