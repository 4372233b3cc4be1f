// GPUs and the links between them: an immutable value, as a GPU is. All rates are peaks of one direction.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"
#include "tilecast/units.h"

namespace tilecast {

inline constexpr std::size_t kMostClusterFile = 1 << 20;  // bytes of a description or of prices

enum class LinkKind : std::uint8_t {
  nvlink_switch,  // every GPU reaches every other at its full rate
  nvlink_mesh,    // a GPU's links are shared out among its peers
  pcie            // switches and host bridges
};
inline constexpr std::array<std::string_view, 3> kLinkKindNames = {"nvlink-switch", "nvlink-mesh", "pcie"};
constexpr std::string_view name_of(LinkKind k) { return kLinkKindNames[static_cast<std::size_t>(k)]; }

// InfiniBand, RDMA over Ethernet, Amazon's and HPE's fabrics, plain sockets.
inline constexpr std::array<std::string_view, 5> kNetworkKinds = {"infiniband", "roce", "efa", "slingshot", "ethernet"};

struct Cluster {
  std::string name;
  std::vector<std::string> aliases;
  Gpu gpu;
  int gpus_per_node = 0;  // GPUs that `intra` joins: a server, or a rack of NVL72
  int nodes = 1;

  struct {
    LinkKind kind = LinkKind::nvlink_switch;
    BytesPerSecond bandwidth;  // of a GPU
    Seconds latency;           // of one hop
    bool nvls = false;         // the switch reduces and multicasts
    bool peers = true;         // PCIe: GPUs read each other's memory; else data passes through the host's
  } intra;

  // PCIe: what GPUs below different host bridges share.
  struct HostBridge {
    int gpus = 0;  // below one bridge
    BytesPerSecond bandwidth;
  };
  std::optional<HostBridge> host_bridge;

  struct Inter {
    std::string kind;          // one of kNetworkKinds
    BytesPerSecond bandwidth;  // of a GPU; a node has gpus_per_node times as much
    Seconds latency;           // between nodes below one switch
    int rails = 0;             // network cards of a node

    int leaf_nodes = 0;                     // nodes below one switch; 0: all of them
    Seconds hop = {};                       // that each further switch on the way adds
    double oversubscription = 1;            // what the nodes below a switch can send, over what leaves it upwards
    bool sharp = false;                     // the switches add
    bool gpudirect = true;                  // cards reach GPUs' memory; else data passes through the hosts'
    bool low_latency = true;                // NCCL's LL and LL128 work over it
    BytesPerSecond pair = {};               // what one pair of GPUs was measured to get; 0: nobody measured
    std::optional<double> congestion = {};  // by which slow calls take longer than usual ones
    std::string measured_as = {};           // a network that was measured, whose departures from physics it has
  };
  std::optional<Inter> inter;

  std::vector<std::string> notes;
  std::map<std::string, std::string> sources;  // field -> where the figure comes from

  int gpus() const { return gpus_per_node * nodes; }
  // Between two GPUs of a node.
  BytesPerSecond pair_bandwidth() const {
    const bool shared = intra.kind == LinkKind::nvlink_mesh && gpus_per_node > 2;
    return shared ? intra.bandwidth / static_cast<double>(gpus_per_node - 1) : intra.bandwidth;
  }
};

}  // namespace tilecast
