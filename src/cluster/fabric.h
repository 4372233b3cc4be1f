// Networks that Tilecast knows by name (data/fabrics, embedded in the binary), for clusters whose own is another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "tilecast/result.h"

namespace tilecast {

struct Fabric {
  std::string name;
  std::vector<std::string> aliases;
  std::string inter;  // JSON text of a cluster's `inter`, with GPUs of a card in place of cards of a node
  std::vector<std::string> notes;
  std::map<std::string, std::string> sources;
};

// In the order of their names. Parsed once, thread-safe.
const std::vector<Fabric>& built_in_fabrics();

// By name or alias; case and punctuation are forgiven. A miss suggests the nearest names.
Result<const Fabric*> find_fabric(std::string_view name);

// The cluster with this fabric between its nodes.
Result<Cluster> with_fabric(Cluster cluster, std::string_view fabric);

// The network about which only one pair's bandwidth is known, of the cluster's own kind: a pair below what a 100 Gb/s
// card carries has no GPUDirect.
Cluster with_pair(Cluster cluster, BytesPerSecond pair);

}  // namespace tilecast
