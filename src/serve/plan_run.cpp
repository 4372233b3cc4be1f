#include "serve/plan_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "constants/serve.h"

namespace tilecast {

using namespace constants;

namespace {

// Requests of one share: those that fill it, those that are counted, those that keep it busy until the last of them has
// ended.
struct LoadLength {
  Count fill = 0, counted = 0, after = 0;
  Count all() const { return fill + counted + after; }
};

// Turns of a conversation go to one replica after the other, each of which knows a part of its history.
Count shares_of(const ServeQuery& query, const PlannedDeployment& d) {
  const bool conversations = query.recorded.any() && query.recorded.each > 1;
  if (query.workload.requests > 0 || conversations || query.features.router != Router::round_robin) return 1;
  return d.prefill ? std::gcd(d.pool.copies, d.prefill->copies) : d.pool.copies;
}

// A request from its sending to its end: by the steady state, just below saturation where the rate is more than can be
// served, or, where there is none, by as many as run at once.
double time_of_a_request(const ServeQuery& query, const PlannedDeployment& d, double rate) {
  constexpr double kJustBelow = 0.97;
  const SimulationOptions options = d.simulation(query);
  const auto at = [&](double r) { return steady_state(options, query.load(r, options.pool.geometry.block_tokens)); };
  SteadyState s = at(rate);
  if (s.saturated() && d.most && d.most->rate > 0) s = at(std::min(rate, kJustBelow * d.most->rate));
  if (!s.saturated()) return (s.ttft + s.tpot * static_cast<double>(query.mean_output() - 1)).base();
  const Count at_once = options.pool.replicas * most_at_once(options.pool, query.mean_input() + query.mean_output());
  return static_cast<double>(at_once) / rate;
}

// Of one share; none where nobody says how much can be served.
double requests_to_forget(const ServeQuery& query, const PlannedDeployment& d, double rate, Count shares) {
  if (!d.most || d.most->limit == Limit::none || !(d.most->rate > 0)) return 0;
  const double gaps = 1 / std::sqrt(query.workload.burstiness * static_cast<double>(shares));
  const double work = std::max(variation(query.workload.input), variation(query.workload.output));
  return tilecast::requests_to_forget(gaps, work, rate / d.most->rate);
}

LoadLength length_of(const ServeQuery& query, const PlannedDeployment& d, double rate, Count shares, RunCare care) {
  // Times of a request; the least are so many that one in ten of them, or one in a hundred, says something. One time
  // of a request is enough where that many are counted in it.
  constexpr double kFill = 2, kCounted = 3, kAfter = 1;
  constexpr double kLeast = 300, kLeastOfTail = 1000, kEnough = 1000, kMost = 20000;
  // Times over which a queue forgets its beginning, and how many requests that may come to.
  constexpr double kForgotten = 2, kMostShown = 6000, kMostProbed = 1500;
  const bool shown = care == RunCare::shown;
  const double in_flight = time_of_a_request(query, d, rate) * rate / static_cast<double>(shares);
  const double least = query.statistic == Statistic::p99 ? kLeastOfTail : kLeast;
  const double error = shown ? kPlanQueueError : kPlanProbeError, most = shown ? kMostShown : kMostProbed;
  const double forgets = std::min(requests_to_forget(query, d, rate, shares), most * error * error);
  const auto requests = [=](double n) { return static_cast<Count>(std::ceil(std::min(n, kMost))); };
  return {requests(std::max(kFill * in_flight, kForgotten * forgets)),
          requests(std::max(
              {least, std::min(kCounted * in_flight, std::max(kEnough, in_flight)), forgets / (error * error)})),
          requests(kAfter * in_flight)};
}

// As many requests in flight as there are places for.
WorkloadOptions closed_loop(const ServeQuery& query, const PlannedDeployment& d) {
  // Enough of them that the beginning and the end, where not all places are taken, weigh little.
  constexpr Count kLeast = 300, kMost = 40000, kTurns = 4;
  WorkloadOptions w = query.workload;
  w.rate = 0;
  if (w.requests == 0) w.requests = std::clamp(kTurns * d.in_flight, kLeast, kMost);
  return w;
}

void take_share(PlanRun& run, Count shares) {
  run.shares = shares;
  run.simulation.pool.replicas /= shares;
  if (run.simulation.prefill) run.simulation.prefill->replicas /= shares;
}

// Requests that were drawn once, sent at any rate: as large a share of the deployment as they keep busy for so long
// that what is counted of them does not depend on how they begin and end.
void add_drawn(PlanRun& run, const ServeQuery& query, const PlannedDeployment& d, double rate) {
  constexpr double kWholes = 6, kFill = 2;
  const PlanRequests& recorded = query.recorded;
  const double number = static_cast<double>(recorded.requests.size()) / recorded.each;
  const double one = time_of_a_request(query, d, rate);
  const double whole = recorded.each * one + in_seconds(recorded.pauses);
  const Count most = shares_of(query, d);
  Count shares = 1;
  while (shares < most && (most % shares != 0 || number * static_cast<double>(shares) < kWholes * whole * rate))
    ++shares;
  take_share(run, shares);
  run.requests = sent_at(recorded, rate / static_cast<double>(shares));
  const double span = number * static_cast<double>(shares) / rate;
  const double fill = std::min(kFill * whole, span / 2);
  run.counted = CountedSpan{seconds(fill), seconds(std::max(span - one, span * 3 / 4))};
}

}  // namespace

double requests_to_forget(double gaps, double work, double load) {
  constexpr double kAtSaturation = 1e-3;  // of what can be served is left: it never forgets
  const double left = std::max(1 - load, kAtSaturation);
  return 2 * (gaps * gaps + work * work) / (left * left);
}

WorkloadOptions plan_workload(const ServeQuery& query, const PlannedDeployment& d, double rate) {
  if (d.in_flight > 0) return closed_loop(query, d);
  WorkloadOptions w = query.workload;
  w.rate = rate;
  if (w.requests > 0) return w;
  const Count shares = shares_of(query, d);
  w.requests = shares * length_of(query, d, rate, shares, RunCare::shown).all();
  return w;
}

Result<PlanRun> plan_run(const ServeQuery& query, const PlannedDeployment& d, double rate, RunCare care) {
  PlanRun run;
  run.simulation = d.simulation(query);
  const bool as_given = query.workload.requests > 0 || d.in_flight > 0;
  if (query.recorded.any()) {
    if (query.recorded.drawn && !as_given) add_drawn(run, query, d, rate);
    else run.requests = sent_at(query.recorded, rate);
    return run;
  }
  WorkloadOptions w = query.workload;
  LoadLength length;
  if (as_given) {
    w = plan_workload(query, d, rate);
  } else {
    take_share(run, shares_of(query, d));
    length = length_of(query, d, rate, run.shares, care);
    w.rate = rate / static_cast<double>(run.shares), w.requests = length.all();
    w.burstiness *= static_cast<double>(run.shares);
  }
  auto requests = generate(w);
  if (!requests) return std::move(requests).error();
  run.requests = *std::move(requests);
  if (!as_given) {
    const auto at = [&](Count i) { return run.requests[static_cast<std::size_t>(i)].arrival; };
    const Count end = run.simulation.needed = length.fill + length.counted;
    run.counted = CountedSpan{at(length.fill), end < w.requests ? at(end) : run.requests.back().arrival};
  }
  return run;
}

ServingMetrics metrics_of(const PlanRun& run, const ServingOutcome& outcome, const ServeQuery& query) {
  return times(metrics_of(outcome, query.slo, query.classes, run.counted), run.shares);
}

bool keeps_up(const PlanRun& run, const ServingMetrics& m) {
  if (!run.counted) return true;
  constexpr double kAsManyAsCome = 0.9;  // numbers in flight sway
  return m.request_throughput * m.duration >= kAsManyAsCome * static_cast<double>(m.completed);
}

}  // namespace tilecast
