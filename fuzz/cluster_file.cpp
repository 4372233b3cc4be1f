#include "cluster/cluster_file.h"

#include <cmath>

#include "cluster/collective.h"
#include "cluster/registry.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_cluster_file(std::string_view input) {
  const auto cluster = parse_cluster(input, "fuzz.json", built_in_cluster_text);
  if (!cluster) return cluster.error().line().empty() ? "an error without a text" : "";
  for (std::size_t op = 0; op < kCollectiveNames.size(); ++op) {
    Collective call;
    call.op = static_cast<CollectiveOp>(op);
    call.bytes = mebibytes(1);
    call.ranks = call.op == CollectiveOp::send_recv ? std::min(2, cluster->gpus()) : cluster->gpus();
    const auto forecast = forecast_collective(call, *cluster, shipped_comm_constants());
    if (!forecast) return "a cluster that was accepted has no forecast: " + forecast.error().line();
    if (!std::isfinite(forecast->latency.base())) return "the forecast is not finite";
    if (forecast->latency < forecast->bound) return "the forecast is below the bound";
  }
  return "";
}

}  // namespace tilecast
