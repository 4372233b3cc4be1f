// How serving engines divide a card's memory: the common arithmetic behind `memory`, `predict`, `simulate` and `plan`.
#pragma once

#include "engine/engine.h"
#include "engine/memory.h"
#include "gpu/gpu.h"

namespace tilecast {

// Memory of a card that a program sees, a little less than its nominal size.
Bytes visible_memory(const Gpu& gpu);

// Memory that a run may fill if no engine budgets it: all that is visible, less the driver's context; a serving engine
// keeps a tenth free.
Bytes usable_memory(const Gpu& gpu, EngineKind engine);

// The most an engine takes into a step.
struct ServingLimits {
  Count sequences = 0, tokens = 0;
  Count chunk = 0;  // SGLang's chunked_prefill_size; 0 elsewhere
  // GPUs of a server, tensor and pipeline parallel and those with attention of their own, and how many of the last:
  // SGLang keeps memory free by them.
  Count ranks = 1, attention_dp = 1;
};
// The engine's defaults.
ServingLimits default_limits(EngineKind engine, const Gpu& gpu);
// Tokens of a step that plans try beside the default: smaller steps spare answers, and leave more of a card's memory.
inline constexpr Count kSmallStep = 2048;
// The largest batch that SGLang captures a graph for (cuda_graph_max_bs) on a server of so many tensor parallel ranks.
Count sglang_graph_batch(const Gpu& gpu, Count ranks);
// Tokens of the step that an engine profiles its memory with.
Count profile_tokens(EngineKind engine, const ServingLimits& limits);
Count default_block_tokens(EngineKind engine);

// How the engine divides a card's memory; all figures are per GPU.
struct CacheBudget {
  Bytes visible;  // of the card, to a program
  Bytes usable;   // the share the engine may fill
  Bytes weights;
  Bytes activations;  // at the peak of its profile run
  Bytes other;        // the driver's and libraries' own
  Bytes cache;        // what is left for keys and values; negative: the model does not fit
  Count blocks = 0;   // 0: not even one
};

// `profile`: the need of a step of `profile_tokens`, on this GPU. `fraction`: gpu_memory_utilization,
// mem_fraction_static, free_gpu_memory_fraction; 0: the engine's default. Blocks are left to the code that knows their
// size.
CacheBudget cache_budget(EngineKind engine, const Gpu& gpu, const ServingLimits& limits, const MemoryNeed& profile,
                         Count vocabulary, double fraction = 0);

// A step's need compared with a budget: weights, activations and what the driver keeps as the engine sets them aside,
// keys and values as the step has them; and the memory that all of it may fill.
struct BudgetedNeed {
  MemoryNeed need;
  Bytes usable;
};
BudgetedNeed beside_budget(const MemoryNeed& step, const CacheBudget& budget);

// Tokens, in whole blocks, whose keys and values `room` holds in all layers that keep any: as many as a cache's blocks
// count. Windows let more of them in, states of requests fewer.
Count tokens_in(Bytes room, const CacheNeed& need, const Precision& precision, Count block_tokens);

}  // namespace tilecast
