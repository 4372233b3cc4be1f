// How good a deployment is: within its objectives, and by what is asked for.
#include <algorithm>
#include <cmath>
#include <limits>

#include "serve/plan.h"

namespace tilecast {
namespace {

// Joules of a token by the steady state: the GPUs at rest, the step that decodes and a prompt's own.
double joules_of_a_token(const ServeQuery& q, const PlannedDeployment& d) {
  const auto output = static_cast<double>(q.mean_output());
  const PoolOptions answers = d.pool.pool(), prompts = d.prefill ? d.prefill->pool() : answers;
  if (!answers.idle || !(d.rate > 0)) return std::numeric_limits<double>::infinity();
  const double at_rest = in_watts(*answers.idle) * d.gpus() / (q.requests_at(d.rate) * output);
  StepBatch decode;
  decode.decodes = std::max<Count>(1, std::llround(d.steady.decoding));
  decode.decode_context = decode.decodes * (q.mean_input() + q.mean_output() / 2);
  StepBatch prompt;
  prompt.prefill = {{q.mean_input(), 0}};
  return at_rest +
         answers.cost->spent(decode).joules * static_cast<double>(answers.abreast) /
             static_cast<double>(decode.decodes) +
         prompts.cost->spent(prompt).joules * static_cast<double>(prompts.abreast) / output;
}

}  // namespace

Seconds statistic_of(const Summary& s, Statistic statistic) {
  switch (statistic) {
    case Statistic::mean: return seconds(s.mean);
    case Statistic::median: return seconds(s.median);
    case Statistic::p90: return seconds(s.p90);
    case Statistic::p99: return seconds(s.p99);
  }
  return {};
}

double margin(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2el) {
  double least = 1;
  if (slo.ttft) least = std::min(least, 1 - ttft / *slo.ttft);
  if (slo.tpot) least = std::min(least, 1 - tpot / *slo.tpot);
  if (slo.e2el) least = std::min(least, 1 - e2el / *slo.e2el);
  return least;
}
double margin(const Slo& slo, const ServingMetrics& m, Statistic statistic) {
  return margin(slo, statistic_of(m.ttft, statistic), statistic_of(m.tpot, statistic), statistic_of(m.e2el, statistic));
}
double margin(const Slo& slo, const SteadyState& s, Statistic statistic, Count output) {
  if (s.saturated()) return -1e9;
  const Seconds ttft = s.ttft_at(statistic), tpot = s.tpot_at(statistic);
  return margin(slo, ttft, tpot, ttft + tpot * static_cast<double>(output - 1));
}

double usd_per_million(double usd_per_hour, double tokens_per_second) {
  return usd_per_hour / (tokens_per_second * 3600 / 1e6);
}

PlanRank plan_rank(const ServeQuery& q, const PlannedDeployment& d) {
  // Chances that differ by less than they are known are the same, and nothing is hopeless.
  const double chance = d.chance ? std::max(0.05, std::round(*d.chance * 20) / 20) : 1;
  switch (q.objective) {
    case ServingObjective::cost:
      return d.usd_per_hour ? PlanRank{0, *d.usd_per_hour / chance} : PlanRank{1, d.gpus() / chance};
    case ServingObjective::load: return {0, -d.rate * chance};
    case ServingObjective::throughput: return {0, -(d.simulated ? d.simulated->output_throughput : d.rate) / d.gpus()};
    case ServingObjective::energy: {
      if (!d.simulated) return {0, joules_of_a_token(q, d)};
      const auto& energy = d.simulated->energy;
      return energy && energy->per_token ? PlanRank{0, *energy->per_token / chance} : PlanRank{1, d.gpus() / chance};
    }
  }
  return {};
}

}  // namespace tilecast
