// What a run keeps in the GPU's memory at its peak.
#pragma once

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "kernel/optimizer_kind.h"
#include "model/spec.h"
#include "tilecast/run.h"
#include "tilecast/train.h"

namespace tilecast {

struct TrainingSetup {
  TrainingOptions options;
  OptimizerKind optimizer = OptimizerKind::adamw;
  Count accumulation = 1;        // micro-batches a step
  bool update = true;            // the step ends with the optimizer
  bool fused_optimizer = false;  // eager PyTorch: fused instead of its default, foreach
  bool narrow_exchange = false;  // gradients travel in the products' format whatever they are kept in (Composer)
  bool wide_gradients = false;   // summed and kept in fp32 whatever the parameters are (Megatron)
  TokenDispatch token_dispatch = TokenDispatch::all_to_all;
  bool dispatch_beside = false;  // tokens travel while another micro-batch computes
  Offload offload = Offload::none;
  double longer = 1;  // every kernel takes, as runs of a framework were measured
};

// What parallel ranks keep: shares of a model's state, and activations of several micro-batches at once.
struct StateShare {
  double parameters = 1, gradients = 1, optimizer = 1;
};
struct StateShares {
  StateShare dense, experts;
  double micro_batches = 1;
};

// `arranged` is the forward graph as the engine runs it. `cache` may be empty (a graph without a cache).
MemoryNeed memory_need(const Graph& arranged, const Workload& workload, const EngineOptions& engine,
                       const std::optional<CacheNeed>& cache, const TrainingSetup& training, const Gpu& gpu,
                       const StateShares& shares = {});

// What one run of each section keeps for its gradients, and how much of it a host could hold meanwhile.
std::vector<Bytes> kept_by_section(const Graph& arranged, const EngineOptions& engine, const Recomputation& recompute);

// The size of a training checkpoint: parameters as the optimizer has them, and its states.
Bytes checkpoint_bytes(OptimizerKind kind, double params, const Precision& precision);

Bytes cache_bytes(const CacheNeed& need, Count tokens, const Precision& precision);
// ... of all requests of a workload.
Bytes cache_bytes(const CacheNeed& need, const Workload& workload, const Precision& precision);

}  // namespace tilecast
