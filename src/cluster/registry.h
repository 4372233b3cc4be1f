// The clusters Tilecast knows by name (data/clusters, embedded in the binary), and the way from what a user calls
// a cluster to a Cluster.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "tilecast/result.h"

namespace tilecast {

// In the order of their names. Parsed once, thread-safe.
const std::vector<Cluster>& built_in_clusters();

// A built-in cluster of this GPU (its exact name), the largest node first; null where there is none.
const Cluster* built_in_cluster_of(std::string_view gpu);

// A node of this GPU: the largest that is known of it or of a module that stands on the same board; else a plain one,
// eight of them over PCIe or, of modules, over the links that they have.
Cluster node_of(const Gpu& gpu);
// That a node is a plain one, which nobody described; empty where it was described.
std::string plain_node_note(const Cluster& node);

// By name or alias; case and punctuation are forgiven. A miss suggests the nearest names.
Result<Cluster> find_cluster(std::string_view name);

// A name, the path of a description file (anything with a '/' or ending in .json), or the description's JSON text.
Result<Cluster> load_cluster(const std::string& name_or_path);

// What a query's `cluster` says, with as many GPUs as a layout needs (0: as described):
//   hgx-h100      a built-in cluster, grown to as many nodes as are needed
//   hgx-h100:8    of exactly eight nodes; so too a file, ours.json:8
//   64xH100       that many GPUs (also 64×H100): nodes of the built-in cluster that has them
//   ours.json     a file, as it is
//   any @hdr200   with another fabric between its nodes (cluster/fabric.h): hgx-h100:8@hdr200, 64xH100@efa-v2
Result<Cluster> cluster_of(const std::string& text, int gpus_needed = 0);

Result<std::string> built_in_cluster_text(std::string_view name);

}  // namespace tilecast
