// The load that a deployment serves most of: its rate times the chance that it is served within the objectives.
//
// Runs look for the rate at which an objective breaks. They tell chances below it too: steps f times as long under a
// rate r are, in units of f, the steps as they are under the rate f r. So which share of that rate is worth most costs
// no more runs, and the one share that is goes through the judgement that a plan shows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "serve/plan_judge.h"

namespace tilecast {
namespace {

constexpr std::array<Summary ServingMetrics::*, 3> kTimes = {&ServingMetrics::ttft, &ServingMetrics::tpot,
                                                             &ServingMetrics::e2el};
constexpr std::array<double Summary::*, 4> kParts = {&Summary::mean, &Summary::median, &Summary::p90, &Summary::p99};

struct Probe {
  double rate = 0;
  ServingMetrics metrics;
};

void scale(Summary& times, double by) {
  for (double Summary::*part : kParts) times.*part *= by;
}

// The times at a rate between those of runs, straight between logarithms and on beyond them.
ServingMetrics between(const std::vector<Probe>& probes, double rate) {
  if (probes.size() < 2) return probes.front().metrics;
  std::size_t right = 1;
  while (right + 1 < probes.size() && probes[right].rate < rate) ++right;
  const Probe &low = probes[right - 1], &high = probes[right];
  const double share = std::log(rate / low.rate) / std::log(high.rate / low.rate);
  ServingMetrics m = share < 0.5 ? low.metrics : high.metrics;
  for (Summary ServingMetrics::*of : kTimes) {
    double by = 1;
    for (double Summary::*part : kParts) {
      const double a = (low.metrics.*of).*part, b = (high.metrics.*of).*part;
      if (!(a > 0) || !(b > 0)) continue;
      const double value = a * std::pow(b / a, share);
      by = value / ((m.*of).*part);
      (m.*of).*part = value;
    }
    for (ClassMetrics& c : m.classes)
      scale(of == &ServingMetrics::ttft ? c.ttft : of == &ServingMetrics::tpot ? c.tpot : c.e2el, by);
  }
  return m;
}

// Of the steps' time, that of steps with prompts.
double share_with_prompts(const ServingOutcome& outcome) {
  double with = 0, all = 0;
  for (const StepRecord& s : outcome.steps) {
    all += s.ran_for();
    if (s.prompt_tokens > 0) with += s.ran_for();
  }
  return all > 0 ? with / all : 0;
}

}  // namespace

// By what runs at other rates tell.
double PlanJudge::chance_by_rates(const ProbedRates& probed, double rate) const {
  const ServingEnds& ends = probed.ends;
  const double prompts = probed.prompts;
  const double fast = std::log(prompts * ends.pace.prompts.low + (1 - prompts) * ends.pace.answers.low);
  const double slow = std::log(prompts * ends.pace.prompts.high + (1 - prompts) * ends.pace.answers.high);
  PacedRuns runs{{-1, 0, 0.5, 1}, {}, std::numeric_limits<double>::infinity()};
  std::vector<Probe> probes;
  for (const auto& [at, metrics] : probed.metrics) probes.push_back({at, metrics});
  for (const double pace : runs.paces) {
    const double longer = std::exp(pace < 0 ? -pace * fast : pace * slow);
    ServingMetrics& m = runs.at.emplace_back(between(probes, rate * longer));
    for (Summary ServingMetrics::*of : kTimes) scale(m.*of, longer);
    for (ClassMetrics& c : m.classes) scale(c.ttft, longer), scale(c.tpot, longer), scale(c.e2el, longer);
  }
  if (probed.most > 0) {
    const double room = std::log(probed.most / rate), end = room >= 0 ? slow : -fast;
    if (end > 0) runs.breaks = room / end;
  }
  return chance(runs, runs.at[1], ends);
}

Status PlanJudge::judge_most_load(PlannedDeployment& d) const {
  constexpr int kHalvings = 4;
  constexpr double kBeyond = 1.1;                  // the steady state's own error
  constexpr double kLowest = 0.55, kFiner = 0.03;  // of the rate that passes
  const Saturation most = saturation(d);
  d.most = most;
  ProbedRates probed;
  if (most.limit != Limit::none) probed.most = most.rate;
  std::optional<ServingOutcome> best_run;
  const auto probe = [&](double rate) -> Result<bool> {
    auto run = this->run(d, rate, RunCare::probe);
    if (!run) return std::move(run).error();
    Figures figures = figures_of(*run);
    probed.metrics[rate] = std::move(figures.metrics);
    if (figures.meets) best_run = std::move(run->outcome);
    return figures.meets;
  };
  double passes = 0, fails = d.rate * 1.5;
  if (most.limit != Limit::none) fails = std::min(fails, std::max(most.rate * kBeyond, d.rate * kBeyond));
  for (int i = 0; i < kHalvings; ++i) {
    const double rate = i == 0 ? d.rate : (passes + fails) / 2;
    const auto meets = probe(rate);
    if (!meets) return meets.error();
    (*meets ? passes : fails) = rate;
  }
  if (!(passes > 0)) passes = fails / 2;
  // What chances are made of lies below: one run there, and all rates between are known.
  const auto lowest = probe(passes * kLowest);
  if (!lowest) return lowest.error();
  if (!best_run) return d.rate = passes, judge(d);
  probed.ends.widths = step_widths(options_of(q_, *d.pool.setup), *best_run, method_, weights_);
  // Slower steps make loads queue that do not as forecast: that end is as unsure as theirs.
  probed.ends.queued = mostly_queued(best_run->requests), probed.ends.queued_slow = true;
  probed.ends.pace = served_pace(probed.ends.widths, probed.ends.queued);
  const StepWidths queued = served_pace(probed.ends.widths, true);
  probed.ends.pace.answers.high = queued.answers.high, probed.ends.pace.prompts.high = queued.prompts.high;
  probed.prompts = share_with_prompts(*best_run);
  struct Worth {
    double rate = 0, chance = 0;
  };
  std::vector<Worth> worth;
  for (double share = 1; share >= kLowest; share -= kFiner)
    worth.push_back({passes * share, chance_by_rates(probed, passes * share)});
  std::stable_sort(worth.begin(), worth.end(), [&](const Worth& a, const Worth& b) {
    const bool enough_a = a.chance >= q_.least_chance, enough_b = b.chance >= q_.least_chance;
    if (enough_a != enough_b) return enough_a;
    return enough_a ? a.rate * a.chance > b.rate * b.chance : a.chance > b.chance;
  });
  // The runs behind a guess are short: where the judgement differs, the next few that were thought as good.
  constexpr std::size_t kMostJudged = 4;
  worth.resize(std::min(worth.size(), kMostJudged));
  std::optional<PlannedDeployment> best;
  for (const Worth& w : worth) {
    PlannedDeployment at = d;
    at.rate = w.rate;
    if (auto done = judge(at); !done) return done;
    const bool enough = at.meets && at.chance.value_or(0) >= q_.least_chance;
    if (!best || enough || at.chance.value_or(0) > best->chance.value_or(0)) best = std::move(at);
    if (enough) break;
  }
  d = *std::move(best);
  return Ok{};
}

}  // namespace tilecast
