// How an engine turns operators into kernels, and what its host program adds.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/precision.h"
#include "model/backward.h"
#include "model/graph.h"
#include "model/workload.h"
#include "support/result.h"

namespace tilecast {

enum class EngineKind : std::uint8_t {
  pytorch,    // eager: a kernel for every operator as Hugging Face's code spells it
  compile,    // torch.compile: pointwise chains and reductions fused, launched one by one
  cudagraph,  // one fused kernel an operator, replayed in a CUDA graph
  vllm,
  sglang,
  trtllm,
};
inline constexpr std::array<std::string_view, 6> kEngineNames = {"pytorch", "compile", "cudagraph",
                                                                 "vllm",    "sglang",  "trtllm"};
constexpr std::string_view name_of(EngineKind e) { return kEngineNames[static_cast<std::size_t>(e)]; }
Result<EngineKind> engine_from(std::string_view name);
constexpr bool serves(EngineKind e) {
  return e == EngineKind::vllm || e == EngineKind::sglang || e == EngineKind::trtllm;
}

// What the host does in a step. Launches run ahead of the GPU, so a step takes the longer of the two streams; what
// stands between steps (scheduling, sampling's result, Python) waits for the GPU.
struct HostCost {
  Seconds per_launch;    // of one kernel, from the operator's call to the next one's
  Seconds per_step;      // whatever is launched
  Seconds per_sequence;  // of every request in the batch, each step
};

struct EngineOptions {
  EngineKind kind = EngineKind::vllm;
  Precision precision;
  bool eager_attention = false;  // pytorch: attention as separate products and a softmax
  bool static_cache = false;     // pytorch: the cache has its full size from the start
  bool fused_norms = false;      // pytorch: RMSNorm and GELU are one kernel each, not as Hugging Face spells them
  bool dropout = false;          // pytorch, training: the code's dropouts are live
};

// One kernel, and how often a step runs it.
struct KernelCall {
  std::string name;
  std::size_t section = 0;  // of the program's
  OpClass op_class = OpClass::other;
  Kernel kernel;
  Context context;
  Count times = 1;
  double flops = 0;  // model FLOPs of one call
  bool unknown = false;
};

struct ProgramSection {
  std::string name;
  Count repeats = 1;
  Pass pass = Pass::forward;
};

struct Program {
  std::vector<ProgramSection> sections;
  std::vector<KernelCall> calls;  // in order, section by section
  HostCost host;
  Count launches() const;  // of a whole step, counting each call once
};

// The graph as the engine runs it: spelled out as its code does, or neighbours fused. Still operators, one a kernel.
// With `training`, gradients follow the forward sections. A serving engine does not train.
Graph arranged(const Graph& graph, const EngineOptions& options, const TrainingOptions* training = nullptr);

Program lower(const Graph& arranged, const EngineOptions& options);

// What the host adds on this engine; docs/method.md says where each figure comes from.
HostCost host_cost(EngineKind kind);

}  // namespace tilecast
