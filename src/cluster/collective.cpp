#include "cluster/collective.h"

#include <algorithm>
#include <cmath>

#include "cluster/collective_physics.h"
#include "cluster/named.h"
#include "cluster/network.h"
#include "constants/cluster.h"

namespace tilecast {

using namespace constants;

namespace {

// One forecast's fixed circumstances.
struct Setting {
  const Cluster& cluster;
  const CommConstants& constants;
  std::string source;

  Seconds time(const Flow& flow) const { return flow_time(flow, cluster, constants, source); }
};

struct Timed {
  Seconds latency;
  std::string algorithm;
};

Timed nccl_time(const Collective& call, const Setting& setting) {
  return {setting.time(nccl_flow(call, setting.cluster)), nccl_algorithm(call, setting.cluster)};
}

// One-shot, then two-shot, then NCCL as messages grow; each takes at least what the longest message before it took.
Timed engine_time(const Collective& call, const Setting& setting) {
  const ShotLimits limits = shot_limits(call.library, call.ranks, setting.cluster.gpu);
  Timed best{seconds(0), ""};
  const auto grow = [&](Bytes up_to, auto&& timed) {
    Collective part = call;
    part.bytes = std::min(call.bytes, up_to);
    const Timed next = timed(part);
    best.algorithm = next.algorithm;
    best.latency = std::max(best.latency, next.latency);
  };
  const auto shots = [&](bool two) {
    return [&setting, two](const Collective& part) {
      const Timed nccl = nccl_time(part, setting);  // which the engine may choose where it is faster
      const Seconds own = setting.time(shot_flow(part, setting.cluster, two));
      return own <= nccl.latency ? Timed{own, two ? "two-shot" : "one-shot"} : nccl;
    };
  };
  grow(limits.one_shot, shots(false));
  if (call.bytes > limits.one_shot && call.ranks > 2) grow(limits.own_kernel, shots(true));
  if (call.bytes > limits.own_kernel)
    grow(call.bytes, [&](const Collective& part) { return nccl_time(part, setting); });
  if (call.eager) {
    const Seconds host =
        microseconds(setting.constants.host_of(setting.cluster.gpu, std::string(name_of(call.library))));
    best.latency = std::max(host, best.latency + microseconds(kEagerCopyLaunch) +
                                      call.bytes * 2 / (setting.cluster.gpu.dram.bandwidth * kEagerCopyShare));
  }
  return best;
}

// Within the node and between nodes at the same time, as NCCL cuts messages into chunks; the quickest of its ways, and
// what a network that was measured departs from it.
Timed across_nodes(const Collective& call, const Setting& setting, const Crossing& crossing) {
  Collective within = call;
  within.ranks = crossing.local;
  if (call.op == CollectiveOp::all_to_all) within.bytes = call.bytes * (1.0 * crossing.local / call.ranks);
  const bool alone = within.ranks == 1 || call.op == CollectiveOp::send_recv;
  const Seconds inside = alone ? seconds(0) : nccl_time(within, setting).latency;
  Timed best;
  for (const NetworkWay& way : network_ways(call, setting.cluster, setting.constants.network)) {
    const Seconds time = way.start + std::max(inside, way.wire) + way.steps;
    if (best.algorithm.empty() || time < best.latency) best = {time, way.name};
  }
  if (!setting.cluster.inter->measured_as.empty()) {
    const NetworkConstants& network = setting.constants.network;
    const double departs = network.departure(crossed_key(call, setting.cluster), in_bytes(call.bytes));
    best.latency = best.latency * std::exp2(departs);
  }
  return best;
}

Status check(const Collective& call, const Cluster& cluster) {
  if (call.ranks < 1) return field_error("ranks", "must be one or more", "for example 8");
  if (!(in_bytes(call.bytes) >= 0 && in_bytes(call.bytes) < 1e15))
    return field_error("bytes", "must lie between 0 and a petabyte", "for example 64K or 1G");
  if (call.groups < 0 || call.groups > cluster.gpus_per_node)
    return field_error(
        "groups",
        std::to_string(call.groups) + " groups do not share a node of " + std::to_string(cluster.gpus_per_node),
        "0 for all that the node's GPUs form");
  if (call.local < 0 || call.local > cluster.gpus_per_node)
    return field_error(
        "local", std::to_string(call.local) + " ranks do not fit on a node of " + std::to_string(cluster.gpus_per_node),
        "0 for as many as fit");
  const int nodes = crossing_of(call, cluster).nodes;
  if (nodes > 1 && !cluster.inter)
    return field_error("ranks", "the nodes of " + cluster.name + " cannot reach each other",
                       "its file needs \"inter\"");
  if (nodes > cluster.nodes)
    return field_error("ranks",
                       std::to_string(call.ranks) + " do not fit on the " + std::to_string(cluster.gpus()) +
                           " GPUs of " + cluster.name,
                       "give it " + std::to_string(nodes) + " nodes");
  if (call.op == CollectiveOp::send_recv && call.ranks > 2)
    return field_error("ranks", "send_recv is between two, not " + std::to_string(call.ranks), "give 2");
  return Ok{};
}

}  // namespace

Result<CollectiveOp> collective_from(std::string_view name) {
  return enum_named<CollectiveOp>(name, kCollectiveNames, "collective");
}

Result<CommLibrary> comm_library_from(std::string_view name) {
  if (name == "custom") return CommLibrary::vllm;
  return enum_named<CommLibrary>(name, kCommLibraryNames, "library");
}

SpreadKey spread_key(const Collective& call, const Cluster& cluster, const std::string& standing) {
  const std::string library = std::string(name_of(call.library)) + (call.eager ? "-eager" : "");
  if (standing == kBetween || standing == kNetwork) return {"nccl", "network", standing};
  const bool measured = standing != kAkin && standing != kAlone;
  const bool pcie = cluster.intra.kind == LinkKind::pcie;
  return {library, measured ? "any" : pcie ? "pcie" : "nvlink", standing};
}

NetworkConstants::Key crossed_key(const Collective& call, const Cluster& cluster) {
  const Crossing crossing = crossing_of(call, cluster);
  return {cluster.inter->measured_as, std::string(name_of(call.op)), crossing.nodes, crossing.local};
}

Seconds collective_bound(const Collective& call, const Cluster& cluster) {
  if (call.ranks <= 1) return seconds(0);
  const Crossing crossing = crossing_of(call, cluster);
  if (crossing.nodes > 1 && (crossing.local == 1 || call.op == CollectiveOp::send_recv))
    return cluster.inter->latency + crossing.wire;
  // A switch that adds lets each rank send its data once. Beyond a node, a GPU may use both its links at a time.
  const bool adds = cluster.intra.nvls || (crossing.nodes > 1 && cluster.inter->sharp);
  const bool switched = adds && call.op == CollectiveOp::all_reduce && !call.integers;
  const double factor = switched ? std::min(1.0, bus_factor(call.op, call.ranks)) : bus_factor(call.op, call.ranks);
  BytesPerSecond rate = call.op == CollectiveOp::send_recv ? cluster.pair_bandwidth() : cluster.intra.bandwidth;
  if (crossing.nodes > 1) rate = rate + cluster.inter->bandwidth;
  Seconds wire = std::max(call.bytes * factor / rate, crossing.wire);
  if (crossing.nodes > 1) return cluster.inter->latency + wire;
  if (const BridgeUse use = bridge_use(call, cluster); use.bridges > 1) {
    const double leaving = use.groups * leaving_share(call.op, use.bridges, use.local, call.ranks);
    wire = std::max(wire, call.bytes * leaving / cluster.host_bridge->bandwidth);
  }
  return cluster.intra.latency + wire;
}

Result<CollectiveForecast> forecast_collective(const Collective& call, const Cluster& cluster,
                                               const CommConstants& constants, std::string_view source) {
  if (auto fine = check(call, cluster); !fine) return std::move(fine).error();
  CollectiveForecast forecast;
  if (call.ranks == 1) {
    forecast.algorithm = "nothing to do";
    return forecast;
  }
  const Setting setting{cluster, constants, std::string(source)};
  const Crossing crossing = crossing_of(call, cluster);
  const bool own_kernel = crossing.nodes == 1 && has_own_kernel(call, cluster);
  const Timed timed = crossing.nodes > 1 ? across_nodes(call, setting, crossing)
                      : own_kernel       ? engine_time(call, setting)
                                         : nccl_time(call, setting);
  forecast.algorithm = timed.algorithm;
  forecast.bound = collective_bound(call, cluster);
  forecast.latency = std::max(timed.latency, forecast.bound);
  forecast.seen = constants.has_seen(cluster.gpu.measured().name) && cluster.gpu.links_as_parent();
  const bool beyond = call.ranks > constants.most_ranks(nccl_flow(call, cluster).curve);
  double doubt = beyond ? kCollectiveDoubt : 0.0;
  if (crossing.nodes > 1) {
    const bool ran = !cluster.inter->measured_as.empty() && constants.network.own.contains(crossed_key(call, cluster));
    forecast.standing = ran ? kNetwork : kBetween;
    doubt = congestion_width(*cluster.inter, crossing.nodes);
  } else {
    forecast.standing = standing_of("nccl", cluster, constants, source, forecast.seen && !beyond);
  }
  const CommSpread spread = constants.spread_of(spread_key(call, cluster, forecast.standing));
  forecast.low = std::max(forecast.latency * std::exp2(spread.low - doubt), forecast.bound);
  forecast.high = forecast.latency * std::exp2(spread.high + doubt);
  forecast.bus_bandwidth = call.bytes * bus_factor(call.op, call.ranks) / forecast.latency;
  return forecast;
}

}  // namespace tilecast
