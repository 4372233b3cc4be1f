#include "cluster/expert_exchange.h"

#include <algorithm>
#include <cmath>

#include "cluster/named.h"
#include "constants/cluster.h"

namespace tilecast {

using namespace constants;
using namespace constants::exchange;

namespace {

// The curve of DeepEP within a node holds for any ranks; it is filed under this many.
constexpr int kNodeRanks = 8;

bool is_deepep(const ExpertExchange& x) { return x.kind == ExchangeKind::deepep || x.kind == ExchangeKind::deepep_ll; }

Bytes token_bytes(const ExpertExchange& x) { return bytes(x.hidden * x.element()); }

// SMs of the low-latency kernels (DeepEP csrc/kernels/internode_ll.cu): a warp group an expert, the groups of an SM as
// few as the experts allow.
double low_latency_sms(int experts, int gpu_sms) {
  const auto groups = ceil_div(experts, gpu_sms);
  return static_cast<double>(ceil_div(experts, groups));
}

Seconds empty_of(const ExpertExchange& x, const Cluster& cluster, int nodes) {
  const bool combine = x.op == ExchangeOp::combine;
  Seconds base = microseconds(kTrtllmBase);
  if (x.kind == ExchangeKind::deepep)
    base = combine ? microseconds(kNormalCombineBase) + nanoseconds(kCombinePerElement) * x.hidden
                   : microseconds(kNormalBase);
  if (x.kind == ExchangeKind::deepep_ll)
    base = microseconds(kLlBase) +
           nanoseconds(combine ? kLlCombinePerExpert : kLlPerExpert) * static_cast<double>(x.experts);
  return base + (nodes > 1 ? cluster.inter->latency : cluster.intra.latency) * 2.0;
}

// Copies over the links of a node: a GPU's own, and with PCIe the bridge that others share.
Seconds link_time(Bytes sent, int ranks, const Cluster& cluster) {
  const Seconds link = sent / cluster.intra.bandwidth;
  const int local = std::min(ranks, cluster.gpus_per_node);
  if (!cluster.host_bridge || local <= cluster.host_bridge->gpus) return link;
  const int below = cluster.host_bridge->gpus;
  const double beyond = static_cast<double>(local - below) / (local - 1);
  return std::max(link, sent * (beyond * below) / cluster.host_bridge->bandwidth);
}

Seconds normal_wire(const ExpertExchange& x, const Cluster& cluster, const TokenCopies& copies) {
  const double token = in_bytes(token_bytes(x));
  const bool combine = x.op == ExchangeOp::combine;
  Seconds sm = nanoseconds(kSmToken) + (nanoseconds(kSmCopy) + seconds(kSmCopyByte * token)) * copies.ranks;
  if (combine) sm = seconds(token * (kSmSumByte + kSmCombineByte * copies.ranks));
  if (copies.nodes > 1) sm = sm * (combine ? kAcrossCombine : kAcrossDispatch);
  const double in_node = std::max(0.0, copies.other_ranks - copies.other_nodes);
  Seconds wire = std::max(sm * (static_cast<double>(x.tokens) / x.sms),
                          link_time(token_bytes(x) * (x.tokens * in_node), x.ranks, cluster) / kNormalLinkShare);
  if (copies.nodes > 1)
    wire = std::max(wire, token_bytes(x) * (x.tokens * copies.other_nodes) / cluster.inter->bandwidth);
  return wire;
}

Seconds low_latency_wire(const ExpertExchange& x, const Cluster& cluster, const TokenCopies& copies) {
  const bool combine = x.op == ExchangeOp::combine;
  const double sends = static_cast<double>(x.tokens) * x.topk, sms = low_latency_sms(x.experts, cluster.gpu.sms);
  const double local = std::min(x.ranks, cluster.gpus_per_node), far = (x.ranks - local) / x.ranks;
  const Seconds link = link_time(token_bytes(x) * (sends * (local - 1) / x.ranks), x.ranks, cluster);
  const Seconds sm = combine ? token_bytes(x) * sends / (gigabytes_per_second(kLlSmRate) * sms) * kLlCombineShare
                             : (microseconds(kLlToken) + nanoseconds(kLlTokenElement) * x.hidden) * (x.tokens / sms) *
                                   kLlDispatchShare;
  Seconds wire = link + sm;
  if (copies.nodes > 1) wire = std::max(wire, token_bytes(x) * (sends * far) / cluster.inter->bandwidth);
  return wire;
}

Seconds trtllm_wire(const ExpertExchange& x, const Cluster& cluster, const TokenCopies& copies) {
  if (x.op == ExchangeOp::prepare) return nanoseconds(kPrepareToken) * static_cast<double>(x.tokens);
  const Seconds link = link_time(token_bytes(x) * (x.tokens * copies.other_ranks), x.ranks, cluster);
  if (x.kind == ExchangeKind::trtllm_one_sided) return link;
  const bool low = x.op == ExchangeOp::combine && x.element() < 1;
  const Seconds queue = nanoseconds(x.op == ExchangeOp::dispatch ? kQueueDispatch
                                    : low                        ? kQueueLowCombine
                                                                 : kQueueCombine);
  return seconds(std::hypot(in_seconds(link), in_seconds(queue) * x.tokens));
}

Status check(const ExpertExchange& x, const Cluster& cluster) {
  const auto at_least_one = [](const char* field, int value) -> Status {
    if (value < 1) return field_error(field, "must be one or more", "leave it out for its default");
    return Ok{};
  };
  const std::pair<const char*, int> counts[] = {{"tokens", x.tokens},   {"hidden", x.hidden}, {"topk", x.topk},
                                                {"experts", x.experts}, {"ranks", x.ranks},   {"sms", x.sms}};
  for (const auto& [field, value] : counts)
    if (auto fine = at_least_one(field, value); !fine) return fine;
  if (x.ranks > x.experts)
    return field_error("ranks",
                       std::to_string(x.ranks) + " are more than the " + std::to_string(x.experts) + " experts",
                       std::to_string(x.experts) + " or fewer");
  const int nodes = static_cast<int>(ceil_div(x.ranks, cluster.gpus_per_node));
  if (x.ranks > cluster.gpus())
    return field_error(
        "ranks",
        std::to_string(x.ranks) + " do not fit on the " + std::to_string(cluster.gpus()) + " GPUs of " + cluster.name,
        "give it " + std::to_string(nodes) + " nodes");
  if (nodes > 1 && !cluster.inter)
    return field_error("ranks", "the nodes of " + cluster.name + " cannot reach each other",
                       "its file needs \"inter\"");
  if (nodes > 1 && x.ranks % cluster.gpus_per_node != 0)
    return field_error("ranks",
                       std::to_string(x.ranks) + " do not fill nodes of " + std::to_string(cluster.gpus_per_node),
                       std::to_string((nodes - 1) * cluster.gpus_per_node) + " or " +
                           std::to_string(nodes * cluster.gpus_per_node) + " do");
  if (nodes > 1 && !is_deepep(x))
    return field_error(
        "ranks", std::to_string(x.ranks) + " are more than NVLink joins, " + std::to_string(cluster.gpus_per_node),
        "deepep crosses nodes");
  if (x.op == ExchangeOp::prepare && x.kind != ExchangeKind::trtllm_two_sided)
    return field_error("library", "prepare is a kernel of trtllm-two-sided", "leave the library out");
  const int reach = x.most_nodes > 0 ? std::min(x.most_nodes, nodes) : nodes;
  if (static_cast<long>(x.topk) * nodes > static_cast<long>(x.experts) * reach)
    return field_error("topk", std::to_string(x.topk) + " are more than the experts a token can reach",
                       "more experts, or a larger most-nodes");
  return Ok{};
}

}  // namespace

Result<ExchangeKind> exchange_kind_from(std::string_view name) {
  if (name == "trtllm") return ExchangeKind::trtllm_one_sided;
  return enum_named<ExchangeKind>(name, kExchangeKindNames, "library");
}

Result<ExchangeOp> exchange_op_from(std::string_view name) {
  return enum_named<ExchangeOp>(name, kExchangeOpNames, "exchange");
}

double distinct_groups(double draws, double items, double groups) {
  double missed = 1;  // one group, by every draw
  for (int i = 0; i < draws; ++i) missed *= std::max(0.0, items - items / groups - i) / std::max(1.0, items - i);
  return groups * (1 - missed);
}

TokenCopies token_copies(const ExpertExchange& x, const Cluster& cluster) {
  TokenCopies copies;
  copies.nodes = static_cast<int>(ceil_div(x.ranks, cluster.gpus_per_node));
  const double nodes = copies.nodes, reach = x.most_nodes > 0 ? std::min<double>(x.most_nodes, nodes) : nodes;
  const double items = x.experts * reach / nodes, ranks = x.ranks * reach / nodes;
  const auto hit = [&](double groups) {
    return x.balanced ? std::min<double>(x.topk, groups) : distinct_groups(x.topk, items, groups);
  };
  copies.ranks = hit(ranks);
  copies.other_ranks = copies.ranks * (x.ranks - 1) / x.ranks;
  copies.other_nodes = copies.nodes > 1 ? hit(reach) * (nodes - 1) / nodes : 0;
  return copies;
}

Flow exchange_flow(const ExpertExchange& x, const Cluster& cluster) {
  const TokenCopies copies = token_copies(x, cluster);
  const bool low = x.kind == ExchangeKind::trtllm_two_sided && x.op == ExchangeOp::combine && x.element() < 1;
  Flow flow;
  flow.curve = {std::string(name_of(x.kind)),
                copies.nodes > 1                       ? "network"
                : cluster.intra.kind == LinkKind::pcie ? "pcie"
                                                       : "nvlink",
                std::string(name_of(x.op)) + (low ? "_low" : ""),
                is_deepep(x) && copies.nodes == 1 ? kNodeRanks : std::max(2, x.ranks), false};
  flow.empty = empty_of(x, cluster, copies.nodes);
  flow.wire = x.kind == ExchangeKind::deepep      ? normal_wire(x, cluster, copies)
              : x.kind == ExchangeKind::deepep_ll ? low_latency_wire(x, cluster, copies)
                                                  : trtllm_wire(x, cluster, copies);
  return flow;
}

Seconds exchange_bound(const ExpertExchange& x, const Cluster& cluster) {
  if (x.ranks <= 1) return seconds(0);
  const TokenCopies copies = token_copies(x, cluster);
  const Seconds latency = copies.nodes > 1 ? cluster.inter->latency : cluster.intra.latency;
  if (x.op == ExchangeOp::prepare) return latency;
  // Every rank gets each copy by one of its links; every other node gets each token once.
  BytesPerSecond rate = cluster.intra.bandwidth;
  Seconds wire;
  if (copies.nodes > 1) {
    rate = rate + cluster.inter->bandwidth;
    wire = token_bytes(x) * (x.tokens * copies.other_nodes) / cluster.inter->bandwidth;
  }
  return latency + std::max(wire, token_bytes(x) * (x.tokens * copies.other_ranks) / rate);
}

SpreadKey spread_key(const ExpertExchange& x, const Cluster& cluster, const std::string& standing) {
  const bool measured = standing != kAkin && standing != kAlone;
  return {std::string(name_of(x.kind)), measured ? "any" : exchange_flow(x, cluster).curve.link, standing};
}

Result<CollectiveForecast> forecast_exchange(const ExpertExchange& x, const Cluster& cluster,
                                             const CommConstants& constants, std::string_view source) {
  if (auto fine = check(x, cluster); !fine) return std::move(fine).error();
  CollectiveForecast forecast;
  forecast.algorithm = name_of(x.kind);
  if (x.ranks == 1) {
    forecast.algorithm = "nothing to do";
    return forecast;
  }
  const Flow flow = exchange_flow(x, cluster);
  forecast.bound = exchange_bound(x, cluster);
  forecast.latency = std::max(flow_time(flow, cluster, constants, source), forecast.bound);
  forecast.seen = constants.has_run(cluster.gpu.measured().name, flow.curve) && cluster.gpu.links_as_parent();
  const bool beyond = x.ranks > constants.most_ranks(flow.curve);
  forecast.standing = standing_of(flow.curve.library, cluster, constants, source, forecast.seen && !beyond);
  const CommSpread spread = constants.spread_of(spread_key(x, cluster, forecast.standing));
  const double doubt = beyond ? kCollectiveDoubt : 0.0;
  forecast.low = std::max(forecast.latency * std::exp2(spread.low - doubt), forecast.bound);
  forecast.high = forecast.latency * std::exp2(spread.high + doubt);
  const TokenCopies copies = token_copies(x, cluster);
  const double sent = x.op == ExchangeOp::prepare ? 0 : x.tokens * copies.other_ranks;
  forecast.bus_bandwidth = token_bytes(x) * sent / forecast.latency;
  return forecast;
}

}  // namespace tilecast
