#include "measure/outcome.h"

#include <algorithm>
#include <map>

#include "estimate/bound.h"
#include "estimate/physics.h"
#include "gpu/registry.h"
#include "support/workers.h"

namespace tilecast {
namespace {

Regime regime_of(const Estimate& estimate, Resource limit, Seconds floor) {
  if (floor > estimate.bound) return Regime::launch;
  return limit == Resource::dram || limit == Resource::l2 ? Regime::memory : Regime::compute;
}

// The launch that bounds most: the one worth comparing with a measurement's.
std::size_t main_launch(const Estimate& estimate) {
  std::size_t main = 0;
  for (std::size_t i = 1; i < estimate.launches.size(); ++i)
    if (estimate.launches[i].bound > estimate.launches[main].bound) main = i;
  return main;
}

}  // namespace

Outcome outcome_of(const Plan& plan, const Estimate& e, const Gpu& gpu, Runtime runtime) {
  Outcome outcome;
  const std::size_t main = main_launch(e);
  const Launch& launch = plan.launches[main];
  outcome.forecast = e.latency;
  outcome.bound = e.bound;
  outcome.low = e.interval.low;
  outcome.high = e.interval.high;
  outcome.limit = largest_resource(e.launches[main].at_peak);
  outcome.regime = regime_of(e, outcome.limit, launch_floor(default_physics(gpu), launch, runtime));
  outcome.ctas = launch.ctas;
  outcome.tile_m = launch.tile.m;
  outcome.tile_n = launch.tile.n;
  outcome.split = launch.split;
  return outcome;
}

Outcome forecast_row(const Measurement& row, const Gpu& gpu, Method method) {
  const Context context = row.whole_context();
  const auto planned = plan(row.kernel, gpu, context);
  if (!planned || planned->launches.empty()) {
    Outcome failed;
    failed.failed = true;
    return failed;
  }
  return outcome_of(*planned, estimate(*planned, gpu, context, method), gpu, context.runtime);
}

Result<std::vector<Outcome>> forecast_rows(const std::vector<Measurement>& rows, Method method, int threads) {
  std::map<std::string_view, Gpu> gpus;
  for (const Measurement& row : rows) {
    if (gpus.contains(row.gpu)) continue;
    auto found = find_gpu(row.gpu);
    if (!found) return std::move(found).error().at(row.place());
    gpus.emplace(row.gpu, *std::move(found));
  }
  std::vector<Outcome> outcomes(rows.size());
  // Rows differ in cost a hundredfold: threads take small batches. Each row's outcome has its own place.
  constexpr std::size_t kBatch = 64;
  Workers workers(threads);
  parallel_for(workers, {rows.size(), kBatch},
               [&](std::size_t i) { outcomes[i] = forecast_row(rows[i], gpus.find(rows[i].gpu)->second, method); });
  return outcomes;
}

}  // namespace tilecast
