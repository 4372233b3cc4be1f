// An engine on GPUs, as its flags and its own arithmetic set it up: limits, blocks for keys and values, step times.
#pragma once

#include <memory>
#include <optional>

#include "engine/cache_block.h"
#include "serve/rank_cost.h"
#include "serve/simulator.h"

namespace tilecast {

// Where keys and values go that the GPU gives up (serve/kv_tiers.h), of each GPU.
struct OffloadOptions {
  Bytes host, disk;
  BytesPerSecond host_rate, disk_rate;  // zero: the GPU's link to its host; a disk as assumed
  bool always = false;                  // load whatever is found, be it slower than computing
};
// The rate at which a GPU reads its host's memory, either way.
BytesPerSecond host_rate_of(const Gpu& gpu);
// What a replica takes to start: weights read at a rate, then the engine's own start.
Seconds start_up_of(Bytes weights, BytesPerSecond rate);

struct DeploymentOptions {
  ModelSpec model;
  EngineOptions engine;  // vLLM, SGLang or TensorRT-LLM
  Gpu gpu;
  // Several GPUs, those of the cluster alike and as `gpu`. Data parallel ranks that share experts step together; others
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
  bool mixed_chunk = false;  // SGLang's enable_mixed_chunk
  Count receive_steps = 1;   // SGLang's scheduler_recv_interval
  bool by_priority = false;  // vLLM's scheduling_policy
  bool reuse = true;         // prefix caching
  bool overlapped = true;    // async scheduling, overlap
  Count wait_steps = 0;      // TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio
  double wait_share = 0;
  Count balance_steps = 0;  // TensorRT-LLM's attention_dp_config: timeout_iters, with enable_balance
  Seconds cold_start = {};  // what a replica's first step takes longer: kernels compiled or loaded at first use
  Count most_captured = 0;  // vLLM's max_cudagraph_capture_size, SGLang's cuda_graph_max_bs
  KernelSource experts_kernel = {};  // whose experts' kernel, where a variable of the engine says
  bool eager = false;                // vLLM's enforce_eager: nothing is captured
  // HostTimes' own, where a machine's are known: the way there then holds the way back too.
  std::optional<Seconds> host_per_sequence = {}, host_receive = {}, host_per_prompt_token = {}, host_per_streaming = {};
  Speculation speculation;
  double draft_cost = 0;
  Count replicas = 1;
  OffloadOptions offload = {};
};

// What one GPU of a replica does: the whole model, or a rank's share of it where a model is split.
struct RankProfile {
  StepPricer pricer;    // of the slowest rank, collectives included
  MemoryNeed profile;   // of one GPU, at the peak of a step of the most tokens
  KvGeometry geometry;  // what one GPU keeps of a token
  Count launches = 0;   // operators of a step
  Count longest = 0;    // tokens of one request that the model takes (learned positions end); 0: no end
};

struct Deployment {
  PoolOptions pool;
  CacheBudget budget;
  std::shared_ptr<StepTable> steps;  // pool.cost
};

// `layers`: the share of them that a rank holds.
KvGeometry geometry_of(const CacheNeed& need, const Precision& precision, Count block_tokens, double layers = 1);
// Whether the engine finds prefixes again by default. SGLang keeps states of linear attention with them
// (MambaRadixCache). vLLM has it off for such models since 0.10.2 (pull request 23716; on again from August 2026,
// 50991, in blocks of hundreds of tokens); TensorRT-LLM's reuse is of keys and values.
bool reuses_prefixes(EngineKind engine, const KvGeometry& geometry);
CacheBlock block_of(const DeploymentOptions& options);
SchedulerLimits limits_of(const DeploymentOptions& options);
CacheBudget cache_budget(const DeploymentOptions& options, const SchedulerLimits& limits, const RankProfile& rank);

// Tiers below the cache, in blocks of the pool's geometry.
KvOffload offload_of(const DeploymentOptions& options, const PoolOptions& pool);

// The model on one GPU, or a rank's share of it over several. `weights`: what was learned, null for methods without.
// `known`: costs of kernels that deployments on the same GPU share, as price_on() takes them.
Result<RankProfile> whole_model(const DeploymentOptions& options, Method method, const ModelSource* weights,
                                const std::shared_ptr<KnownCosts>& known = nullptr);
// Refuses engines and models that do not serve, and what does not fit. `steps` may be those of another deployment with
// the same model, engine, format and GPU; else they are made.
Result<Deployment> deploy(const DeploymentOptions& options, RankProfile rank,
                          std::shared_ptr<StepTable> steps = nullptr);
Result<Deployment> deploy(const DeploymentOptions& options, Method method, const ModelSource* weights);

}  // namespace tilecast
