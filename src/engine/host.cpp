#include "engine/host.h"

#include "constants/engine.h"

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
    // Of PyTorch a plain addition's: lower() makes it the mean of the program's operators.
    case EngineKind::pytorch: return {microseconds(kPytorchLaunch), none, none, eager};
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

}  // namespace tilecast
