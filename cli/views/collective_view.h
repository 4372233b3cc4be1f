// Views of collectives and clusters; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "tilecast/collective.h"

namespace tilecast {

// A line per forecast.
std::string collective_table(const std::vector<CollectiveAnswer>& answers);
std::string clusters_table(const std::vector<ClusterInfo>& clusters);

}  // namespace tilecast
