#include "cluster/collective_physics.h"

#include <algorithm>
#include <cmath>

namespace tilecast {
namespace {

// NCCL src/graph/tuning.cc (commit 01afd20), baseLat of ring LL: launch, and the first flag seen.
constexpr Seconds kNcclBase = microseconds(3.6);
// The engines' kernels spin on flags in peers' memory: launch, two barriers that grow a little with the ranks. Set so
// that curves of 2, 4 and 8 ranks lie on one another at 256 B.
constexpr Seconds kShotBase = microseconds(2.0);
constexpr double kShotSteps = 2.0, kShotStepsPerRank = 0.4;
// The step count of point-to-point calls that all start at once, likewise.
constexpr double kExchangeSteps = 0.3;
// Beyond a node of eight nothing here was measured: rings grow into trees, four more steps for each doubling.
constexpr int kMeasuredRanks = 8;
constexpr double kStepsPerDoubling = 4;
// Sums of floats are left to the switch from this number of ranks on: at four NCCL still takes the ring on every
// machine measured, at eight it does not.
constexpr int kLeastNvlsRanks = 6;

double steps_of(CollectiveOp op, int ranks) {
  const double beyond = std::max(0.0, std::log2(static_cast<double>(ranks) / kMeasuredRanks)) * kStepsPerDoubling;
  const int ring = std::min(ranks, kMeasuredRanks) - 1;
  switch (op) {
    case CollectiveOp::all_reduce: return 2 * ring + beyond;
    case CollectiveOp::all_to_all: return 1 + kExchangeSteps * std::log2(ranks);
    case CollectiveOp::send_recv: return 1;
    default: return ring + beyond;
  }
}

bool by_nvls(const Collective& call, const Cluster& cluster) {
  return cluster.intra.nvls && call.op == CollectiveOp::all_reduce && !call.integers && call.ranks >= kLeastNvlsRanks;
}

// The busiest of a GPU's link and, with PCIe, the bridge between halves of the ranks.
Seconds wire_of(CollectiveOp op, Bytes sent, int ranks, Bytes bytes, const Cluster& cluster) {
  const Seconds link = sent / (op == CollectiveOp::send_recv ? cluster.pair_bandwidth() : cluster.intra.bandwidth);
  if (!cluster.host_bridge || ranks <= cluster.host_bridge->gpus) return link;
  // A ring crosses a bridge once in each direction with all that a rank sends; an exchange with more.
  const int local = cluster.host_bridge->gpus, groups = static_cast<int>(ceil_div(ranks, local));
  const Bytes crossing = bytes * leaving_share(op, groups, local, ranks);
  return std::max(link, std::max(sent, crossing) / cluster.host_bridge->bandwidth);
}

}  // namespace

double bus_factor(CollectiveOp op, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (op) {
    case CollectiveOp::all_reduce: return 2 * others;
    case CollectiveOp::broadcast:
    case CollectiveOp::send_recv: return ranks > 1 ? 1 : 0;
    default: return others;
  }
}

double leaving_share(CollectiveOp op, int groups, int local, int ranks) {
  if (op == CollectiveOp::all_to_all) return static_cast<double>(local) * (ranks - local) / ranks;
  return bus_factor(op, groups);
}

Flow nccl_flow(const Collective& call, const Cluster& cluster) {
  const bool reduces = call.op == CollectiveOp::all_reduce || call.op == CollectiveOp::reduce_scatter;
  const bool pcie = cluster.intra.kind == LinkKind::pcie;
  Flow flow;
  flow.curve = {"nccl",
                pcie                     ? "pcie"
                : by_nvls(call, cluster) ? "nvls"
                                         : "nvlink",
                std::string(name_of(call.op)), call.ranks, reduces && call.integers};
  flow.empty = kNcclBase + cluster.intra.latency * steps_of(call.op, call.ranks);
  flow.wire = wire_of(call.op, call.bytes * bus_factor(call.op, call.ranks), call.ranks, call.bytes, cluster);
  return flow;
}

Flow shot_flow(const Collective& call, const Cluster& cluster, bool two_shots) {
  Flow flow;
  flow.curve = {std::string(name_of(call.library)), cluster.intra.kind == LinkKind::pcie ? "pcie" : "nvlink",
                two_shots ? "two_shot" : "one_shot", call.ranks, false};
  flow.empty = kShotBase + cluster.intra.latency * (kShotSteps + kShotStepsPerRank * call.ranks);
  const double factor = two_shots ? bus_factor(CollectiveOp::all_reduce, call.ranks) : call.ranks - 1;
  flow.wire = wire_of(call.op, call.bytes * factor, call.ranks, call.bytes, cluster);
  return flow;
}

ShotLimits shot_limits(CommLibrary library, int ranks, const Gpu& gpu) {
  // vLLM's and SGLang's custom_all_reduce.cuh: two ranks always exchange whole messages; four do below 512 KiB and more
  // below 256 KiB. The upper limits are where the measured rows join NCCL's (data README, custom_allreduce).
  const bool ampere = gpu.architecture <= Architecture::ampere;
  ShotLimits limits;
  switch (library) {
    case CommLibrary::sglang: limits.own_kernel = mebibytes(ampere ? 8 : 16); break;
    case CommLibrary::vllm: limits.own_kernel = mebibytes(ampere || ranks <= 2 ? 4 : ranks <= 4 ? 8 : 32); break;
    default: limits.own_kernel = mebibytes(8);
  }
  limits.one_shot = ranks <= 2 ? limits.own_kernel : kibibytes(ranks <= 4 ? 512 : 256) - bytes(1);
  return limits;
}

Crossing crossing_of(const Collective& call, const Cluster& cluster) {
  Crossing crossing;
  crossing.nodes = static_cast<int>(ceil_div(call.ranks, cluster.gpus_per_node));
  if (crossing.nodes <= 1 || !cluster.inter) return crossing;
  const BytesPerSecond node = cluster.inter->bandwidth * static_cast<double>(cluster.gpus_per_node);
  double steps = std::ceil(std::log2(crossing.nodes));
  if (call.op == CollectiveOp::all_reduce) steps *= 2;
  crossing.wire = call.bytes * leaving_share(call.op, crossing.nodes, cluster.gpus_per_node, call.ranks) / node;
  if (call.op == CollectiveOp::send_recv) {
    crossing.wire = call.bytes / (node / static_cast<double>(cluster.inter->rails));
    steps = 1;
  }
  crossing.steps = cluster.inter->latency * steps;
  return crossing;
}

std::string nccl_algorithm(const Collective& call, const Cluster& cluster) {
  if (call.op == CollectiveOp::send_recv || call.op == CollectiveOp::all_to_all) return "point to point";
  // baseLat and hwLat of NCCL's tuning.cc (commit 01afd20), the shares of the link that its protocols carry, and for
  // NVLS one pass of the bytes in place of 2 (n - 1) / n.
  struct Protocol {
    const char* name;
    double base, hop, share;
  };
  static constexpr Protocol kRing[] = {
      {"ring LL", 3.6, 0.47, 0.25}, {"ring LL128", 10.0, 1.9, 0.92}, {"ring Simple", 8.4, 3.4, 1.0}};
  const double steps = steps_of(call.op, call.ranks), wire = in_microseconds(nccl_flow(call, cluster).wire);
  std::string best;
  double least = 0;
  const auto offer = [&](const std::string& name, double time) {
    if (!best.empty() && time >= least) return;
    best = name;
    least = time;
  };
  for (const Protocol& p : kRing) offer(p.name, p.base + p.hop * steps + wire / p.share);
  if (by_nvls(call, cluster)) offer("NVLS", 25 + wire * (1 + 1.0 / call.ranks) / bus_factor(call.op, call.ranks));
  if (call.op == CollectiveOp::all_reduce && crossing_of(call, cluster).nodes > 2 && best.starts_with("ring"))
    best.replace(0, 4, "tree");
  return best;
}

}  // namespace tilecast
