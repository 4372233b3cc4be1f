// Collectives between nodes. Steps and shares of NCCL's ways are its own cost model's; what a network reaches of its
// data sheet was fitted (data/collectives, lines "network"), and the values here are what that fit starts from and is
// held to where no row speaks.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kNccl220 = "NCCL 2.20.3 src/graph/tuning.cc (commit b647562)";
inline constexpr std::string_view kRccl = "RCCL src/graph/tuning.cc (commit 0023b9b)";
inline constexpr std::string_view kNetworkPrior =
    "a judgement, where data/collectives/constants.txt has no fitted one; `tilecast-lab collectives --fit` starts from it";
}  // namespace sources

struct ProtocolConstants {
  const char* name;
  Number base, net, nvlink, pcie, share;
};
struct ProtocolFigures {
  double base, net, nvlink, pcie, share;
};
constexpr ProtocolConstants protocol_constants(const char* name, const ProtocolFigures& f,
                                               std::string_view source = sources::kNccl220) {
  return {
      name,
      Number{"collective.protocol.base", f.base, "us", published, "start of a call", source, "", name},
      Number{"collective.protocol.net", f.net, "us", published, "a hop between nodes", source, "", name},
      Number{"collective.protocol.nvlink", f.nvlink, "us", published,
             "an NVLink hop where nodes are crossed, at least the 1 us of posting to the network", source, "", name},
      Number{"collective.protocol.pcie", f.pcie, "us", published, "a PCIe hop where nodes are crossed", source, "",
             name},
      Number{"collective.protocol.share", f.share, "1", published, "of the network that is not flags or waiting",
             source, "", name}};
}
// LL sends a flag of four bytes with every four of data.
// clang-format off
inline constexpr std::array<ProtocolConstants, 3> kRingProtocols = {
    protocol_constants("ring LL", {.base = 6.6, .net = 2.7, .nvlink = 1.0, .pcie = 1.0, .share = 0.5}),
    protocol_constants("ring LL128", {.base = 14.0, .net = 4.0, .nvlink = 1.9, .pcie = 2.5, .share = 0.92}),
    protocol_constants("ring Simple", {.base = 8.4, .net = 14.0, .nvlink = 3.4, .pcie = 5.7, .share = 1.0})};
inline constexpr std::array<ProtocolConstants, 3> kTreeProtocols = {
    protocol_constants("tree LL", {.base = 6.8, .net = 5.0, .nvlink = 0.6, .pcie = 1.0, .share = 0.92 * 0.5}),
    protocol_constants("tree LL128", {.base = 14.0, .net = 8.5, .nvlink = 1.25, .pcie = 1.9, .share = 0.92 * 0.9375}),
    protocol_constants("tree Simple", {.base = 0, .net = 28, .nvlink = 28, .pcie = 28, .share = 0.92})};
inline constexpr ProtocolConstants kNvlsTree =
    protocol_constants("NVLS tree", {.base = 0, .net = 14, .nvlink = 23, .pcie = 0, .share = 5.0 / 6});
inline constexpr ProtocolConstants kCollnet =
    protocol_constants("collnet", {.base = 0, .net = 31, .nvlink = 3.7, .pcie = 3.7, .share = 0.85});
// AMD's fork without LL128: what it calls NVLink is Infinity Fabric (LL takes 1.8 times as long across nodes).
inline constexpr std::array<ProtocolConstants, 2> kRcclRings = {
    protocol_constants("RCCL ring LL", {.base = 20.5, .net = 2.0, .nvlink = 2.3 * 1.8, .pcie = 1.3 * 1.8, .share = 0.5}, sources::kRccl),
    protocol_constants("RCCL ring Simple", {.base = 27.9, .net = 4.5, .nvlink = 2.7, .pcie = 1.9, .share = 1.0}, sources::kRccl)};
inline constexpr std::array<ProtocolConstants, 2> kRcclTrees = {
    protocol_constants("RCCL tree LL", {.base = 37.9, .net = 9.8, .nvlink = 1.2 * 1.8, .pcie = 2.2 * 1.8, .share = 0.27 / 2.3}, sources::kRccl),
    protocol_constants("RCCL tree Simple", {.base = 40.4, .net = 19.5, .nvlink = 3.8, .pcie = 5.7, .share = 0.27}, sources::kRccl)};
// clang-format on
inline constexpr Number kLl128AloneShare{
    "collective.ll128_alone_share", 0.7, "1", published, "of the links with one rank a node", sources::kNccl220};
inline constexpr Number kTreePairPasses{"collective.tree_pair_passes",
                                        1,
                                        "1",
                                        published,
                                        "of the bytes through a node's cards by a double tree over two nodes",
                                        "each node is the root of one of the two trees, of half the bytes"};
inline constexpr Number kTreePasses{"collective.tree_passes",
                                    2,
                                    "1",
                                    published,
                                    "the same over more nodes",
                                    "a node is a leaf of one tree and has two children in the other"};

inline constexpr Number kNetworkShare{"network.share",
                                      0.95,
                                      "1",
                                      assumed,
                                      "of a network card's line rate that collectives reach",
                                      "0.93 to 0.98 on xxrjun's ten nodes, if their cards are of 400 Gb/s"};
inline constexpr Number kConnectionRate{
    "network.connection",  400, "GB/s", assumed, "at which a message's chunks are handed on beside the wire",
    sources::kNetworkPrior};
inline constexpr Number kStagedPair{"network.staged_pair",
                                    8,
                                    "GB/s",
                                    assumed,
                                    "between two GPUs whose data passes through the hosts' memory",
                                    "no such fabric states it; sockets and cards without GPUDirect"};
inline constexpr Number kStagedNode{"network.staged_node",
                                    12,
                                    "GB/s",
                                    assumed,
                                    "of a node whose data passes through the host's memory",
                                    "about a PCIe 3.0 x16 link or a 100 Gb/s card"};
inline constexpr Number kStagedDuplex{
    "network.staged_duplex", 0.75, "1", assumed, "of a pair's rate while the host copies both ways",
    sources::kNetworkPrior};
inline constexpr Number kStagedStep{
    "network.staged_step", 15, "us", assumed, "that each hop takes longer through the hosts' memory",
    sources::kNetworkPrior};
inline constexpr Number kLeastDirectPair{"network.least_direct_pair",
                                         11.25,
                                         "GB/s",
                                         assumed,
                                         "a measured pair below it has no GPUDirect: nine tenths of a 100 Gb/s card",
                                         "nothing slower is sold for it"};

inline constexpr Number kCongestion{
    "network.congestion",
    1.8,
    "1",
    measured,
    "by which an interval reaches farther either way over four or more nodes",
    "5 to 95 % bands of the Ultra-Scale playbook's cluster (2 to 64 nodes): 80 % of calls within 1.2 over two nodes"};
inline constexpr Number kCongestionDoublings{"network.congestion_doublings",
                                             2,
                                             "doublings",
                                             measured,
                                             "of the nodes over which it grows to that",
                                             "the same bands: they widen up to four nodes and no further"};

}  // namespace tilecast::constants
