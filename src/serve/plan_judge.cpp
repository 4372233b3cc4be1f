#include "serve/plan_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/step_parts.h"
#include "parallel/split.h"
#include "serve/warped_run.h"

namespace tilecast {

Result<PlanJudge::Simulated> PlanJudge::run(const PlannedDeployment& d, double rate, RunCare care) const {
  auto plan = plan_run(q_, d, rate, care);
  if (!plan) return std::move(plan).error();
  plan->simulation.keep_gaps = false;
  auto outcome = simulate(plan->requests, plan->simulation);
  if (!outcome) return std::move(outcome).error();
  return Simulated{*std::move(plan), *std::move(outcome)};
}

PlanJudge::Figures PlanJudge::figures_of(const Simulated& run) const {
  Figures f;
  f.metrics = metrics_of(run.plan, run.outcome, q_);
  f.meets = meets(f.metrics) && keeps_up(run.plan, f.metrics);
  return f;
}

Result<PlanJudge::Figures> PlanJudge::simulated(const PlannedDeployment& d, double rate) const {
  const auto run = this->run(d, rate, RunCare::probe);
  if (!run) return run.error();
  return figures_of(*run);
}

namespace {

Saturation saturation_of_plan(const ServeQuery& query, const PlannedDeployment& d, const SimulationOptions& options) {
  const Count block = d.pool.setup->pool.geometry.block_tokens;
  return saturation_of(
      options, [&](double rate) { return query.load(rate, block); }, d.rate);
}

}  // namespace

Saturation PlanJudge::saturation(const PlannedDeployment& d) const {
  return saturation_of_plan(q_, d, d.simulation(q_));
}
Saturation PlanJudge::saturation(const PlannedDeployment& d, const StepWidths& pace, bool slow) const {
  const ScaledOptions scaled(d.simulation(q_), pace, slow);
  return saturation_of_plan(q_, d, scaled.options());
}

namespace {

// A request that its client gave up has missed every objective: as many of them as the statistic leaves out.
bool few_gave_up(const ServingMetrics& m, Statistic statistic) {
  const double left_out = statistic == Statistic::median ? 0.5
                          : statistic == Statistic::p90  ? 0.1
                          : statistic == Statistic::p99  ? 0.01
                                                         : 0;
  return static_cast<double>(m.cancelled) <= left_out * static_cast<double>(m.cancelled + m.completed);
}

}  // namespace

bool PlanJudge::meets(const ServingMetrics& m) const {
  return m.refused == 0 && m.completed > 0 && few_gave_up(m, q_.statistic) && q_.margin_of(m) >= 0;
}

double PlanJudge::pace_that_saturates(const PlannedDeployment& d, const StepWidths& pace) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  constexpr double kFarAway = 2;  // from saturation: no pace that is worth thinking of reaches it
  if (d.in_flight > 0 || !d.most || d.most->limit == Limit::none) return kNever;
  const double most = d.most->rate;
  if (d.rate * kFarAway < most) return kNever;
  if (most * kFarAway < d.rate) return -kNever;
  return tilecast::pace_that_saturates(d.rate, d.rate > most ? saturation(d, pace, false).rate : most, most,
                                       d.rate > most ? most : saturation(d, pace, true).rate);
}

Result<PlanJudge::PacedRuns> PlanJudge::paced(const PlannedDeployment& d, const PlanRun& plan,
                                              const ServingEnds& ends) const {
  constexpr double kHalfway = 0.5, kNear = 3;  // ends of the interval away from saturation
  PacedRuns runs{{-1, 0, 1}, {ends.fast, *d.simulated, ends.slow}, pace_that_saturates(d, ends.pace)};
  // Queues near saturation bend away from their steps' pace: one point more.
  if (runs.breaks < kNear) {
    auto halfway = simulate_scaled(plan.requests, plan.simulation, part_of(ends.pace, kHalfway), true);
    if (!halfway) return std::move(halfway).error();
    runs.paces.insert(runs.paces.end() - 1, kHalfway);
    runs.at.insert(runs.at.end() - 1, metrics_of(plan, *halfway, q_));
  }
  // Runs show what steady states leave out: fewer answers than requests, clients that give up.
  for (std::size_t i = runs.at.size(); i-- > 1;)
    if (!keeps_up(plan, runs.at[i]) || !few_gave_up(runs.at[i], q_.statistic))
      runs.breaks = std::min(runs.breaks, runs.paces[i]);
  return runs;
}

// Of a class: its own times, which follow the pace as those of all requests do. Objectives of classes are missed
// together, so the least chance counts.
double PlanJudge::chance(const PacedRuns& runs, const ServingMetrics& forecast, const ServingEnds& ends) const {
  const bool median = q_.statistic == Statistic::median;
  const auto at = [&](const ServingMetrics& m, Summary ServingMetrics::*of) {
    return statistic_of(m.*of, q_.statistic).base();
  };
  const auto chance_within = [&](const Slo& slo, const Summary& ttft, const Summary& tpot, const Summary& e2el) {
    PacedLoad load{runs.paces, runs.breaks, {}};
    const auto add = [&](const std::optional<Seconds>& limit, Summary ServingMetrics::*of, const Summary& own,
                         const RequestShares& shares) {
      const double all = at(forecast, of);
      if (!limit || !(all > 0)) return;
      PacedFigure figure{limit->base(), {}, beside_pace(shares, median, ends)};
      for (const ServingMetrics& m : runs.at)
        figure.at.push_back(at(m, of) * statistic_of(own, q_.statistic).base() / all);
      load.figures.push_back(std::move(figure));
    };
    add(slo.ttft, &ServingMetrics::ttft, ttft, {1, 0});
    add(slo.tpot, &ServingMetrics::tpot, tpot, {0, 1});
    add(slo.e2el, &ServingMetrics::e2el, e2el,
        shares_of_request(at(forecast, &ServingMetrics::ttft), at(forecast, &ServingMetrics::e2el)));
    return chance_of(load);
  };
  double least = chance_within(q_.slo, forecast.ttft, forecast.tpot, forecast.e2el);
  for (std::size_t i = 0; i < std::min(q_.classes.size(), forecast.classes.size()); ++i) {
    const ClassMetrics& c = forecast.classes[i];
    least = std::min(least, chance_within(q_.classes[i].slo, c.ttft, c.tpot, c.e2el));
  }
  return least;
}

// Of the typical step that only decodes: most of the time of most runs.
Seen PlanJudge::seen(const PlannedDeployment& d) const {
  const DeploymentOptions o = options_of(q_, *d.pool.setup);
  Workload workload;
  workload.mode = Mode::decode;
  const Count batch = std::clamp<Count>(std::llround(d.simulated->mean_batch), 1, o.max_sequences);
  workload.requests = {{batch, 1, q_.mean_input() + q_.mean_output() / 2}};
  const Run run{o.spread ? rank_spec(o.model, o.spread->layout) : o.model, workload, o.engine, {}};
  const auto prepared = prepare(run);
  if (!prepared) return Seen::no;
  const auto step = forecast_step(prepared->program, o.gpu, workload.sequences(), method_, weights_);
  return step ? seen_of(prepared->program, *step) : Seen::no;
}

Status PlanJudge::judge(PlannedDeployment& d) const {
  if (!d.most && d.in_flight == 0) d.most = saturation(d);
  const auto run = this->run(d, d.rate, RunCare::shown);
  if (!run) return run.error();
  const PlanRun& plan = run->plan;
  Figures figures = figures_of(*run);
  d.simulated = std::move(figures.metrics), d.meets = figures.meets;
  if (d.simulated->completed == 0) return Ok{};
  const RunAgain again = [&](const StepWidths& pace, bool slow) -> Result<ServingOutcome> {
    if (auto same = warped(run->outcome, plan.simulation, pace, slow)) return *std::move(same);
    return simulate_scaled(plan.requests, plan.simulation, pace, slow);
  };
  auto ends = serving_ends(options_of(q_, *d.pool.setup), plan.requests, plan.simulation, run->outcome, q_.slo, method_,
                           weights_, 0, plan.counted, again);
  if (!ends) return std::move(ends).error();
  ends->fast = times(std::move(ends->fast), plan.shares), ends->slow = times(std::move(ends->slow), plan.shares);
  if (q_.any_objective()) {
    const auto runs = paced(d, plan, *ends);
    if (!runs) return runs.error();
    d.chance = chance(*runs, *d.simulated, *ends);
  } else {
    d.chance = 1;
  }
  ServingEnds whole = of_whole_run(*ends, *d.simulated);
  keep_to_patience(whole, plan.simulation);
  d.fast = std::move(whole.fast), d.slow = std::move(whole.slow);
  d.seen = seen(d);
  return Ok{};
}

void PlanJudge::add_interval(ParetoPoint& point, const PlannedDeployment& d) const {
  ServingOutcome typical;
  RequestRecord request;
  request.input = q_.mean_input(), request.output = q_.mean_output();
  typical.requests = {request};
  StepRecord step;
  step.decodes = static_cast<std::int32_t>(std::max<Count>(1, std::llround(d.steady.decoding)));
  step.end = seconds(d.steady.tpot.base());
  typical.steps = {step};
  const DeploymentOptions options = options_of(q_, *d.pool.setup);
  const StepWidth width = served_pace(step_widths(options, typical, method_, weights_), false).answers;
  ServingMetrics forecast;
  forecast.tpot.mean = d.steady.tpot.base();
  ServingEnds ends{forecast, forecast, options.spread ? RunKind::inference_over : RunKind::inference};
  ends.fast.tpot.mean *= width.low, ends.slow.tpot.mean *= width.high;
  const ServingEnds whole = of_whole_run(ends, forecast);
  point.low_per_user = 1 / whole.slow.tpot.mean, point.high_per_user = 1 / whole.fast.tpot.mean;
}

}  // namespace tilecast
