#include "engine/host.h"

#include "constants/engine.h"
#include "constants/host.h"
#include "support/overload.h"

namespace tilecast {

using namespace constants;

namespace {

// Fitted to the A100's rows of Argonne's LLM-Inference-Bench (2024) after the kernels' time, and judged on its H100's
// (docs/accuracy.md): Python's scheduler, input preparation, sampling and detokenisation between two steps.
HostCost cost_in_2024(EngineKind kind) {
  const Seconds in_graph = microseconds(kGraphSwitch);
  switch (kind) {
    case EngineKind::vllm:
      return {microseconds(0), microseconds(kVllm2024Step), microseconds(kVllm2024Sequence), in_graph};
    case EngineKind::trtllm:
      return {microseconds(0), microseconds(kTrtllm2024Step), microseconds(kTrtllm2024Sequence), in_graph};
    default: return host_cost(kind);
  }
}

}  // namespace

HostCost host_cost(EngineKind kind, EngineEra era) {
  if (era == EngineEra::year_2024) return cost_in_2024(kind);
  const Seconds in_graph = microseconds(kGraphSwitch), eager = microseconds(kEagerSwitch), none;
  switch (kind) {
    case EngineKind::pytorch: return {microseconds(kAddition), none, none, eager, HostCode::modules};
    case EngineKind::compile: return {microseconds(kCompiledLaunch), microseconds(kCompiledStep), none, eager};
    case EngineKind::pytorch_graph:
    case EngineKind::cudagraph: return {none, microseconds(kGraphStep), none, in_graph};
    // Their schedulers prepare a step while the last one runs; decode steps of AIConfigurator's serving points (dense
    // models, one GPU, small batches: Llama 3.1 8B bf16 under TensorRT-LLM 1.0, 70B nvfp4 under vLLM) leave 0 to 1 ms
    // unexplained, too little and too scattered to fit.
    case EngineKind::vllm:
    case EngineKind::sglang:
    case EngineKind::trtllm: return {none, none, none, in_graph};
  }
  return {};
}

namespace {

double optimizer_units(const Optimizer& step) {
  const auto tensors = static_cast<double>(step.tensors);
  if (step.form == OptimizerForm::fused) return kFusedOptimizerUnits + kFusedTensorUnits * tensors;
  return kForeachOptimizerUnits + kForeachTensorUnits * tensors;
}

double operator_units(const Shape& shape) {
  return std::visit(Overload{
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

}  // namespace

double host_units(const HostCost& host, const Shape& shape, bool trains, Pass pass) {
  if (host.code == HostCode::uniform) return 1;
  const double own = operator_units(shape);
  if (pass == Pass::optimizer) return own;
  if (pass == Pass::backward) return own * kGradientNode;  // C++ runs it: no Python around
  return own * (host.code == HostCode::modules ? kModulesAround : kOperatorsAround) * (trains ? kRecorded.value : 1.0);
}

}  // namespace tilecast
