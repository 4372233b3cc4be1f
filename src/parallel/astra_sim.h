// What ASTRA-sim wants beside the traces: the network of a cluster, its own settings, and the command (docs/chakra.md).
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "parallel/step_trace.h"

namespace tilecast {

struct NamedText {
  std::string name, text;  // a file's name and content
};

// One dimension of ASTRA-sim's analytical networks, the innermost first.
struct NetworkDimension {
  std::string topology;  // "Switch" or "FullyConnected"
  int npus = 1;
  double gb_per_s = 0, latency_ns = 0;  // of a link
};
// The links that `ranks` GPUs of the cluster share, in the order of ranks. A node's dimension is cut in two of equal
// links where some rank is in several groups: one dimension makes ASTRA-sim abort then.
std::vector<NetworkDimension> network_dimensions(const Cluster& cluster, int ranks, const CommGroups& groups);

// network.yml, system.json, memory.json and run.sh, for traces named `prefix`.
std::vector<NamedText> astra_sim_files(const Cluster& cluster, int ranks, const CommGroups& groups,
                                       const std::string& prefix);

}  // namespace tilecast
