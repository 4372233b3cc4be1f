// How an engine turns operators into kernels, and what its host program adds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host.h"
#include "engine/kinds.h"
#include "engine/precision.h"
#include "engine/routing.h"
#include "engine/torch_attention.h"
#include "model/backward.h"
#include "model/graph.h"
#include "model/workload.h"
#include "tilecast/result.h"

namespace tilecast {

struct EngineOptions {
  EngineKind kind = EngineKind::vllm;
  EngineEra era = EngineEra::current;
  std::optional<PyTorchVersion> torch = {};  // pytorch: none: the era's
  Precision precision;
  std::optional<Routing> routing = {};  // of tokens to experts; none: usual_routing(), even in training
  bool eager_attention = false;         // pytorch: attention as separate products and a softmax
  bool math_attention = false;          // pytorch: its fallback in fp32, where a mask rules fused kernels out
  bool static_cache = false;            // pytorch: the cache has its full size from the start
  bool fused_norms = false;  // pytorch: RMSNorm and GELU are one kernel each, not as Hugging Face spells them
  ExpertTransport transport = ExpertTransport::usual;  // serving engines: how tokens reach experts on other ranks
  bool merged_scans = false;  // sglang: one product for matrices of linear attention that checkpoints have apart
  // Serving engines: sums over ranks take the norm after them along; none: as the engine decides for the model
  // (serve/step_cost.h).
  std::optional<bool> fused_sums = {};
  bool merged_projections = false;  // pytorch: one product for queries, keys and values, one for gate and values
  bool wide_rotation = false;       // pytorch: rotations in fp32, by halves (Meta's code), not as Hugging Face does
  bool fused_layers = false;  // pytorch: rotations, gates and experts too are one kernel each (Transformer Engine)
  bool narrow_norms = false;  // pytorch, autocast: norms run in the products' format (MosaicML's LayerNorm)
  AttentionForm attention = AttentionForm::fused;  // pytorch, compile, cudagraph: whose kernel
  LossForm loss = LossForm::separate;              // pytorch
  bool dropout = false;                            // pytorch, training: the code's dropouts are live
  Seconds addition = {};                           // pytorch: what a plain addition takes this host; 0: a usual one's
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
  double longer = 1;  // than the kernel that is priced: an older one of its kind
  Role role = Role::other;
  bool weight_gradient = false;  // as in Operator
  bool narrow = false;           // a product of narrow training: its operands were cast before
  double wgmma_longer = 1;       // on Hopper, than `longer` says
  bool turns = false;            // as in Operator
};

struct ProgramSection {
  std::string name;
  Count repeats = 1;
  Pass pass = Pass::forward;
  SectionPart part = {};
  int forward = -1;         // as in Section
  bool recomputed = false;  // as in Section
};

struct Program {
  std::vector<ProgramSection> sections;
  std::vector<KernelCall> calls;  // in order, section by section
  HostCost host;
  EngineKind engine = EngineKind::vllm;
  EngineEra era = EngineEra::current;
  PyTorchVersion torch;
  Count launches() const;  // of a whole step, counting each call once
};

// The graph as the engine runs it: expanded as in its code, or with neighbours fused. Still operators, one per kernel.
// With `training`, gradients follow the forward sections. A serving engine does not train.
Graph arranged(const Graph& graph, const EngineOptions& options, const TrainingOptions* training = nullptr);

Program lower(const Graph& arranged, const EngineOptions& options);

// The time eager PyTorch's host takes for a plain addition.
Seconds launch_unit(const EngineOptions& options);

}  // namespace tilecast
