#include "engine/host_units.h"

#include <algorithm>

#include "constants/engine.h"
#include "constants/host.h"
#include "kernel/shapes.h"
#include "support/overload.h"

namespace tilecast {

using namespace constants;

namespace {

double optimizer_units(const Optimizer& step) {
  const auto tensors = static_cast<double>(step.tensors);
  if (step.form == OptimizerForm::fused) return kFusedOptimizerUnits + kFusedTensorUnits * tensors;
  return kForeachOptimizerUnits + kForeachTensorUnits * tensors;
}

}  // namespace

double operator_units(const Shape& shape) {
  return visit(Overload{
                   [](const Gemm&) -> double { return kProductUnits; },
                   [](const Moe&) -> double { return kProductUnits; },
                   [](const Bmm&) -> double { return kBatchedUnits; },
                   [](const AttentionPrefill&) -> double { return kAttentionUnits; },
                   [](const AttentionDecode&) -> double { return kAttentionUnits; },
                   [](const AttentionBackward&) -> double { return kAttentionUnits; },
                   [](const MlaPrefill&) -> double { return kAttentionUnits; },
                   [](const MlaDecode&) -> double { return kAttentionUnits; },
                   [](const Conv2d&) -> double { return kConvolutionUnits; },
                   [](const RmsNorm&) -> double { return kNormUnits; },
                   [](const LayerNorm&) -> double { return kNormUnits; },
                   [](const Softmax&) -> double { return kReductionUnits; },
                   [](const Reduction&) -> double { return kReductionUnits; },
                   [](const Copy&) -> double { return kCopyUnits; },
                   [](const Embedding&) -> double { return kCopyUnits; },
                   [](const KvWrite&) -> double { return kCopyUnits; },
                   [](const CrossEntropy&) -> double { return kLossUnits; },
                   [](const Optimizer& step) -> double { return optimizer_units(step); },
                   [](const auto&) -> double { return kPointwiseUnits; },
               },
               shape);
}

namespace {

// The attention of a layer; an unfused one has a softmax.
bool begins_block(const Shape& shape) {
  return shape.is<AttentionPrefill>() || shape.is<AttentionDecode>() || shape.is<MlaPrefill>() ||
         shape.is<MlaDecode>() || shape.is<Softmax>();
}

// A gradient's operators are called from C++, so no Python surrounds them, but views have gradients too. What runs
// forward again is called from Python and recorded as it was before.
double units_of(const Shape& shape, const ProgramSection& section, HostCode code, bool trains) {
  const double own = operator_units(shape);
  if (section.pass == Pass::optimizer) return own;
  if (section.pass == Pass::backward && !section.recomputed) return own * kAutogradFactor;
  const double block = code == HostCode::modules && begins_block(shape) ? kBlockUnits.value : 0;
  return (own * kAround + block) * (trains ? kRecorded.value : 1);
}

}  // namespace

double host_units(const Program& program, HostCode code) {
  const bool trains = std::any_of(program.sections.begin(), program.sections.end(),
                                  [](const ProgramSection& s) { return s.pass == Pass::backward; });
  double units = 0;
  for (const KernelCall& call : program.calls)
    units +=
        static_cast<double>(call.times) * units_of(call.kernel.shape, program.sections[call.section], code, trains);
  for (const ProgramSection& section : program.sections)
    if (section.recomputed) units += kCheckpointUnits * static_cast<double>(section.repeats);
  return units;
}

Seconds launch_time(const Program& program, HostCode code, Seconds addition) {
  const Count launches = program.launches();
  return launches > 0 ? addition * (host_units(program, code) / static_cast<double>(launches)) : addition;
}

}  // namespace tilecast
