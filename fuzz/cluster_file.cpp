#include "cluster/cluster_file.h"

#include <cmath>

#include "cluster/expert_exchange.h"
#include "cluster/registry.h"
#include "targets.h"

namespace tilecast {

namespace {

// What `--cluster` may say, but for files.
std::string check_argument(std::string_view input) {
  if (input.size() > 64 || input.find('/') != std::string_view::npos || input.ends_with(".json") ||
      input.find(".json:") != std::string_view::npos)
    return "";
  const auto cluster = cluster_of(std::string(input), 16);
  if (!cluster) return cluster.error().line().empty() ? "an error without a text" : "";
  return cluster->gpus() >= 16 ? "" : "a cluster of fewer GPUs than are needed";
}

std::string check_forecast(const Result<CollectiveForecast>& forecast) {
  if (!forecast) return forecast.error().line().empty() ? "an error without a text" : "";
  if (!std::isfinite(forecast->latency.base())) return "the forecast is not finite";
  return forecast->latency < forecast->bound ? "the forecast is below the bound" : "";
}

}  // namespace

std::string fuzz_cluster_file(std::string_view input) {
  if (std::string problem = check_argument(input); !problem.empty()) return problem;
  const auto cluster = parse_cluster(input, "fuzz.json", built_in_cluster_text);
  if (!cluster) return cluster.error().line().empty() ? "an error without a text" : "";
  for (std::size_t op = 0; op < kCollectiveNames.size(); ++op) {
    Collective call;
    call.op = static_cast<CollectiveOp>(op);
    call.bytes = mebibytes(1);
    call.ranks = call.op == CollectiveOp::send_recv ? std::min(2, cluster->gpus()) : cluster->gpus();
    const auto forecast = forecast_collective(call, *cluster, shipped_comm_constants());
    if (!forecast) return "a cluster that was accepted has no forecast: " + forecast.error().line();
    if (std::string problem = check_forecast(forecast); !problem.empty()) return problem;
    call.local = 1;
    call.ranks = std::min(2, cluster->nodes);
    if (std::string problem = check_forecast(forecast_collective(call, *cluster, shipped_comm_constants()));
        !problem.empty())
      return problem;
  }
  ExpertExchange exchange;
  exchange.ranks = cluster->gpus();
  return check_forecast(forecast_exchange(exchange, *cluster, shipped_comm_constants()));
}

}  // namespace tilecast
