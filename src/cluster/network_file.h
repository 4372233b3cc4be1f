// The network of a cluster description, `inter`: reading, writing, and laying a named fabric under it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "support/json_fields.h"

namespace tilecast {

// The fields that `inter` may have.
std::vector<std::string> inter_fields();

// Reads `inter`, which is there.
Cluster::Inter read_inter(JsonFields& read);
nlohmann::ordered_json inter_json(const Cluster::Inter& inter);

// Whether cards reach GPUs' memory where nobody says: sockets copy through the host, and so does a pair below what any
// card with RDMA carries.
bool usual_gpudirect(const Cluster::Inter& inter);

// Whether `inter` names a fabric, and the description with that fabric's fields where `inter` has none of its own.
bool names_fabric(const nlohmann::json& description);
Status lay_fabric(nlohmann::json& description, const std::string& place);

// Bandwidths and latencies of no more than a millisecond: a zero would make GPUs unreachable or free.
BytesPerSecond read_rate(JsonFields& read, const std::string& path);
Seconds read_latency(JsonFields& read, const std::string& path);
bool read_flag(JsonFields& read, const std::string& path, bool otherwise);
// Values are held in seconds and bytes a second: twelve digits are more than a file has, and fewer than rounding adds.
double written_figure(double value);

}  // namespace tilecast
