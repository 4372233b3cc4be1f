#include "engine/program_host.h"

#include <algorithm>

#include "constants/engine.h"
#include "constants/host.h"
#include "constants/program.h"
#include "engine/host_units.h"

namespace tilecast {

using namespace constants;

namespace {

std::size_t tensors_of(const ProgramOperator& op) {
  std::size_t most = 0;
  for (const ProgramArgument& argument : op.arguments)
    if (argument.kind == ProgramValue::tensors) most = std::max(most, argument.counts.size());
  return most;
}

// Operators over lists of tensors: the optimizer's units, spread over the foreach operators of a step.
double list_units(const ProgramOperator& op) {
  const auto tensors = static_cast<double>(tensors_of(op));
  if (operator_base(op.name).starts_with("_fused")) return kFusedOptimizerUnits + kFusedTensorUnits * tensors;
  return (kForeachOptimizerUnits + kForeachTensorUnits * tensors) / kForeachCalls;
}

// The most expensive of an operator's kernels determines its kind; its other kernels are launched from C++ alone.
double call_units(const Program& program, const OperatorUse& use) {
  double most = 0;
  Count launches = 0;
  for (std::size_t i = use.first; i < use.first + use.kernels; ++i) {
    most = std::max(most, operator_units(program.calls[i].kernel.shape));
    launches += program.calls[i].times / std::max<Count>(1, use.times);
  }
  return most + kLoneLaunchUnits * static_cast<double>(std::max<Count>(0, launches - 1));
}

}  // namespace

double host_units(const ProgramFile& file, const RecordedProgram& recorded) {
  const Program& program = recorded.program;
  const bool trains = std::any_of(program.sections.begin(), program.sections.end(),
                                  [](const ProgramSection& s) { return s.pass == Pass::backward; });
  double units = 0;
  for (const OperatorUse& use : recorded.uses) {
    if (use.kernels == 0) continue;
    const ProgramOperator& op = file.operators[static_cast<std::size_t>(use.op)];
    const auto times = static_cast<double>(use.times);
    const Pass pass = program.sections[static_cast<std::size_t>(use.phase)].pass;
    const double own = tensors_of(op) > 1 && pass == Pass::optimizer ? list_units(op) : call_units(program, use);
    const double around = pass == Pass::backward  ? kAutogradFactor
                          : pass == Pass::forward ? kAround * (trains ? kRecorded.value : 1)
                                                  : 1;
    units += times * own * around;
  }
  return units;
}

}  // namespace tilecast
