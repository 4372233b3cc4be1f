#include "api/serving_deployment.h"

#include <fmt/format.h>

#include "api/serving_fleet.h"
#include "api/serving_text.h"
#include "cluster/registry.h"
#include "engine/engine_cards.h"
#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

// The GPU that the query names, else its cluster's.
Result<Gpu> gpu_of(const SimulateQuery& q, const std::optional<Cluster>& cluster) {
  if (cluster && q.gpu.empty()) return cluster->gpu;
  if (q.gpu.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
  auto gpu = load_gpu(q.gpu);
  if (!gpu) return in_field(std::move(gpu).error(), "gpu");
  if (cluster && cluster->gpu.name != gpu->name)
    return field_error("gpu", gpu->name + " is not the GPU of " + q.cluster + ", " + cluster->gpu.name,
                       "give one of them");
  return gpu;
}

// Nodes of a GPU, with as many as a replica needs.
Cluster nodes_of(const Gpu& gpu, int ranks) {
  Cluster cluster = node_of(gpu);
  cluster.nodes = (ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  return cluster;
}

// The GPU, and how a replica lies over several.
Status place(DeploymentOptions& d, const SimulateQuery& q) {
  const auto ranks = static_cast<int>(q.tp * q.pp * q.attention_dp);
  std::optional<Cluster> cluster;
  if (!q.cluster.empty()) {
    auto named = cluster_of(q.cluster, ranks);
    if (!named) return std::move(named).error();
    cluster = *std::move(named);
  }
  auto gpu = gpu_of(q, cluster);
  if (!gpu) return std::move(gpu).error();
  d.gpu = *std::move(gpu);
  if (q.fleet.redundant_experts > 0 && q.ep == 1 && q.attention_dp == 1)
    return field_error("redundant-experts", "are about experts shared out over ranks", "for example ep 8");
  if (q.fleet.decode_cp > q.tp)
    return field_error("decode-context-parallel-size", "shares keys over the ranks of tp", "a divisor of tp");
  if (ranks == 1 && q.ep == 1) return Ok{};
  if (!cluster) cluster = nodes_of(d.gpu, ranks);
  RankSpread spread{{}, *std::move(cluster)};
  spread.layout.tp = static_cast<int>(q.tp), spread.layout.pp = static_cast<int>(q.pp);
  spread.layout.dp = static_cast<int>(q.attention_dp);
  // Ranks with requests of their own are one replica because they share the experts.
  spread.layout.ep = static_cast<int>(q.attention_dp > 1 && q.ep == 1 ? q.tp * q.attention_dp : q.ep);
  spread.variants = {q.fleet.redundant_experts, static_cast<int>(q.fleet.decode_cp)};
  d.spread = std::move(spread);
  return Ok{};
}

// As vLLM refuses to start (vllm/config/scheduler.py): every sequence takes a token of a step.
Status check_limits(const SimulateQuery& q) {
  if (q.engine != ServingEngine::vllm || !q.max_sequences || !q.max_tokens || *q.max_tokens >= *q.max_sequences)
    return Ok{};
  return field_error("max-num-batched-tokens",
                     fmt::format("vLLM starts with no fewer tokens a step than sequences, {}", *q.max_sequences),
                     "raise it, or lower max-num-seqs");
}

}  // namespace

std::string own_format(const ModelSpec& model) { return model.quantization.empty() ? model.dtype : model.quantization; }

Result<Precision> serving_precision(const ModelSpec& model, const std::string& dtype, KvDtype kv_dtype) {
  auto precision = precision_of(model, dtype, kv_dtype == KvDtype::fp8 ? "fp8" : "");
  if (!precision) return field_error("dtype", precision.error().problem, precision.error().remedy);
  return precision;
}

Result<DeploymentOptions> deployment_from(const SimulateQuery& q) {
  DeploymentOptions d;
  auto model = find_model(q.model);
  if (!model) return std::move(model).error();
  d.model = *std::move(model);
  if (auto fine = place(d, q); !fine) return fine.error();
  d.engine.kind = kind_of(q.engine);
  if (auto fine = check_card_of(d.engine.kind, d.gpu); !fine) return fine.error();
  auto precision = serving_precision(d.model, q.dtype, q.kv_dtype);
  if (!precision) return std::move(precision).error();
  d.engine.precision = *std::move(precision);
  if (!q.routing.empty()) {
    auto routing = routing_from(q.routing);
    if (!routing) return std::move(routing).error();
    d.engine.routing = *std::move(routing);
  }
  d.static_batches = q.policy == ServingPolicy::fixed_batches;
  d.max_utilization = q.policy == ServingPolicy::max_utilization;
  d.memory_fraction = q.memory_fraction.value_or(0);
  if (auto fine = check_limits(q); !fine) return fine.error();
  d.max_sequences = q.max_sequences.value_or(0), d.max_tokens = q.max_tokens.value_or(0);
  d.chunk = q.chunk.value_or(0), d.block_tokens = q.block_tokens.value_or(0);
  d.receive_steps = q.receive_steps.value_or(1), d.most_captured = q.most_captured.value_or(0);
  d.mixed_chunk = q.mixed_chunk;
  if (q.no_chunked_prefill) d.chunked_prefill = false;
  if (q.chunked_prefill) d.chunked_prefill = true;
  d.reuse = !q.no_prefix_caching;
  d.overlapped = !q.no_overlap;
  d.speculation = {q.drafts.draft, q.drafts.acceptance, q.drafts.acceptance_at};
  d.draft_cost = q.drafts.draft_cost;
  d.by_priority = q.requests.scheduling == SchedulingPolicy::priority;
  d.replicas = q.dp;
  d.offload = offload_from(q.fleet);
  return d;
}

}  // namespace tilecast
