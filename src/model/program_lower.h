// A recorded PyTorch program as kernels: what eager PyTorch 2.11 launches for each of its operators.
#pragma once

#include <string>
#include <vector>

#include "model/program_file.h"
#include "model/program_rules.h"

namespace tilecast {

struct LoweredOperator {
  std::vector<ProgramKernel> kernels;
  bool known = true;  // false: priced by the bytes of its tensors
};

LoweredOperator lower_operator(const ProgramFile& program, const ProgramOperator& op, const ProgramCard& card = {});

}  // namespace tilecast
