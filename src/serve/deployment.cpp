#include "serve/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "constants/serve.h"
#include "parallel/rank_memory.h"
#include "parallel/smaller_steps.h"
#include "parallel/split.h"

namespace tilecast {

using namespace constants;

namespace {

Policy policy_of(const DeploymentOptions& o) {
  if (o.static_batches) return Policy::static_batch;
  if (o.engine.kind == EngineKind::sglang) return Policy::sglang;
  if (o.engine.kind == EngineKind::trtllm)
    return o.max_utilization ? Policy::trtllm_max_utilization : Policy::trtllm_no_evict;
  return Policy::vllm;
}

}  // namespace

namespace {

// SGLang turns its overlap of planning off where it speculates, and runs 48 requests at most unless told
// (python/sglang/srt/server_args.py, 0.5.6 to 0.5.9: disable_overlap_schedule without SGLANG_ENABLE_SPEC_V2; "Max
// running requests is reset to 48 for speculative decoding").
bool plans_after_drafts(const DeploymentOptions& o) {
  return o.engine.kind == EngineKind::sglang && o.speculation.draft > 0;
}

// It also turns it off where states of linear attention lie in its radix cache (_handle_mamba_radix_cache, "mamba
// no_buffer is not compatible with overlap schedule"). On Blackwell it is that cache which goes, for trtllm_mha's
// pages.
bool plans_after_states(const DeploymentOptions& o, const KvGeometry& geometry) {
  return o.engine.kind == EngineKind::sglang && geometry.state > 0 && o.reuse &&
         o.gpu.architecture != Architecture::blackwell;
}

}  // namespace

BytesPerSecond host_rate_of(const Gpu& gpu) {
  if (gpu.grace_host) return gigabytes_per_second(kGraceLink) * kHostLinkShare;
  const BytesPerSecond pcie = gpu.links.pcie.base() > 0 ? gpu.links.pcie : gigabytes_per_second(kPlainPcie);
  return pcie * kHostLinkShare;
}

Seconds start_up_of(Bytes weights, BytesPerSecond rate) { return weights / rate + seconds(kEngineStart); }

KvGeometry geometry_of(const CacheNeed& need, const Precision& precision, Count block_tokens, double layers) {
  const double element = precision.cache == CacheType::fp8 ? 1 : precision.activation.activation_bits / 8;
  KvGeometry g;
  g.block_tokens = block_tokens;
  for (const CachePart& part : need.parts)
    g.parts.push_back({layers * element * static_cast<double>(part.per_token), part.window});
  g.state = layers * 4.0 * static_cast<double>(need.state);
  return g;
}

bool reuses_prefixes(EngineKind engine, const KvGeometry& geometry) {
  return geometry.state == 0 || engine == EngineKind::sglang;
}

CacheBlock block_of(const DeploymentOptions& o) {
  const bool shared_keys = o.spread && o.spread->variants.decode_cp > 1;
  return cache_block(o.engine.kind, o.spread ? o.spread->cluster.gpu : o.gpu, o.model, o.block_tokens, shared_keys);
}

SchedulerLimits limits_of(const DeploymentOptions& o) {
  SchedulerLimits l;
  l.policy = policy_of(o);
  l.speculation = o.speculation;
  l.wait_steps = o.wait_steps, l.wait_share = o.wait_share;
  const ServingLimits own = default_limits(o.engine.kind, o.gpu);
  l.max_sequences = own.sequences, l.max_tokens = own.tokens;
  if (o.engine.kind == EngineKind::sglang) l.chunk = own.chunk;
  if (o.engine.kind == EngineKind::trtllm) l.chunked_prefill = false;
  if (plans_after_drafts(o)) l.max_sequences = std::min<Count>(l.max_sequences, kSglangDrafting);
  if (o.max_sequences > 0) l.max_sequences = o.max_sequences;
  if (o.max_tokens > 0) l.max_tokens = o.max_tokens;
  // vLLM's own number of sequences gives way to fewer tokens (vllm/engine/arg_utils.py).
  if (o.engine.kind == EngineKind::vllm && o.max_sequences == 0)
    l.max_sequences = std::min(l.max_sequences, l.max_tokens);
  if (o.chunk > 0) l.chunk = o.chunk;
  if (o.chunked_prefill) l.chunked_prefill = *o.chunked_prefill;
  l.mixed_chunk = o.mixed_chunk, l.receive_steps = o.receive_steps, l.balance_steps = o.balance_steps;
  l.by_priority = o.by_priority;
  return l;
}

namespace {

ServingLimits serving_limits(const SchedulerLimits& limits, const std::optional<RankSpread>& spread) {
  ServingLimits l{limits.max_sequences, limits.max_tokens, limits.chunk};
  if (spread) l.ranks = spread->layout.ranks(), l.attention_dp = spread->layout.dp;
  return l;
}

}  // namespace

CacheBudget cache_budget(const DeploymentOptions& o, const SchedulerLimits& limits, const RankProfile& rank) {
  CacheBudget b = cache_budget(o.engine.kind, o.gpu, serving_limits(limits, o.spread), rank.profile, o.model.vocab,
                               o.memory_fraction);
  if (b.cache > bytes(0)) b.blocks = static_cast<Count>(b.cache / rank.geometry.block_bytes());
  return b;
}

namespace {

// Products of a layer before which SGLang calls an operator that quantises their input
// (sglang/srt/layers/quantization/fp8_utils.py, sglang_per_token_group_quant_fp8; modelopt_quant.py, fp4_quantize):
// into and out of attention, of latent attention four, of experts one for all. On NVIDIA's cards: on AMD's, where
// aiter's wrapper holds both, first tokens of DeepSeek-R1 on MI325X come when they are forecast without them.
Count quantised_products(const LayerSpec& layer, const EngineOptions& engine, const Gpu& gpu) {
  if (gpu.vendor != Vendor::nvidia) return 0;
  const double full = bits_of(DType::bf16);
  const auto narrow = [&](const Format& format) { return format.activation_bits < full; };
  const Precision& p = engine.precision;
  Count products = 0;
  if (narrow(p.projections)) {
    const auto* scan = std::get_if<ScanSpec>(&layer.mixer);
    const bool apart = scan && scan->apart && !engine.merged_scans;
    if (std::holds_alternative<MlaSpec>(layer.mixer)) products += kLatentQuantised;
    else if (layer.mixer.index() != 0) products += 2 + (apart ? 1 : 0);
  }
  const auto* moe = std::get_if<MoeSpec>(&layer.feed_forward);
  if (moe) products += (narrow(p.experts) ? 1 : 0) + (moe->shared_inter > 0 && narrow(p.shared) ? 2 : 0);
  else if (layer.feed_forward.index() != 0 && narrow(p.linear)) products += 2;
  return products;
}

// Operators of a step that an engine's Python calls. vLLM's compiled code and TensorRT-LLM's own operators hold what is
// around latent attention and experts; SGLang calls each of them.
Count operators_of(const ModelSpec& model, const EngineOptions& engine, const Gpu& gpu) {
  Count sum = 0;
  if (!model.decoder) return sum;
  for (const LayerRun& run : model.decoder->layers) {
    const bool latent = std::holds_alternative<MlaSpec>(run.layer.mixer);
    const bool linear = std::holds_alternative<ScanSpec>(run.layer.mixer);
    const bool experts = std::holds_alternative<MoeSpec>(run.layer.feed_forward);
    const Count more = (latent ? kLatentCalls : 0) + (linear ? kLinearCalls : 0) + (experts ? kExpertCalls : 0) +
                       kQuantiseCalls * quantised_products(run.layer, engine, gpu);
    sum += run.repeats * (kLayerCalls + (engine.kind == EngineKind::sglang ? more : 0));
  }
  return sum;
}

// Of the fullest rank.
Result<MemoryNeed> fullest_profile(const DeploymentOptions& o, const Workload& profile, const Gpu& gpu) {
  const ModelSpec model = with_copies(o.model, o.spread ? o.spread->variants.redundant : 0);
  const auto needs = profile_needs(model, o.spread ? o.spread->layout : RankLayout{}, o.engine, profile, gpu);
  if (!needs) return needs.error();
  return *std::max_element(needs->begin(), needs->end(), [](const MemoryNeed& a, const MemoryNeed& b) {
    return a.weights + a.activations < b.weights + b.activations;
  });
}

}  // namespace

Result<RankProfile> whole_model(const DeploymentOptions& o, Method method, const ModelSource* weights,
                                const std::shared_ptr<KnownCosts>& known) {
  const Gpu& gpu = o.spread ? o.spread->cluster.gpu : o.gpu;
  const ModelSpec model = o.spread ? rank_spec(o.model, o.spread->layout) : o.model;
  RankProfile rank;
  rank.longest = model.decoder && model.decoder->positions == Positions::learned ? model.max_context : 0;
  const SchedulerLimits limits = limits_of(o);
  const bool chunks = limits.policy == Policy::sglang && limits.chunk > 0;
  const auto need = fullest_profile(o, profile_workload(model, chunks ? limits.chunk : limits.max_tokens), gpu);
  if (!need) return need.error();
  rank.profile = *need;
  const double layers = o.spread ? largest_stage(o.model, o.spread->layout) / o.spread->variants.decode_cp : 1;
  rank.geometry = geometry_of(cache_need(model), o.engine.precision, block_of(o).tokens, layers);
  rank.launches = operators_of(model, o.engine, gpu);
  rank.pricer = o.spread ? price_over(o.model, o.engine, *o.spread, method, weights, o.experts_kernel, known)
                         : price_on(o.model, o.engine, o.gpu, method, weights, o.experts_kernel, known);
  return rank;
}

namespace {

Status check(const DeploymentOptions& o) {
  if (!serves(o.engine.kind))
    return field_error("engine", std::string(name_of(o.engine.kind)) + " does not serve", "vllm, sglang or trtllm");
  if (!o.model.decoder || !o.model.lm_head || o.model.encoder)
    return Error{o.model.name, "", "does not generate text from text alone", "a decoder: `tilecast models`"};
  const Speculation& s = o.speculation;
  if (s.draft < 0 || s.draft > 64 || !(s.acceptance >= 0) || s.acceptance > 1)
    return field_error("draft", "needs 0 to 64 draft tokens and an acceptance between 0 and 1",
                       "for example draft 4, acceptance 0.7");
  for (const double a : s.by_position)
    if (!(a >= 0) || a > 1)
      return field_error("acceptance", "must lie between 0 and 1 at every position", "for example 0.8,0.6,0.5");
  if (!o.spread) return Ok{};
  const RankLayout& layout = o.spread->layout;
  if (layout.cp > 1) return Error{"", "cp", "shares out the tokens of one prompt; engines serve without", "1"};
  if (auto fine = check(layout, o.model); !fine) return fine;
  if (auto fine = check(o.spread->variants, layout, o.model); !fine) return fine;
  return check(layout, o.spread->cluster);
}

}  // namespace

// Tiers as the cache counts them: in blocks, and in what a block takes on its way or to compute.
KvOffload offload_of(const DeploymentOptions& o, const PoolOptions& pool) {
  KvOffload offload;
  const OffloadOptions& given = o.offload;
  if (!pool.reuse || !pool.geometry.plain() || !(given.host + given.disk > bytes(0))) return offload;
  const Bytes block = pool.geometry.block_bytes();
  const BytesPerSecond host = given.host_rate.base() > 0 ? given.host_rate : host_rate_of(o.gpu);
  const BytesPerSecond disk = given.disk_rate.base() > 0 ? given.disk_rate : gigabytes_per_second(kDiskRate);
  offload.tiers[0] = {static_cast<Count>(given.host / block), block / host, microseconds(kHostLatency)};
  offload.tiers[1] = {static_cast<Count>(given.disk / block), block / disk, microseconds(kDiskLatency)};
  offload.always = given.always;
  const Count tokens = std::max(pool.limits.max_tokens, pool.geometry.block_tokens);
  const Seconds all = pool.cost->of({{{tokens, 0}}, 0, 1, 0, 0});
  offload.compute_block = all * (static_cast<double>(pool.geometry.block_tokens) / static_cast<double>(tokens));
  return offload;
}

namespace {

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

namespace {

Error does_not_fit(const DeploymentOptions& o, const CacheBudget& budget) {
  // TensorRT-LLM's share is of what the weights leave: nothing, where they alone are too large.
  const Bytes usable = budget.usable > bytes(0) ? budget.usable : budget.visible;
  return Error{o.model.name, "",
               fmt::format("does not fit {}: {:.1f} GiB of weights, {:.1f} GiB usable", o.gpu.name,
                           in_gibibytes(budget.weights), in_gibibytes(usable)),
               "a larger GPU, more of them, or fewer bits"};
}

}  // namespace

Result<Deployment> deploy(const DeploymentOptions& o, RankProfile rank, std::shared_ptr<StepTable> steps) {
  if (auto fine = check(o); !fine) return fine.error();
  Deployment d;
  PoolOptions& pool = d.pool;
  pool.limits = limits_of(o);
  pool.replicas = o.replicas;
  pool.reuse = o.reuse && !o.static_batches && reuses_prefixes(o.engine.kind, rank.geometry);
  pool.draft_cost = o.draft_cost, pool.cold_start = o.cold_start;
  pool.geometry = rank.geometry;
  pool.launches = rank.launches;
  if (rank.pricer.metered) pool.idle = rank.pricer.law.idle;
  d.budget = cache_budget(o, pool.limits, rank);
  if (d.budget.blocks < 1) return does_not_fit(o, d.budget);
  pool.blocks = d.budget.blocks;
  Count captured = o.most_captured;
  if (captured == 0 && o.engine.kind == EngineKind::sglang)
    captured = sglang_graph_batch(o.gpu, o.spread ? o.spread->layout.tp * o.spread->layout.dp : 1);
  pool.host = host_times(o.engine.kind, pool.limits.max_sequences, pool.limits.max_tokens, captured);
  if (o.host_receive) pool.host.receive = *o.host_receive, pool.host.reply = seconds(0);
  if (o.host_per_sequence) pool.host.per_sequence = *o.host_per_sequence;
  if (o.host_per_prompt_token) pool.host.per_prompt_token = *o.host_per_prompt_token;
  if (o.host_per_streaming) pool.host.per_streaming = *o.host_per_streaming;
  if (o.eager) pool.host.graphs.clear();
  set_spread(pool, o);
  pool.host.overlapped =
      o.overlapped && !o.static_batches && !plans_after_drafts(o) && !plans_after_states(o, rank.geometry);
  if (!steps) {
    auto table = StepTable::make(std::move(rank.pricer), rank.longest);
    if (!table) return std::move(table).error();
    steps = *std::move(table);
  }
  d.steps = std::move(steps);
  pool.cost = d.steps.get();
  pool.offload = offload_of(o, pool);
  return d;
}

Result<Deployment> deploy(const DeploymentOptions& o, Method method, const ModelSource* weights) {
  if (auto fine = check(o); !fine) return fine.error();
  auto rank = whole_model(o, method, weights);
  if (!rank) return std::move(rank).error();
  const SchedulerLimits limits = limits_of(o);
  if (const CacheBudget budget = cache_budget(o, limits, *rank); budget.blocks < 1) {
    Error error = does_not_fit(o, budget);
    const ModelSpec model = with_copies(o.model, o.spread ? o.spread->variants.redundant : 0);
    const auto smaller =
        steps_that_fit({model, o.spread ? o.spread->layout : RankLayout{}, o.engine,
                        o.spread ? o.spread->cluster.gpu : o.gpu, serving_limits(limits, o.spread), o.memory_fraction});
    if (smaller && !smaller->empty())
      error.remedy = fmt::format("{}, with which it does, or {}", *smaller, error.remedy);
    return error;
  }
  return deploy(o, *std::move(rank));
}

}  // namespace tilecast
