#include "cluster/collective_physics.h"

#include <algorithm>
#include <cmath>

#include "constants/cluster.h"

namespace tilecast {

using namespace constants;

namespace {

double steps_of(CollectiveOp op, int ranks) {
  const double beyond = std::max(0.0, std::log2(static_cast<double>(ranks) / kMeasuredRanks)) * kStepsPerDoubling;
  const int ring = std::min<int>(ranks, kMeasuredRanks) - 1;
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

// What a rank can send to `ranks` GPUs of its node: in a mesh only over the links to them.
BytesPerSecond group_bandwidth(int ranks, const Cluster& cluster) {
  return std::min(cluster.intra.bandwidth, cluster.pair_bandwidth() * static_cast<double>(ranks - 1));
}

// The busiest of a GPU's link and, with PCIe, the bridge between parts of the ranks.
Seconds wire_of(const Collective& call, Bytes sent, const Cluster& cluster) {
  const Seconds link = sent / group_bandwidth(call.ranks, cluster);
  const BridgeUse use = bridge_use(call, cluster);
  // Without peer access every byte goes up to the host's memory and down again, over the bridge of its GPU.
  if (!cluster.intra.peers && cluster.host_bridge)
    return std::max(link, sent * static_cast<double>(use.local * use.groups) / cluster.host_bridge->bandwidth);
  if (use.bridges <= 1) return link;
  // A ring crosses a bridge once in each direction with all that a rank sends; an exchange with more.
  const Bytes crossing = call.bytes * leaving_share(call.op, use.bridges, use.local, call.ranks);
  return std::max(link, std::max(sent, crossing) * use.groups / cluster.host_bridge->bandwidth);
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
  flow.empty = microseconds(kNcclBase) + cluster.intra.latency * steps_of(call.op, call.ranks);
  flow.wire = wire_of(call, call.bytes * bus_factor(call.op, call.ranks), cluster);
  return flow;
}

Flow shot_flow(const Collective& call, const Cluster& cluster, bool two_shots) {
  Flow flow;
  flow.curve = {std::string(name_of(call.library)), cluster.intra.kind == LinkKind::pcie ? "pcie" : "nvlink",
                two_shots ? "two_shot" : "one_shot", call.ranks, false};
  flow.empty = microseconds(kShotBase) + cluster.intra.latency * (kShotSteps + kShotStepsPerRank * call.ranks);
  const double factor = two_shots ? bus_factor(CollectiveOp::all_reduce, call.ranks) : call.ranks - 1;
  flow.wire = wire_of(call, call.bytes * factor, cluster);
  return flow;
}

Seconds flow_time(const Flow& flow, const Cluster& cluster, const CommConstants& constants, std::string_view source) {
  const bool pcie = cluster.intra.kind == LinkKind::pcie;
  const MachineKey machine = constants.machine_of(cluster.gpu.measured().name, source, flow.curve.library);
  const MachineScale scale = constants.scale_of(cluster.gpu, machine.source, flow.curve.library, pcie);
  const double v = std::log2(std::max(flow.wire / flow.empty, 1e-30)) - scale.latency - scale.bandwidth;
  const double level = constants.level(flow.curve, constants.kin_of(cluster.gpu, machine, pcie), v);
  return flow.empty * std::exp2(scale.latency + level);
}

std::string standing_of(const std::string& library, const Cluster& cluster, const CommConstants& constants,
                        std::string_view source, bool measured) {
  if (measured) return std::string(source);
  const MachineKey machine{cluster.gpu.measured().name, std::string(source), library};
  return constants.kin_of(cluster.gpu, machine, cluster.intra.kind == LinkKind::pcie).empty() ? kAlone : kAkin;
}

bool has_own_kernel(const Collective& call, const Cluster& cluster) {
  if (call.library == CommLibrary::nccl || call.op != CollectiveOp::all_reduce || call.ranks > kOwnKernelRanks)
    return false;
  if (cluster.intra.kind != LinkKind::pcie) return true;
  return cluster.intra.peers && call.library != CommLibrary::trtllm && call.ranks <= kOwnKernelPcieRanks;
}

ShotLimits shot_limits(CommLibrary library, int ranks, const Gpu& gpu) {
  // vLLM's and SGLang's custom_all_reduce.cuh: two ranks always exchange whole messages; four do below 512 KiB and more
  // below 256 KiB. The upper limits are where the measured rows join NCCL's (data README, custom_allreduce).
  const bool ampere = gpu.architecture <= Architecture::ampere;
  ShotLimits limits;
  switch (library) {
    case CommLibrary::sglang: limits.own_kernel = mebibytes(ampere ? kSglangAmpereShot : kSglangShot); break;
    case CommLibrary::vllm:
      limits.own_kernel = mebibytes(ampere || ranks <= 2 ? kVllmPairShot : ranks <= 4 ? kVllmFourShot : kVllmShot);
      break;
    default: limits.own_kernel = mebibytes(kOtherShot);
  }
  limits.one_shot = ranks <= 2 ? limits.own_kernel : kibibytes(ranks <= 4 ? kFourOneShot : kOneShot) - bytes(1);
  return limits;
}

BridgeUse bridge_use(const Collective& call, const Cluster& cluster) {
  if (!cluster.host_bridge) return {};
  const int below = cluster.host_bridge->gpus;
  BridgeUse use;
  if (call.local <= 0) {
    use.bridges = static_cast<int>(ceil_div(call.ranks, below));
    use.local = std::min(call.ranks, below);
    return use;
  }
  use.bridges = std::min(call.ranks, static_cast<int>(ceil_div(cluster.gpus_per_node, below)));
  use.local = static_cast<int>(ceil_div(call.ranks, use.bridges));
  use.groups = std::max(1, below / use.local);
  return use;
}

std::string nccl_algorithm(const Collective& call, const Cluster& cluster) {
  if (call.op == CollectiveOp::send_recv || call.op == CollectiveOp::all_to_all) return "point to point";
  // NVLS takes one pass of the bytes in place of 2 (n - 1) / n.
  const double steps = steps_of(call.op, call.ranks), wire = in_microseconds(nccl_flow(call, cluster).wire);
  std::string best;
  double least = 0;
  const auto offer = [&](const std::string& name, double time) {
    if (!best.empty() && time >= least) return;
    best = name;
    least = time;
  };
  for (const NodeProtocolConstants& p : kNodeProtocols) offer(p.name, p.base + p.hop * steps + wire / p.share);
  if (by_nvls(call, cluster))
    offer("NVLS", kNvlsBase + wire * (1 + 1.0 / call.ranks) / bus_factor(call.op, call.ranks));
  return best;
}

}  // namespace tilecast
