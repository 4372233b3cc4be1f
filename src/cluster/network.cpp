#include "cluster/network.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "cluster/collective_physics.h"
#include "constants/cluster.h"
#include "constants/network.h"

namespace tilecast {

using namespace constants;

namespace {

// A node's cards; several of one GPU work as one.
int cards_of(const Cluster& cluster) { return std::min(cluster.inter->rails, cluster.gpus_per_node); }

BytesPerSecond card_peak(const Cluster& cluster) {
  return cluster.inter->bandwidth * static_cast<double>(cluster.gpus_per_node) / static_cast<double>(cards_of(cluster));
}

// Cards that a group's ranks lie at, and its part of all of them while others call.
BytesPerSecond group_share(const Crossing& crossing, const Cluster& cluster, BytesPerSecond card) {
  const int cards = cards_of(cluster);
  return std::min(card * static_cast<double>(std::min(crossing.local, cards)),
                  card * static_cast<double>(cards) / static_cast<double>(crossing.groups));
}
BytesPerSecond message_share(const Crossing& crossing, const Cluster& cluster, BytesPerSecond card) {
  return std::min(card, card * static_cast<double>(cards_of(cluster)) / static_cast<double>(crossing.groups));
}

BytesPerSecond both(BytesPerSecond a, BytesPerSecond b) {
  return BytesPerSecond::from_base(1 / (1 / a.base() + 1 / b.base()));
}

// A card's rate for many messages, and one message's: its chunks are handed from stage to stage beside the wire.
struct CardRates {
  BytesPerSecond many, one;
};
CardRates card_rates(const Cluster& cluster, const NetworkConstants& constants) {
  const Cluster::Inter& inter = *cluster.inter;
  const BytesPerSecond peak = card_peak(cluster), handing = gigabytes_per_second(constants.connection);
  if (inter.pair.base() > 0) {  // measured: the other way round
    const BytesPerSecond one = std::min(inter.pair, peak);
    if (one >= handing) return {peak, one};
    return {std::min(peak, BytesPerSecond::from_base(1 / (1 / one.base() - 1 / handing.base()))), one};
  }
  const BytesPerSecond many = peak * kNetworkShare;
  return {many, both(many, handing * (microseconds(kNetHop) / inter.latency))};
}

// With what leaves a switch upwards in multiples of what one of its nodes sends.
double uplink_slowdown(const Cluster::Inter& inter, int nodes, double leaving) {
  if (inter.leaf_nodes == 0 || nodes <= inter.leaf_nodes) return 1;
  return std::max(1.0, leaving * inter.oversubscription / inter.leaf_nodes);
}

// Lists NCCL's ways of one call.
class WayWriter {
 public:
  WayWriter(const Collective& call, const Cluster& cluster, const NetworkConstants& constants)
      : call_(call),
        cluster_(cluster),
        inter_(*cluster.inter),
        constants_(constants),
        at_(crossing_of(call, cluster)),
        rates_(network_rates(at_, cluster, constants)),
        alone_(at_.local == 1) {
    if (cluster.gpu.vendor == Vendor::amd) rings_ = kRcclRings, trees_ = kRcclTrees;
  }

  std::vector<NetworkWay> point_to_point() const {
    const ProtocolConstants& p = rings_.back();  // messages are Simple
    const bool exchange = call_.op == CollectiveOp::all_to_all;
    const bool one_peer = call_.ranks == 2;
    const Bytes sent = call_.bytes * leaving_share(call_.op, at_.nodes, at_.local, call_.ranks);
    const double beyond =
        exchange ? inter_.leaf_nodes * static_cast<double>(at_.nodes - inter_.leaf_nodes) / (at_.nodes - 1) : 1;
    const Seconds wire = sent / (one_peer ? rates_.message : rates_.group) * uplink(beyond);
    const Seconds peers = inter_.latency * (doublings() - 1);
    return {{"point to point", alone_ ? microseconds(p.base) : seconds(0), wire, hop(p) + climb(1) + peers}};
  }

  std::vector<NetworkWay> collective() const {
    std::vector<NetworkWay> ways;
    const bool sums = call_.op == CollectiveOp::all_reduce;
    for (const ProtocolConstants& p : rings_)
      if (allowed(p)) ways.push_back(ring(p));
    if (!sums) return ways;
    for (const ProtocolConstants& p : trees_)
      if (allowed(p)) ways.push_back(tree(p));
    const bool floats = !call_.integers;
    if (cluster_.intra.nvls && floats && at_.local >= kLeastNvlsRanks) ways.push_back(tree(kNvlsTree));
    if (inter_.sharp && floats) {
      const Seconds wire = call_.bytes / (rates_.group * kCollnet.share) * uplink(1);
      ways.push_back({kCollnet.name, start(kCollnet), wire, hop(kCollnet) + climb(2)});
    }
    return ways;
  }

 private:
  double doublings() const { return std::ceil(std::log2(at_.nodes)); }
  double uplink(double leaving) const { return uplink_slowdown(inter_, at_.nodes, leaving); }
  Seconds start(const ProtocolConstants& p) const { return alone_ ? microseconds(p.base) : seconds(0); }
  Seconds hop(const ProtocolConstants& p) const {
    // NCCL adds what a network's own latency exceeds the usual by to every hop.
    const double usual = std::min(1.0, inter_.latency / microseconds(kNetHop));
    const Seconds net = microseconds(p.net * usual) + std::max(seconds(0), inter_.latency - microseconds(kNetHop));
    return inter_.gpudirect ? net : net + microseconds(constants_.staged_step);
  }
  // Ways that leave a leaf so often.
  Seconds climb(double times) const { return inter_.hop * (times * switches_more(inter_, at_.nodes)); }
  double leaves() const {
    return inter_.leaf_nodes > 0 ? static_cast<double>(ceil_div(at_.nodes, inter_.leaf_nodes)) : 1;
  }
  bool pcie() const { return cluster_.intra.kind == LinkKind::pcie; }

  // LL128 needs NVLink, and cards that write GPUs' memory in order.
  bool allowed(const ProtocolConstants& p) const {
    const std::string_view name = p.name;
    if (name.ends_with("LL128")) return inter_.low_latency && inter_.gpudirect && !pcie();
    return inter_.low_latency || !name.ends_with("LL");
  }

  NetworkWay ring(const ProtocolConstants& p) const {
    const double rounds = call_.op == CollectiveOp::all_reduce ? 2 : 1;
    // It passes every rank; the hops within one node are in that node's part already.
    const int within = std::max(0, call_.ranks - at_.nodes - (at_.local - 1));
    const Seconds link =
        pcie() ? cluster_.intra.latency * (p.pcie / kPcieHop) : cluster_.intra.latency * (p.nvlink / kNvlinkHop);
    const bool ll128 = std::string_view(p.name).ends_with("LL128");
    const double share = ll128 && alone_ ? std::min<double>(p.share, kLl128AloneShare) : p.share;
    const Seconds wire = call_.bytes * bus_factor(call_.op, call_.ranks) / (rates_.group * share) * uplink(1);
    const Seconds steps = hop(p) * static_cast<double>(at_.nodes - 1) + link * within + climb(leaves() - 1);
    return {p.name, start(p), wire, steps * rounds};
  }

  NetworkWay tree(const ProtocolConstants& p) const {
    const double passes = at_.nodes == 2 ? kTreePairPasses : kTreePasses;
    const Seconds wire = call_.bytes * passes / (rates_.group * p.share) * uplink(2);
    return {p.name, start(p), wire, (hop(p) * doublings() + climb(std::ceil(std::log2(leaves())))) * 2.0};
  }

  const Collective& call_;
  const Cluster& cluster_;
  const Cluster::Inter& inter_;
  const NetworkConstants& constants_;
  Crossing at_;
  NetworkRates rates_;
  bool alone_;
  std::span<const ProtocolConstants> rings_ = kRingProtocols, trees_ = kTreeProtocols;
};

}  // namespace

Crossing crossing_of(const Collective& call, const Cluster& cluster) {
  Crossing crossing;
  const int most = call.local > 0 ? std::min(call.local, cluster.gpus_per_node) : cluster.gpus_per_node;
  crossing.local = std::min(call.ranks, most);
  crossing.nodes = static_cast<int>(ceil_div(call.ranks, crossing.local));
  const int others = call.local > 0 ? std::max(1, cluster.gpus_per_node / most) : 1;
  crossing.groups = call.groups > 0 ? call.groups : others;
  if (crossing.nodes <= 1 || !cluster.inter) return crossing;
  const bool message = call.op == CollectiveOp::send_recv;
  const BytesPerSecond rate = message ? message_share(crossing, cluster, card_peak(cluster))
                                      : group_share(crossing, cluster, card_peak(cluster));
  double share = leaving_share(call.op, crossing.nodes, crossing.local, call.ranks);
  if (cluster.inter->sharp && call.op == CollectiveOp::all_reduce) share = std::min(share, 1.0);
  crossing.wire = call.bytes * share / rate;
  return crossing;
}

NetworkRates network_rates(const Crossing& crossing, const Cluster& cluster, const NetworkConstants& constants) {
  const CardRates card = card_rates(cluster, constants);
  if (cluster.inter->gpudirect)
    return {group_share(crossing, cluster, card.many), std::min(card.one, message_share(crossing, cluster, card.many))};
  // The host's memory is one for all the node's cards.
  const BytesPerSecond node = gigabytes_per_second(constants.staged_node) / static_cast<double>(crossing.groups);
  const bool measured = cluster.inter->pair.base() > 0;
  const BytesPerSecond pair = measured ? card.one : std::min(card.one, gigabytes_per_second(kStagedPair));
  const BytesPerSecond each = pair * constants.staged_duplex;
  const BytesPerSecond group = std::min(each * static_cast<double>(crossing.local), node);
  return {std::min(group, group_share(crossing, cluster, card_peak(cluster))),
          std::min({pair, node, message_share(crossing, cluster, card_peak(cluster))})};
}

int switches_more(const Cluster::Inter& inter, int nodes) {
  if (inter.leaf_nodes == 0 || nodes <= inter.leaf_nodes) return 0;
  const double two_tiers = static_cast<double>(inter.leaf_nodes) * inter.leaf_nodes;
  return nodes <= two_tiers ? 2 : 2 + 2;
}

std::vector<NetworkWay> network_ways(const Collective& call, const Cluster& cluster,
                                     const NetworkConstants& constants) {
  const WayWriter writer(call, cluster, constants);
  const bool messages = call.op == CollectiveOp::send_recv || call.op == CollectiveOp::all_to_all;
  return messages ? writer.point_to_point() : writer.collective();
}

double congestion_width(const Cluster::Inter& inter, int nodes) {
  if (nodes <= 1) return 0;
  const double grown = std::min(1.0, std::log2(nodes) / kCongestionDoublings);
  return std::log2(inter.congestion.value_or(kCongestion)) * grown;
}

}  // namespace tilecast
