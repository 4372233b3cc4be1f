// An engine on GPUs, as its flags and its own arithmetic set it up: limits, blocks for keys and values, step times.
#pragma once

#include <memory>
#include <optional>

#include "serve/simulator.h"

namespace tilecast {

// How the engine divides a card's memory; every figure of one GPU.
struct CacheBudget {
  Bytes visible;  // of the card, to a program
  Bytes usable;   // the share the engine may fill
  Bytes weights;
  Bytes activations;  // at the peak of its profile run
  Bytes graphs;       // captured graphs, where they count
  Bytes other;        // the driver's and libraries' own
  Bytes cache;        // what is left for keys and values; negative: the model does not fit
  Count blocks = 0;   // 0: not even one
};

struct DeploymentOptions {
  ModelSpec model;
  EngineOptions engine;  // vLLM, SGLang or TensorRT-LLM
  Gpu gpu;
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
  Speculation speculation;
  double draft_cost = 0;
  Count replicas = 1;
};

struct Deployment {
  PoolOptions pool;
  CacheBudget budget;
  std::unique_ptr<StepTable> steps;  // pool.cost
};

KvGeometry geometry_of(const CacheNeed& need, const Precision& precision, Count block_tokens);
CacheBudget cache_budget(const DeploymentOptions& options, const SchedulerLimits& limits, const KvGeometry& geometry,
                         Bytes weights, Bytes activations);
SchedulerLimits limits_of(const DeploymentOptions& options);

// `weights`: what was learned, null for methods without. Refuses engines and models that do not serve.
Result<Deployment> deploy(const DeploymentOptions& options, Method method, const ModelSource* weights);

}  // namespace tilecast
