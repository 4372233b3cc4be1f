// How much longer PyTorch's particular kernels take than those their shapes are priced by.
#pragma once

#include "model/program_rules.h"

namespace tilecast {

double longer_by_manner(const ProgramKernel& kernel);
// What takes longer at its products does not at its bytes: these are made fewer by as much.
void slow_products(const ProgramKernel& from, Kernel& kernel);

}  // namespace tilecast
