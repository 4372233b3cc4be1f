#include "serve/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parallel/split.h"
#include "parallel/stages.h"

namespace tilecast {
namespace {

// Of a card's memory a program sees a little less than its nominal size: 79.1 to 79.6 of 80 GiB on A100 and H100, 23.6
// of 24 on RTX 3090 and 4090, 47.4 of 48 on an RTX A6000, 178.4 of 180 on a B200 (total memory in public logs of vLLM's
// memory profile and of PyTorch). Data-centre cards with GDDR keep a sixteenth for error correction: 44.4 of 48 on
// L40S, 22.1 of 24 on A10G, 14.6 of 16 on T4.
constexpr double kVisible = 0.987, kCorrected = 15.0 / 16;
double visible_share(const Gpu& gpu) {
  const bool corrected = gpu.dram.type.starts_with("GDDR") && !gpu.name.starts_with("RTX");
  return corrected ? kVisible * kCorrected : kVisible;
}

// Driver and libraries outside PyTorch: 0.05 to 0.12 GiB in the same logs ("non_torch_memory takes").
constexpr double kOtherGib = 0.1;

// What vLLM's profile run leaves of the usable share beside weights and cache, in published start-up logs of its V1
// with Llama 3.1 8B (vocabulary 128256), kOtherGib included: 1.27 GiB on RTX A6000, 1.29 on RTX 3090, 1.34 on RTX 4090,
// where it samples for 256 sequences; 2.24 GiB on H100, where it does for 1024. Hence 10 bytes a logit, and a part
// whatever the model: compiled code's and libraries' workspaces.
constexpr double kSamplerBytes = 10, kProfileGib = 0.9;

// vLLM's default share is 0.9, captured graphs not counted, up to 0.20; since 0.21 it is 0.92 with an estimate of the
// graphs (0.2 to 0.8 GiB) taken off: about the same cache.
constexpr double kVllmShare = 0.9;

Count gib_of(const Gpu& gpu) { return static_cast<Count>(std::llround(in_gibibytes(gpu.dram.size))); }
bool is_a100(const Gpu& gpu) { return gpu.name.find("A100") != std::string::npos; }

// python/sglang/srt/server_args.py, _handle_gpu_memory_settings: by the card's memory.
Count sglang_chunk(const Gpu& gpu) {
  const Count gib = gib_of(gpu);
  return gib < 35 ? 2048 : gib < 60 ? 4096 : gib < 160 ? 8192 : 16384;
}
Count sglang_graph_batch(const Gpu& gpu) {
  const Count gib = gib_of(gpu);
  return gib < 20 ? 8 : gib < 35 ? 24 : gib < 60 ? 32 : gib < 160 ? 256 : 512;
}
// ... and the share that weights and cache take: all but a reserve for activations, graphs and metadata, in MiB.
double sglang_share(const Gpu& gpu, Count chunk, Count prefill_tokens) {
  const double all = in_mebibytes(gpu.dram.size) * visible_share(gpu);
  double reserve = 512 + 1.5 * static_cast<double>(std::max<Count>(chunk > 0 ? chunk : prefill_tokens, 2048)) +
                   2.0 * static_cast<double>(sglang_graph_batch(gpu)) + 1024.0 / 8;
  if (all > 60 * 1024) reserve = std::max(reserve, 10.0 * 1024);
  return std::round((all - reserve) / all * 1000) / 1000;
}

Policy policy_of(const DeploymentOptions& o) {
  if (o.static_batches) return Policy::static_batch;
  if (o.engine.kind == EngineKind::sglang) return Policy::sglang;
  if (o.engine.kind == EngineKind::trtllm)
    return o.max_utilization ? Policy::trtllm_max_utilization : Policy::trtllm_no_evict;
  return Policy::vllm;
}

}  // namespace

KvGeometry geometry_of(const CacheNeed& need, const Precision& precision, Count block_tokens, double layers) {
  const double element = precision.cache == CacheType::fp8 ? 1 : precision.activation.activation_bits / 8;
  KvGeometry g;
  g.block_tokens = block_tokens;
  for (const CachePart& part : need.parts)
    g.parts.push_back({layers * element * static_cast<double>(part.per_token), part.window});
  g.state = layers * 4.0 * static_cast<double>(need.state);
  return g;
}

Count block_tokens_of(const DeploymentOptions& o) {
  if (o.block_tokens > 0) return o.block_tokens;
  // vLLM's block_size on CUDA, SGLang's page_size, TensorRT-LLM's tokens_per_block.
  return o.engine.kind == EngineKind::sglang ? 1 : o.engine.kind == EngineKind::trtllm ? 32 : 16;
}

SchedulerLimits limits_of(const DeploymentOptions& o) {
  SchedulerLimits l;
  l.policy = policy_of(o);
  l.speculation = o.speculation;
  l.wait_steps = o.wait_steps, l.wait_share = o.wait_share;
  // vLLM's API server (vllm/engine/arg_utils.py, get_batch_defaults): more on cards of 70 GiB and above, not on A100.
  const bool large = gib_of(o.gpu) >= 70 && !is_a100(o.gpu);
  if (o.engine.kind == EngineKind::sglang) {
    l.max_sequences = 2048;  // max_running_requests: what the cache gives, 2048 to 4096
    l.max_tokens = 16384;    // max_prefill_tokens
    l.chunk = sglang_chunk(o.gpu);
  } else if (o.engine.kind == EngineKind::trtllm) {
    l.max_sequences = 2048, l.max_tokens = 8192;  // tensorrt_llm/llmapi/llm_args.py
    l.chunked_prefill = false;
  } else {
    l.max_sequences = large ? 1024 : 256;
    l.max_tokens = large ? 8192 : 2048;
  }
  if (o.max_sequences > 0) l.max_sequences = o.max_sequences;
  if (o.max_tokens > 0) l.max_tokens = o.max_tokens;
  if (o.chunk > 0) l.chunk = o.chunk;
  if (o.chunked_prefill) l.chunked_prefill = *o.chunked_prefill;
  l.mixed_chunk = o.mixed_chunk, l.receive_steps = o.receive_steps, l.balance_steps = o.balance_steps;
  return l;
}

Count profile_tokens(const SchedulerLimits& limits) {
  return limits.policy == Policy::sglang && limits.chunk > 0 ? limits.chunk : limits.max_tokens;
}

CacheBudget cache_budget(const DeploymentOptions& o, const SchedulerLimits& limits, const RankProfile& rank) {
  CacheBudget b;
  b.visible = o.gpu.dram.size * visible_share(o.gpu);
  b.weights = rank.weights;
  b.activations = rank.activations;
  b.other = gibibytes(kOtherGib);
  const auto share = [&](double otherwise) { return o.memory_fraction > 0 ? o.memory_fraction : otherwise; };
  if (o.engine.kind == EngineKind::sglang) {
    // KV pool = share x free memory - weights; activations and graphs live in the rest.
    b.usable = (b.visible - b.other) * share(sglang_share(o.gpu, limits.chunk, limits.max_tokens));
    b.cache = b.usable - b.weights;
  } else if (o.engine.kind == EngineKind::trtllm) {
    // free_gpu_memory_fraction of what the loaded model and its dry run leave.
    b.usable = (b.visible - b.weights - b.activations - b.other) * share(0.9);
    b.cache = b.usable;
  } else {
    // vllm/v1/worker/gpu_worker.py, determine_available_memory.
    const double rows = static_cast<double>(std::min(limits.max_sequences, limits.max_tokens));
    b.activations = std::max(rank.activations, bytes(kSamplerBytes * rows * static_cast<double>(o.model.vocab))) +
                    gibibytes(kProfileGib);
    b.usable = b.visible * share(kVllmShare);
    b.cache = b.usable - b.weights - b.activations - b.other;
  }
  if (b.cache > bytes(0)) b.blocks = static_cast<Count>(b.cache / rank.geometry.block_bytes());
  return b;
}

namespace {

// Operators that an engine's Python calls for a layer, each some kernels: norms, projections, rotation, attention,
// activation, sums over ranks; a mixture of experts is one (TensorRT-LLM's fused_moe, vLLM's FusedMoE).
constexpr Count kLayerCalls = 9;

// Weights and activations of the fullest rank.
Result<MemoryNeed> memory_of_rank(const DeploymentOptions& o, const Run& run, const Gpu& gpu) {
  const auto prepared = prepare(run);
  if (!prepared) return prepared.error();
  if (!o.spread || o.spread->layout.pp == 1)
    return memory_need(prepared->forward, run.workload, run.engine, prepared->cache, {}, gpu);
  MemoryNeed most;
  for (const Graph& part : rank_parts(o.model, o.spread->layout, prepared->forward)) {
    const MemoryNeed need = memory_need(part, run.workload, run.engine, prepared->cache, {}, gpu);
    if (need.weights + need.activations > most.weights + most.activations) most = need;
  }
  return most;
}

}  // namespace

Result<RankProfile> whole_model(const DeploymentOptions& o, Method method, const ModelSource* weights) {
  const Gpu& gpu = o.spread ? o.spread->cluster.gpu : o.gpu;
  const ModelSpec model = o.spread ? rank_spec(o.model, o.spread->layout) : o.model;
  RankProfile rank;
  rank.longest = model.decoder && model.decoder->positions == Positions::learned ? model.max_context : 0;
  const Count tokens = profile_tokens(limits_of(o));
  const Count each = rank.longest > 0 ? std::min(tokens, rank.longest) : tokens;
  const Run run{model, {Mode::prefill, {{std::max<Count>(1, tokens / each), each, 0}}}, o.engine, {}};
  const auto need = memory_of_rank(o, run, gpu);
  if (!need) return need.error();
  rank.weights = need->weights;
  rank.activations = need->activations + need->workspace;
  const double layers = o.spread ? largest_stage(o.model, o.spread->layout) : 1;
  rank.geometry = geometry_of(cache_need(model), o.engine.precision, block_tokens_of(o), layers);
  rank.launches = kLayerCalls * (model.decoder ? model.decoder->layer_count() : 0);
  rank.pricer = o.spread ? price_over(o.model, o.engine, *o.spread, method, weights)
                         : price_on(o.model, o.engine, o.gpu, method, weights);
  return rank;
}

namespace {

Status check(const DeploymentOptions& o) {
  if (!serves(o.engine.kind))
    return Error{"--engine", "", std::string(name_of(o.engine.kind)) + " does not serve", "vllm, sglang or trtllm"};
  if (!o.model.decoder || !o.model.lm_head || o.model.encoder)
    return Error{o.model.name, "", "does not generate text from text alone", "a decoder: `tilecast models`"};
  const Speculation& s = o.speculation;
  if (s.draft < 0 || s.draft > 64 || !(s.acceptance >= 0) || s.acceptance > 1)
    return error("speculation needs 0 to 64 draft tokens and an acceptance between 0 and 1");
  if (!o.spread) return Ok{};
  const RankLayout& layout = o.spread->layout;
  if (layout.cp > 1) return Error{"layout", "cp", "shares out the tokens of one prompt; engines serve without", "1"};
  if (auto fine = check(layout, o.model); !fine) return fine;
  return check(layout, o.spread->cluster);
}

void set_spread(PoolOptions& pool, const DeploymentOptions& o) {
  if (!o.spread) return;
  const RankLayout& layout = o.spread->layout;
  pool.replicas *= layout.dp;
  pool.gpus = static_cast<Count>(layout.tp) * layout.pp, pool.abreast = layout.tp;
  if (layout.ep > 1 && layout.dp > 1) pool.in_step = layout.dp;
  pool.stages = o.static_batches ? 1 : layout.pp, pool.stage_share = largest_stage(o.model, layout);
  pool.limits.pipelined = pool.stages > 1;
}

}  // namespace

Result<Deployment> deploy(const DeploymentOptions& o, RankProfile rank, std::shared_ptr<StepTable> steps) {
  if (auto fine = check(o); !fine) return fine.error();
  Deployment d;
  PoolOptions& pool = d.pool;
  pool.limits = limits_of(o);
  pool.replicas = o.replicas;
  pool.reuse = o.reuse && !o.static_batches;
  pool.draft_cost = o.draft_cost;
  pool.geometry = rank.geometry;
  pool.launches = rank.launches;
  if (rank.pricer.draw) pool.idle = rank.pricer.draw->idle;
  d.budget = cache_budget(o, pool.limits, rank);
  if (d.budget.blocks < 1)
    return Error{o.model.name, "",
                 fmt::format("does not fit {}: {:.1f} GiB of weights, {:.1f} GiB usable", o.gpu.name,
                             in_gibibytes(d.budget.weights), in_gibibytes(d.budget.usable)),
                 "a larger GPU, more of them, or fewer bits"};
  pool.blocks = d.budget.blocks;
  pool.host = host_times(o.engine.kind, pool.limits.max_sequences, pool.limits.max_tokens);
  if (o.host_receive) pool.host.receive = *o.host_receive;
  if (o.host_per_sequence) pool.host.per_sequence = *o.host_per_sequence;
  set_spread(pool, o);
  pool.host.overlapped = o.overlapped && !o.static_batches;
  if (!steps) {
    auto table = StepTable::make(std::move(rank.pricer), rank.longest);
    if (!table) return std::move(table).error();
    steps = *std::move(table);
  }
  d.steps = std::move(steps);
  pool.cost = d.steps.get();
  return d;
}

Result<Deployment> deploy(const DeploymentOptions& o, Method method, const ModelSource* weights) {
  if (auto fine = check(o); !fine) return fine.error();
  auto rank = whole_model(o, method, weights);
  if (!rank) return std::move(rank).error();
  return deploy(o, *std::move(rank));
}

}  // namespace tilecast
