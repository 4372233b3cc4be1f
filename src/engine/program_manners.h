// How much longer PyTorch's particular kernels take than those their shapes are priced by.
#pragma once

#include "model/program_rules.h"

namespace tilecast {

double longer_by_manner(const ProgramKernel& kernel);

}  // namespace tilecast
