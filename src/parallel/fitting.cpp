#include "parallel/fitting.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/recomputation.h"

namespace tilecast {
namespace {

struct Change {
  std::string what;
  ParallelRun run;
};

void add_batches(std::vector<Change>& changes, const ParallelRun& run) {
  const auto batches = batches_of(run);
  if (!batches) return;
  for (Count micro = batches->each.sequences() / 2; micro >= 1; micro /= 2) {
    ParallelRun smaller = run;
    smaller.micro_batch = micro;
    changes.push_back({fmt::format("micro-batch {}", micro), std::move(smaller)});
  }
}

void add_state(std::vector<Change>& changes, const ParallelRun& run) {
  std::vector<Recomputation> ways = {Recompute::selective, Recompute::operators, Recompute::alternate, Recompute::full};
  if (const auto* spec = std::get_if<ModelSpec>(&run.run.model)) ways.push_back(light_recomputation(*spec));
  for (const Recomputation& recompute : ways) {
    if (recompute == run.run.training.options.recompute) continue;
    ParallelRun again = run;
    again.run.training.options.recompute = recompute;
    changes.push_back({"recompute " + text_of(recompute), std::move(again)});
  }
  for (const Sharding sharding : {Sharding::optimizer, Sharding::gradients, Sharding::parameters}) {
    if (sharding <= run.layout.sharding || run.layout.replicas() == 1) continue;
    ParallelRun sharded = run;
    sharded.layout.sharding = sharding;
    changes.push_back({fmt::format("sharding {}", name_of(sharding)), std::move(sharded)});
  }
  if (offloads_optimizer(run.run.training.offload)) return;
  ParallelRun offloaded = run;
  offloaded.run.training.offload = offloads_activations(run.run.training.offload) ? Offload::both : Offload::optimizer;
  changes.push_back({fmt::format("offload {}", name_of(offloaded.run.training.offload)), std::move(offloaded)});
}

void add_layouts(std::vector<Change>& changes, const ParallelRun& run) {
  for (int times = 2; times <= run.layout.dp; times *= 2) {
    if (run.layout.dp % times != 0) continue;
    for (const bool tensor : {true, false}) {
      ParallelRun wider = run;
      RankLayout& l = wider.layout;
      l.dp /= times;
      (tensor ? l.tp : l.pp) *= times;
      if (!tensor) l.stage_layers.clear();
      changes.push_back(
          {tensor ? fmt::format("tp {} and dp {}", l.tp, l.dp) : fmt::format("pp {} and dp {}", l.pp, l.dp),
           std::move(wider)});
    }
  }
}

}  // namespace

std::optional<FittingChange> change_that_fits(const ParallelRun& run, const Cluster& cluster, const StepPricing& with) {
  if (run.run.workload.mode != Mode::train) return {};
  std::vector<Change> changes;
  add_batches(changes, run);
  add_state(changes, run);
  add_layouts(changes, run);
  std::optional<FittingChange> best;
  for (Change& change : changes) {
    const auto forecast = forecast_parallel(change.run, cluster, with);  // what cannot run is no change
    if (!forecast || !forecast->fits() || (best && forecast->step >= best->step)) continue;
    Bytes memory;
    for (const StageForecast& stage : forecast->stages) memory = std::max(memory, stage.memory.total());
    best = FittingChange{std::move(change.what), std::move(change.run), forecast->step, memory};
  }
  return best;
}

}  // namespace tilecast
