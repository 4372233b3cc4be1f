// Reading, checking and writing cluster descriptions (docs/clusters.md). A file gives every field, or says
// `"like": "HGX-H100-8"` and overrides some.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cluster/cluster.h"
#include "tilecast/result.h"

namespace tilecast {

// Finds the JSON text of the cluster a file says it is like.
using ClusterTextLookup = std::function<Result<std::string>(std::string_view name)>;

// `place` names the input in errors.
Result<Cluster> parse_cluster(std::string_view json_text, const std::string& place, const ClusterTextLookup& like);

// As a file that reads back as the same cluster. A GPU of a user's own file is written by its name alone.
std::string cluster_json(const Cluster& cluster);

}  // namespace tilecast
