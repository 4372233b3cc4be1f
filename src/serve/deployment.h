// An engine on GPUs, as its flags and its own arithmetic set it up: limits, blocks for keys and values, step times.
#pragma once

#include <memory>
#include <optional>

#include "serve/rank_cost.h"
#include "serve/simulator.h"

namespace tilecast {

// How the engine divides a card's memory; every figure of one GPU.
struct CacheBudget {
  Bytes visible;  // of the card, to a program
  Bytes usable;   // the share the engine may fill
  Bytes weights;
  Bytes activations;  // at the peak of its profile run
  Bytes other;        // the driver's and libraries' own
  Bytes cache;        // what is left for keys and values; negative: the model does not fit
  Count blocks = 0;   // 0: not even one
};

struct DeploymentOptions {
  ModelSpec model;
  EngineOptions engine;  // vLLM, SGLang or TensorRT-LLM
  Gpu gpu;
  // Several GPUs: those of the cluster, in place of `gpu`. Data parallel ranks that share experts step together; others
  // are replicas.
  std::optional<RankSpread> spread = {};
  bool static_batches = false;
  bool max_utilization = false;  // TensorRT-LLM's other capacity policy
  double memory_fraction = 0;    // gpu_memory_utilization, mem_fraction_static, free_gpu_memory_fraction; 0: default
  Count max_sequences = 0;       // 0: the engine's default on this card
  Count max_tokens = 0;
  Count chunk = 0;  // SGLang's chunked_prefill_size
  Count block_tokens = 0;
  std::optional<bool> chunked_prefill;
  bool reuse = true;       // prefix caching
  bool overlapped = true;  // async scheduling, overlap
  Count wait_steps = 0;    // TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio
  double wait_share = 0;
  Speculation speculation;
  double draft_cost = 0;
  Count replicas = 1;
};

struct Deployment {
  PoolOptions pool;
  CacheBudget budget;
  std::unique_ptr<StepTable> steps;  // pool.cost, unless it was known
};

// `layers`: the share of them that a rank holds.
KvGeometry geometry_of(const CacheNeed& need, const Precision& precision, Count block_tokens, double layers = 1);
CacheBudget cache_budget(const DeploymentOptions& options, const SchedulerLimits& limits, const KvGeometry& geometry,
                         Bytes weights, Bytes activations);
SchedulerLimits limits_of(const DeploymentOptions& options);

// `weights`: what was learned, null for methods without. Refuses engines and models that do not serve. `known`: the
// step times of a deployment that differs in its limits alone, in place of new ones.
Result<Deployment> deploy(const DeploymentOptions& options, Method method, const ModelSource* weights,
                          const StepTable* known = nullptr);

}  // namespace tilecast
