#include "serve/plan_judge.h"

#include <algorithm>
#include <cmath>

#include "engine/step_parts.h"
#include "parallel/split.h"

namespace tilecast {
namespace {

constexpr double kNinetieth =
    1.2815515655446004;  // of the standard normal: four fifths lie between it and its negative

double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

}  // namespace

double chance_below(double limit, double forecast, double low, double high) {
  if (!(forecast > 0)) return 1;
  const double distance = std::log(limit / forecast);
  const double end = distance >= 0 ? std::log(std::max(high, forecast) / forecast)
                                   : std::log(forecast / std::clamp(low, forecast * 1e-9, forecast));
  // An interval of no width: the forecast itself decides.
  if (!(end > 0)) return distance >= 0 ? 1 : 0;
  return normal_share(distance / end * kNinetieth);
}

double chance_of(const Slo& slo, Statistic statistic, const ServingMetrics& forecast, const ServingMetrics& fast,
                 const ServingMetrics& slow) {
  double chance = 1;
  const auto add = [&](const std::optional<Seconds>& limit, Summary ServingMetrics::*of) {
    if (!limit) return;
    const auto at = [&](const ServingMetrics& m) { return statistic_of(m.*of, statistic).base(); };
    chance *= chance_below(limit->base(), at(forecast), at(fast), at(slow));
  };
  add(slo.ttft, &ServingMetrics::ttft);
  add(slo.tpot, &ServingMetrics::tpot);
  add(slo.e2el, &ServingMetrics::e2el);
  return chance;
}

double chance_of_rate(double rate, double capacity, const RateEnds& ends) {
  return 1 - chance_below(rate, capacity, ends.low, ends.high);
}

Result<PlanJudge::Simulated> PlanJudge::run(const PlannedDeployment& d, double rate, bool keep_gaps) const {
  auto plan = plan_run(q_, d, rate);
  if (!plan) return std::move(plan).error();
  plan->simulation.keep_gaps = keep_gaps;
  auto outcome = simulate(plan->requests, plan->simulation);
  if (!outcome) return std::move(outcome).error();
  return Simulated{*std::move(plan), *std::move(outcome)};
}

PlanJudge::Figures PlanJudge::figures_of(const Simulated& run) const {
  Figures f;
  f.metrics = metrics_of(run.plan, run.outcome, q_);
  f.meets = meets(f.metrics) && keeps_up(run.plan, run.outcome);
  return f;
}

Result<PlanJudge::Figures> PlanJudge::simulated(const PlannedDeployment& d, double rate) const {
  const auto run = this->run(d, rate, false);
  if (!run) return run.error();
  return figures_of(*run);
}

Saturation PlanJudge::saturation(const PlannedDeployment& d) const {
  const Count block = d.pool.setup->pool.geometry.block_tokens;
  return saturation_of(
      d.simulation(q_), [&](double rate) { return q_.load(rate, block); }, d.rate);
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

// Of a class: its own times, with the reach that those of all requests have. Objectives of classes are missed together,
// so the least chance counts.
double PlanJudge::chance(const ServingMetrics& forecast, const ServingEnds& ends) const {
  double least = chance_of(q_.slo, q_.statistic, forecast, ends.fast, ends.slow);
  for (std::size_t i = 0; i < std::min(q_.classes.size(), forecast.classes.size()); ++i) {
    ServingMetrics own, fast, slow;
    const auto scale = [&](Summary ServingMetrics::*of, const Summary& times) {
      own.*of = fast.*of = slow.*of = times;
      const auto at = [&](const ServingMetrics& m) { return statistic_of(m.*of, q_.statistic).base(); };
      if (!(at(forecast) > 0)) return;
      for (double Summary::*figure : {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99}) {
        (fast.*of).*figure *= at(ends.fast) / at(forecast);
        (slow.*of).*figure *= at(ends.slow) / at(forecast);
      }
    };
    const ClassMetrics& c = forecast.classes[i];
    scale(&ServingMetrics::ttft, c.ttft), scale(&ServingMetrics::tpot, c.tpot), scale(&ServingMetrics::e2el, c.e2el);
    least = std::min(least, chance_of(q_.classes[i].slo, q_.statistic, own, fast, slow));
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

namespace {

// Of the steps' time.
double share_with_prompts(const ServingOutcome& outcome) {
  double with = 0, all = 0;
  for (const StepRecord& s : outcome.steps) {
    all += s.ran_for();
    if (s.prompt_tokens > 0) with += s.ran_for();
  }
  return all > 0 ? with / all : 0;
}

}  // namespace

Status PlanJudge::judge(PlannedDeployment& d) const {
  const auto run = this->run(d, d.rate, true);
  if (!run) return run.error();
  const PlanRun& plan = run->plan;
  Figures figures = figures_of(*run);
  d.simulated = std::move(figures.metrics), d.meets = figures.meets;
  if (d.simulated->completed == 0) return Ok{};
  auto ends = serving_ends(options_of(q_, *d.pool.setup), plan.requests, plan.simulation, run->outcome, q_.slo, method_,
                           weights_, 0, plan.counted);
  if (!ends) return std::move(ends).error();
  ends->fast = times(std::move(ends->fast), plan.shares), ends->slow = times(std::move(ends->slow), plan.shares);
  ServingEnds whole = of_whole_run(*ends, *d.simulated);
  keep_to_patience(whole, plan.simulation);
  d.chance = chance(*d.simulated, whole);
  // Where requests come faster than they can be served, all of them are late sooner or later.
  if (d.in_flight == 0 && q_.any_objective()) {
    const Saturation most = saturation(d);
    if (most.limit != Limit::none)
      d.chance = std::min(*d.chance, chance_of_rate(d.rate, most.rate,
                                                    capacity_ends(most.rate, *ends, share_with_prompts(run->outcome))));
  }
  d.fast = std::move(whole.fast), d.slow = std::move(whole.slow);
  d.seen = seen(d);
  return Ok{};
}

Status PlanJudge::judge_most_load(PlannedDeployment& d) const {
  constexpr int kHalvings = 4;
  const Saturation most = saturation(d);
  constexpr double kBeyond = 1.1;  // the steady state's own error
  double passes = 0, fails = d.rate * 1.5;
  if (most.limit != Limit::none) fails = std::min(fails, std::max(most.rate * kBeyond, d.rate * kBeyond));
  for (int i = 0; i < kHalvings; ++i) {
    const double rate = i == 0 ? d.rate : (passes + fails) / 2;
    const auto figures = simulated(d, rate);
    if (!figures) return figures.error();
    (figures->meets ? passes : fails) = rate;
  }
  if (!(passes > 0)) passes = fails / 2;
  std::optional<PlannedDeployment> best;
  for (const double share : {1.0, 0.85, 0.7, 0.55}) {
    PlannedDeployment at = d;
    at.rate = passes * share;
    const bool before = best && best->chance.value_or(0) >= q_.least_chance;
    const auto worth = [](const PlannedDeployment& x) { return x.rate * x.chance.value_or(0); };
    if (before && at.rate <= worth(*best)) break;  // were it certain, it would be worth no more
    if (auto done = judge(at); !done) return done;
    const bool enough = at.chance.value_or(0) >= q_.least_chance;
    if (!best || (enough && !before) || (enough == before && worth(at) > worth(*best))) best = std::move(at);
  }
  d = *std::move(best);
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
  const StepWidth width = step_widths(options, typical, method_, weights_).answers;
  ServingMetrics forecast;
  forecast.tpot.mean = d.steady.tpot.base();
  ServingEnds ends{forecast, forecast, options.spread ? RunKind::inference_over : RunKind::inference, false};
  ends.fast.tpot.mean *= width.low, ends.slow.tpot.mean *= width.high;
  const ServingEnds whole = of_whole_run(ends, forecast);
  point.low_per_user = 1 / whole.slow.tpot.mean, point.high_per_user = 1 / whole.fast.tpot.mean;
}

}  // namespace tilecast
