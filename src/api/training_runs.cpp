#include "api/training_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cluster/registry.h"
#include "constants/cluster.h"
#include "engine/memory.h"
#include "model/library.h"
#include "parallel/training_run.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86'400, kJoulesOfMegawattHour = 3.6e9;

Reliability reliability_of(const PlanTrainQuery& q, int gpus) {
  Reliability r;
  r.gpu_failure = seconds(kHour * q.gpu_mtbf.value_or(kGpuFailure));
  r.restart = seconds(kMinute * q.restart.value_or(kRestart));
  r.storage = gigabytes_per_second(q.storage.value_or(kStorageOfGpu * gpus));
  r.interval = seconds(kMinute * q.checkpoint_interval.value_or(0));
  return r;
}

const ModelSpec& spec_of(const TrainingQuery& query) { return std::get<ModelSpec>(query.run.model); }

}  // namespace

TrainingRun whole_run(const PlanTrainQuery& q, const TrainingQuery& query, const PlannedLayout& layout,
                      std::optional<double> usd_per_gpu_hour) {
  TrainingRun run;
  const double step_tokens = real(query.run.workload.tokens());
  run.steps = std::ceil(q.tokens / step_tokens);
  run.checkpoint =
      checkpoint_bytes(query.run.training.optimizer, real(parameters(spec_of(query))), query.run.engine.precision);
  const Seconds undisturbed = seconds(q.tokens / layout.tokens_per_second);
  const RunTime time = run_time(undisturbed, query.gpus, run.checkpoint, reliability_of(q, query.gpus));
  run.days = time.total.base() / kDay, run.undisturbed_days = undisturbed.base() / kDay;
  run.low_days = run.days * (layout.interval.low / layout.step);
  run.high_days = run.days * (layout.interval.high / layout.step);
  run.goodput = time.goodput, run.failures = time.failures;
  run.hours_between_failures = time.between_failures.base() / kHour;
  run.checkpoint_time = time.checkpoint, run.checkpoint_minutes = time.interval.base() / kMinute;
  run.gpu_hours = run.days * 24 * query.gpus;
  if (usd_per_gpu_hour) run.usd = run.gpu_hours * *usd_per_gpu_hour;
  // Work that is done again draws as much; what a run draws while it saves and starts is taken to be the same.
  if (layout.joules) run.megawatt_hours = *layout.joules * (time.total / layout.step) / kJoulesOfMegawattHour;
  return run;
}

std::vector<int> gpu_numbers(int gpus_per_node, int most) {
  std::vector<int> all;
  for (int power = 1; power * gpus_per_node <= most; power *= 2) {
    all.push_back(power * gpus_per_node);
    if (power > 1 && power * 3 / 2 * gpus_per_node <= most) all.push_back(power * 3 / 2 * gpus_per_node);
  }
  return all;
}

Result<TrainingQuery> on_gpus(const TrainingQuery& query, int gpus) {
  TrainingQuery other = query;
  const int node = query.cluster.gpus_per_node;
  if (gpus > node && gpus % node != 0)
    return field_error("gpus", fmt::format("{} do not fill nodes of {}", gpus, node), "give whole nodes");
  if (gpus < node) other.cluster.gpus_per_node = gpus;
  other.cluster.nodes = std::max(1, gpus / node);
  if (other.cluster.nodes > 1 && !other.cluster.inter)
    return field_error("gpus", query.cluster.name + " has no network between nodes", "describe one (docs/clusters.md)");
  other.gpus = gpus;
  return other;
}

namespace {

Result<ScalingPoint> point_of(const PlanTrainQuery& q, const TrainingQuery& query, const StepPricing& with) {
  ScalingPoint point;
  point.gpus = query.gpus, point.global_batch = query.run.workload.sequences();
  if (candidate_layouts(query).empty()) return point;
  const auto plan = plan_training(query, with);
  if (!plan) return plan.error();
  if (plan->ranked.empty()) return point;
  const PlannedLayout& best = plan->ranked.front();
  point.layout = text_of(best.run.layout);
  point.tokens_per_second = best.tokens_per_second, point.utilisation = best.utilisation;
  const TrainingRun whole = whole_run(q, query, best, {});
  point.days = whole.days, point.low_days = whole.low_days, point.high_days = whole.high_days;
  return point;
}

}  // namespace

Result<Scaling> scaling_of(const PlanTrainQuery& q, const TrainingQuery& query, const StepPricing& with,
                           const Watch& progress) {
  constexpr std::array kFactors = {0.25, 0.5, 1.0, 2.0, 4.0};
  Scaling scaling;
  double done = 0;
  for (const double factor : kFactors) {
    if (!progress.go_on(done++ / kFactors.size())) return stopped();
    const auto gpus = static_cast<int>(factor * query.gpus);
    if (gpus < 1) continue;
    const auto other = on_gpus(query, gpus);
    if (!other) continue;  // no whole nodes
    auto strong = point_of(q, *other, with);
    if (!strong) return std::move(strong).error();
    scaling.strong.push_back(*std::move(strong));
    TrainingQuery grown = *other;
    Count& batch = grown.run.workload.requests.front().count;
    batch = std::max<Count>(1, std::llround(factor * static_cast<double>(batch)));
    auto weak = point_of(q, grown, with);
    if (!weak) return std::move(weak).error();
    scaling.weak.push_back(*std::move(weak));
  }
  return scaling;
}

}  // namespace tilecast
