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
  } intra;

  // PCIe: what GPUs below different host bridges share.
  struct HostBridge {
    int gpus = 0;  // below one bridge
    BytesPerSecond bandwidth;
  };
  std::optional<HostBridge> host_bridge;

  struct Inter {
    std::string kind;          // "infiniband" or "roce"
    BytesPerSecond bandwidth;  // of a GPU; a node has gpus_per_node times as much
    Seconds latency;
    int rails = 0;  // network cards of a node
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
