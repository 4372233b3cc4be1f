#include "serve/warped_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tilecast {
namespace {

// Of one replica's part of a step, its kernels taking so many times as long: what step_spent() makes of it.
double step_time(const StepRecord& step, const PoolOptions& pool, double factor) {
  const HostTimes& host = pool.host;
  const bool graph = step.prompt_tokens == 0 || host.graphs_for_prompts;
  const Count tokens = step.prompt_tokens + step.decodes * (1 + pool.limits.speculation.draft);
  const bool launched = !graph || captured_size(host.graphs, tokens) == 0;
  const double kernels = factor * static_cast<double>(step.gpu);
  const double launches = launched ? (host.per_launch * static_cast<double>(pool.launches)).base() : 0;
  return std::max(std::max(kernels, launches) + host.gap.base(), between_steps(host, step.running).base());
}

// Where a time of the run comes to lie: straight within a step and between two.
class TimeWarp {
 public:
  void add(double start, double end, double time) {
    if (from_.empty()) from_.push_back(start), to_.push_back(start);
    const double idle = std::max(0.0, start - from_.back());
    if (idle > 0) from_.push_back(start), to_.push_back(to_.back() + idle);
    from_.push_back(end), to_.push_back(to_.back() + time);
  }
  Seconds operator()(Seconds time) const {
    const double t = time.base();
    const auto after = std::upper_bound(from_.begin(), from_.end(), t);
    if (after == from_.begin()) return time;
    if (after == from_.end()) return seconds(to_.back() + (t - from_.back()));
    const auto i = static_cast<std::size_t>(after - from_.begin());
    const double share = (t - from_[i - 1]) / (from_[i] - from_[i - 1]);
    return seconds(to_[i - 1] + share * (to_[i] - to_[i - 1]));
  }

 private:
  std::vector<double> from_, to_;
};

bool plain(const PoolOptions& pool) { return pool.stages == 1 && pool.abreast == pool.gpus && pool.host.overlapped; }

bool of_this_kind(const ServingOutcome& outcome, const SimulationOptions& o) {
  return o.concurrency > 0 && plain(o.pool) && (!o.prefill || plain(*o.prefill)) && !o.autoscale &&
         !o.first_token_timeout && !o.total_timeout && outcome.gap_count == 0 && !outcome.steps.empty() &&
         std::none_of(outcome.steps.begin(), outcome.steps.end(), [](const StepRecord& s) { return s.steps > 1; });
}

// Steps of replicas that run together, whose records follow each other: how long they took, and how long they would.
struct JointStep {
  double start = 0, end = 0, before = 0, now = 0;
};
template <class Factor>
std::vector<JointStep> joint_steps(const ServingOutcome& outcome, const SimulationOptions& o, Factor factor) {
  std::vector<JointStep> joint;
  for (std::size_t i = 0; i < outcome.steps.size();) {
    const StepRecord& first = outcome.steps[i];
    const bool prompts = first.replica >= o.pool.replicas;
    const PoolOptions& pool = prompts ? *o.prefill : o.pool;
    const auto group = [&](const StepRecord& s) {
      return (s.replica - (prompts ? o.pool.replicas : 0)) / pool.in_step;
    };
    JointStep step{first.start.base(), first.end.base()};
    for (; i < outcome.steps.size(); ++i) {
      const StepRecord& s = outcome.steps[i];
      if (s.start != first.start || (s.replica >= o.pool.replicas) != prompts || group(s) != group(first)) break;
      step.before = std::max(step.before, step_time(s, pool, 1));
      step.now = std::max(step.now, step_time(s, pool, factor(s)));
    }
    joint.push_back(step);
  }
  return joint;
}

}  // namespace

std::optional<ServingOutcome> warped(const ServingOutcome& outcome, const SimulationOptions& o,
                                     const StepWidths& widths, bool slow) {
  constexpr double kKnown = 0.01;  // of the steps' time may be what is not known of here
  if (!of_this_kind(outcome, o)) return std::nullopt;
  const auto factor = [&](const StepRecord& s) {
    const StepWidth& width = s.prompt_tokens > 0 ? widths.prompts : widths.answers;
    return slow ? width.high : width.low;
  };
  const std::vector<JointStep> steps = joint_steps(outcome, o, factor);
  double took = 0, known = 0, now = 0;
  for (const JointStep& s : steps) {
    took += s.end - s.start, known += s.before;
    now += (s.end - s.start) * s.now / s.before;
  }
  if (std::abs(known / took - 1) > kKnown) return std::nullopt;
  TimeWarp warp;
  if (!o.prefill && o.pool.replicas == o.pool.in_step)
    for (const JointStep& s : steps) warp.add(s.start, s.end, (s.end - s.start) * s.now / s.before);
  else warp.add(outcome.begin.base(), outcome.end.base(), (outcome.end - outcome.begin).base() * now / took);
  ServingOutcome result = outcome;
  result.busy = {};
  for (StepRecord& step : result.steps) {
    const auto by = static_cast<float>(factor(step));
    step.start = warp(step.start), step.end = warp(step.end);
    step.gpu *= by, step.joules *= by;
    result.busy += seconds(static_cast<double>(step.gpu));
  }
  for (RequestRecord& r : result.requests)
    for (Seconds RequestRecord::*time :
         {&RequestRecord::sent, &RequestRecord::scheduled, &RequestRecord::first, &RequestRecord::last})
      r.*time = warp(r.*time);
  result.begin = warp(result.begin), result.end = warp(result.end);
  return result;
}

}  // namespace tilecast
