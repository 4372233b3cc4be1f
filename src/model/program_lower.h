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

// Formulas for operators of one's own: bytes read and written and operations in units of the operator's tensors.
struct OperatorFormula {
  std::string op;  // "my_library.my_operator"
  // Bytes over those of all tensor arguments, bytes over those of all results.
  double read = 1, written = 1;
  double flops = 0;  // for every element of the first result
};

LoweredOperator lower_operator(const ProgramFile& program, const ProgramOperator& op, const ProgramCard& card = {},
                               const std::vector<OperatorFormula>& formulas = {});

}  // namespace tilecast
