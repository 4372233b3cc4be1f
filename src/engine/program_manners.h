// How much longer PyTorch's particular kernels take than those their shapes are priced by.
#pragma once

#include "model/program_rules.h"

namespace tilecast {

double longer_by_manner(const ProgramKernel& kernel);
// A kernel whose products take longer does not move its bytes more slowly, so these are reduced by as much.
void slow_products(const ProgramKernel& from, Kernel& kernel);

}  // namespace tilecast
