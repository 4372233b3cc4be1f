#include "tilecast/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <variant>

#include "api/answer_each.h"
#include "api/common_arguments.h"
#include "api/declare.h"
#include "cluster/expert_exchange.h"
#include "cluster/fabric.h"
#include "cluster/registry.h"
#include "gpu/dtype.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Call = std::variant<Collective, ExpertExchange>;

int count_or_zero(const std::optional<Count>& count) { return static_cast<int>(count.value_or(0)); }

bool is_exchange(const CollectiveQuery& query) {
  return std::any_of(kExchangeOpNames.begin(), kExchangeOpNames.end(),
                     [&](std::string_view name) { return name_key(name) == name_key(query.op); });
}

Result<Call> collective_call(const CollectiveQuery& query) {
  Collective call;
  const auto op = collective_from(query.op);
  if (!op) return in_field(op.error(), "op");
  call.op = *op;
  const auto library = comm_library_from(query.library.empty() ? "nccl" : query.library);
  if (!library) return in_field(library.error(), "library");
  call.library = *library;
  const std::string dtype = query.dtype.empty() ? "bf16" : query.dtype;
  if (!dtype_from(dtype))
    return field_error("dtype", "unknown number format '" + dtype + "'", "bf16, fp16, fp32, int8 ...");
  call.integers = dtype.starts_with("int");
  if (query.eager && call.library == CommLibrary::nccl)
    return field_error("eager", "is for the engines' kernels", "name one as the library: vllm, sglang or trtllm");
  call.eager = query.eager;
  call.ranks = count_or_zero(query.ranks), call.local = count_or_zero(query.local);
  call.groups = count_or_zero(query.groups);
  if (query.groups && !query.local) return field_error("groups", "needs local", "say how many ranks share a node");
  if (query.tokens) return field_error("tokens", "is for dispatch, combine and prepare", "say bytes");
  if (!query.bytes) return field_error("bytes", "is missing", "for example 64K or 1M");
  call.bytes = *query.bytes;
  return Call(call);
}

Status check_exchange(const CollectiveQuery& query) {
  if (query.bytes) return field_error("bytes", "is for collectives", "say tokens, and hidden if not 7168");
  if (query.eager) return field_error("eager", "is for the engines' all-reduce", "leave it out");
  if (query.local) return field_error("local", "is for collectives", "ranks of experts fill nodes");
  if (query.groups) return field_error("groups", "is for collectives", "ranks of experts fill nodes");
  if (!query.tokens) return field_error("tokens", "is missing", "tokens of a rank, for example 128");
  return Ok{};
}

Result<Call> exchange_call(const CollectiveQuery& query) {
  ExpertExchange x;
  const auto op = exchange_op_from(query.op);
  if (!op) return in_field(op.error(), "op");
  x.op = *op;
  const auto kind = exchange_kind_from(!query.library.empty()        ? query.library
                                       : x.op == ExchangeOp::prepare ? "trtllm-two-sided"
                                                                     : "deepep");
  if (!kind) return in_field(kind.error(), "library");
  x.kind = *kind;
  static const std::map<std::string, double> formats = {
      {"", 0}, {"bf16", kBf16Element}, {"fp16", kBf16Element}, {"fp8", kFp8Element}, {"nvfp4", kNvfp4Element}};
  const auto format = formats.find(query.dtype);
  if (format == formats.end())
    return field_error("dtype", "no tokens travel as '" + query.dtype + "'", "one of bf16, fp16, fp8, nvfp4");
  x.element_bytes = format->second;
  if (auto fine = check_exchange(query); !fine) return std::move(fine).error();
  x.tokens = count_or_zero(query.tokens);
  x.hidden = static_cast<int>(query.hidden), x.topk = static_cast<int>(query.topk);
  x.experts = static_cast<int>(query.experts), x.ranks = count_or_zero(query.ranks);
  x.most_nodes = static_cast<int>(query.most_nodes), x.sms = static_cast<int>(query.sms);
  x.balanced = query.balanced;
  return Call(x);
}

// With the nodes asked for, else with those that the ranks need.
Result<Cluster> cluster_for(const CollectiveQuery& query) {
  const int ranks = count_or_zero(query.ranks), nodes = count_or_zero(query.nodes), local = count_or_zero(query.local);
  auto cluster = cluster_of(query.cluster, nodes > 0 || local > 0 ? 0 : ranks);
  if (cluster && nodes == 0 && local > 0)
    cluster = cluster_of(query.cluster, static_cast<int>(ceil_div(ranks, local)) * cluster->gpus_per_node);
  if (!cluster) return in_field(std::move(cluster).error(), "cluster");
  if (nodes > 0) cluster->nodes = nodes;
  if (cluster->nodes > 1 && !cluster->inter)
    return field_error("nodes", "the nodes of " + cluster->name + " cannot reach each other",
                       "its file needs \"inter\"");
  return cluster;
}

// What queries name by text, looked up once however many ask for it.
class Clusters {
 public:
  Result<const Cluster*> find(const CollectiveQuery& query) {
    const Key key{query.cluster, count_or_zero(query.ranks), count_or_zero(query.nodes), count_or_zero(query.local)};
    auto found = known_.find(key);
    if (found == known_.end()) {
      auto cluster = cluster_for(query);
      if (!cluster) return std::move(cluster).error();
      found = known_.emplace(key, *std::move(cluster)).first;
    }
    return &found->second;
  }

 private:
  using Key = std::tuple<std::string, int, int, int>;
  std::map<Key, Cluster> known_;
};

Result<CollectiveForecast> forecast_of(Collective& call, const Cluster& cluster) {
  const bool pair = call.op == CollectiveOp::send_recv;
  if (call.ranks == 0) call.ranks = pair ? std::min(2, cluster.gpus()) : cluster.gpus();
  return forecast_collective(call, cluster, shipped_comm_constants());
}

Result<CollectiveForecast> forecast_of(ExpertExchange& x, const Cluster& cluster) {
  if (x.ranks == 0) x.ranks = cluster.gpus();
  return forecast_exchange(x, cluster, shipped_comm_constants());
}

void say_call(CollectiveAnswer& answer, const Collective& call) {
  answer.op = name_of(call.op), answer.library = name_of(call.library);
  answer.ranks = call.ranks, answer.bytes = call.bytes;
}

void say_call(CollectiveAnswer& answer, const ExpertExchange& x) {
  answer.op = name_of(x.op), answer.library = name_of(x.kind), answer.ranks = x.ranks;
  answer.exchange = {x.tokens, x.hidden, x.topk, x.experts, x.element()};
}

Result<CollectiveAnswer> answer_of(const CollectiveQuery& query, Clusters& known) {
  if (auto fine = check_arguments(query); !fine) return std::move(fine).error();
  if (query.local && !query.ranks) return field_error("local", "needs ranks", "say how many take part in all");
  auto call = is_exchange(query) ? exchange_call(query) : collective_call(query);
  if (!call) return std::move(call).error();
  CollectiveAnswer answer;
  std::visit([&](const auto& one) { say_call(answer, one); }, *call);
  if (auto fine = check_scopes(query, {{"op", answer.op}, {"library", answer.library}}); !fine)
    return std::move(fine).error();
  const auto cluster = known.find(query);
  if (!cluster) return cluster.error();
  const auto forecast = std::visit([&](auto& one) { return forecast_of(one, **cluster); }, *call);
  if (!forecast) return forecast.error();
  answer.cluster = (*cluster)->name;
  std::visit([&](const auto& one) { say_call(answer, one); }, *call);
  answer.latency = forecast->latency, answer.interval = {forecast->low, forecast->high}, answer.bound = forecast->bound;
  answer.bus_bandwidth = forecast->bus_bandwidth, answer.algorithm = forecast->algorithm, answer.seen = forecast->seen;
  return answer;
}

ClusterInfo info_of(const Cluster& c) {
  ClusterInfo info;
  info.name = c.name, info.aliases = c.aliases, info.gpu = c.gpu.name;
  info.gpus_per_node = c.gpus_per_node, info.nodes = c.nodes;
  info.link = name_of(c.intra.kind), info.link_rate = c.intra.bandwidth, info.nvls = c.intra.nvls;
  if (c.inter) info.network = {c.inter->kind, c.inter->bandwidth};
  info.notes = c.notes;
  info.sources.assign(c.sources.begin(), c.sources.end());
  return info;
}

}  // namespace

Result<CollectiveAnswer> forecast(const CollectiveQuery& query) {
  Clusters known;
  return answer_of(query, known);
}

std::vector<Result<CollectiveAnswer>> forecast(std::span<const CollectiveQuery> queries) {
  return answer_each<Clusters>(queries,
                               [](const CollectiveQuery& query, Clusters& known) { return answer_of(query, known); });
}

std::vector<ClusterInfo> known_clusters() {
  std::vector<ClusterInfo> all;
  for (const Cluster& cluster : built_in_clusters()) all.push_back(info_of(cluster));
  return all;
}

std::vector<FabricInfo> known_fabrics() {
  std::vector<FabricInfo> all;
  for (const Fabric& fabric : built_in_fabrics()) {
    FabricInfo info{fabric.name, fabric.aliases, {}, fabric.notes, {}};
    Cluster nodes;
    nodes.gpus_per_node = 8;
    if (const auto with = with_fabric(nodes, fabric.name)) info.network = {with->inter->kind, with->inter->bandwidth};
    info.sources.assign(fabric.sources.begin(), fabric.sources.end());
    all.push_back(std::move(info));
  }
  return all;
}

Result<ClusterInfo> describe_cluster(const std::string& cluster) {
  const auto found = cluster_of(cluster);
  if (!found) return in_field(found.error(), "cluster");
  return info_of(*found);
}

const Question& collective_question() {
  static const Question question{
      "collective",
      "forecast one collective between GPUs",
      {"collective all_reduce --bytes 64K,1M,64M --ranks 8 --cluster hgx-h100-8,hgx-b200-8",
       "collective all_reduce --bytes 256K --ranks 4 --cluster hgx-h200-8 --library vllm",
       "collective all_gather --bytes 1G --cluster hgx-h100-8 --nodes 4",
       "collective dispatch --tokens 128,4096 --topk 8 --experts 256 --ranks 32 --cluster hgx-h200 --library "
       "deepep-ll"}};
  return question;
}

const Question& clusters_question() {
  static const Question question{"clusters", "list the clusters Tilecast knows", {"clusters"}};
  return question;
}

std::vector<BoundArgument> arguments_of(CollectiveQuery& q) {
  std::vector<std::string> ops(kCollectiveNames.begin(), kCollectiveNames.end());
  ops.insert(ops.end(), kExchangeOpNames.begin(), kExchangeOpNames.end());
  const Scope exchange{"op", {kExchangeOpNames.begin(), kExchangeOpNames.end()}};
  Declare list;
  list.add(q.op, {.name = "op",
                  .help = "the collective; of experts' tokens: dispatch, combine, prepare",
                  .example = "all_reduce",
                  .choices = ops,
                  .required = true,
                  .positional = true});
  list.add(
      q.bytes,
      {.name = "bytes", .help = "message size: 256, 64K, 1MB (`tilecast --help` has the units)", .example = "64K"});
  list.add(q.tokens, {.name = "tokens",
                      .help = "dispatch, combine: tokens of a rank",
                      .example = "128",
                      .least = 1,
                      .most = kMostCount});
  list.add(q.hidden, {.name = "hidden",
                      .help = "dispatch, combine: elements of a token",
                      .example = "7168",
                      .least = 1,
                      .most = kMostCount,
                      .scopes = {exchange}});
  list.add(q.topk, {.name = "topk",
                    .help = "dispatch, combine: experts of a token",
                    .example = "8",
                    .least = 1,
                    .most = kMostCount,
                    .scopes = {exchange}});
  list.add(q.experts, {.name = "experts",
                       .help = "dispatch, combine: experts on all ranks",
                       .example = "256",
                       .least = 1,
                       .most = kMostCount,
                       .scopes = {exchange}});
  list.add(q.most_nodes, {.name = "most-nodes",
                          .help = "dispatch, combine: nodes that a token's experts may lie on (0: any)",
                          .example = "4",
                          .least = 0,
                          .most = kMostRanks,
                          .scopes = {exchange}});
  list.add(q.sms, {.name = "sms",
                   .help = "deepep: SMs that its kernels run on",
                   .example = "20",
                   .least = 1,
                   .most = 1e5,
                   .scopes = {exchange, {"library", {"deepep"}}}});
  list.add(q.balanced, {.name = "balanced",
                        .help = "dispatch, combine: a token's experts lie on as many ranks as possible",
                        .scopes = {exchange}});
  list.add(q.ranks, {.name = "ranks",
                     .help = "GPUs that take part (default: all of the cluster)",
                     .example = "8",
                     .least = 1,
                     .most = kMostRanks});
  list.add(q.local,
           {.name = "local",
            .help = "how many of them share a node, whose other GPUs make the same call meanwhile (default: all, "
                    "alone)",
            .example = "2",
            .least = 1,
            .most = kMostRanks});
  list.add(q.groups, {.name = "groups",
                      .help = "with local: groups of a node that call at a time (1: this one alone)",
                      .example = "1",
                      .least = 1,
                      .most = kMostRanks});
  list.add(q.cluster, {.name = "cluster",
                       .help = "hgx-h100 (grows to the ranks), hgx-h100:4 (nodes), 64xH100, or a file; @hdr200 "
                               "after it for another fabric between nodes",
                       .example = "hgx-h100-8",
                       .required = true,
                       .touches = Touches::cluster});
  list.add(q.nodes, {.name = "nodes",
                     .help = "nodes of the cluster (default: its description's)",
                     .example = "4",
                     .least = 1,
                     .most = kMostRanks});
  list.add(q.library, {.name = "library",
                       .help = "nccl (default), or an engine's own all-reduce: vllm (custom), sglang, trtllm; "
                               "dispatch, combine: deepep (default), deepep-ll, trtllm-one-sided, trtllm-two-sided",
                       .example = "vllm"});
  list.add(q.dtype,
           {.name = "dtype", .help = "number format (default: bf16; of dispatch fp8 with scales)", .example = "fp16"});
  list.add(q.eager, {.name = "eager", .help = "engines: launched by the host, not from a CUDA graph"});
  return list.take();
}

}  // namespace tilecast
