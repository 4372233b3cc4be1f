// What a plan is asked, and what a planned deployment is as a simulation.
#include <algorithm>
#include <cmath>

#include "serve/plan.h"

namespace tilecast {

PoolOptions PlannedPool::pool() const {
  PoolOptions options = setup->pool;
  options.replicas *= copies;
  return options;
}

bool ServeQuery::any_objective() const {
  return slo.any() || std::any_of(classes.begin(), classes.end(), [](const RequestClass& c) { return c.slo.any(); });
}

Slo ServeQuery::steady_slo() const {
  if (slo.any()) return slo;
  Slo loosest;
  const auto add = [&](std::optional<Seconds> Slo::*time) {
    for (const RequestClass& c : classes)
      if (c.slo.*time) loosest.*time = std::max((loosest.*time).value_or(seconds(0)), *(c.slo.*time));
  };
  add(&Slo::ttft), add(&Slo::tpot), add(&Slo::e2el);
  return loosest;
}

double ServeQuery::margin_of(const ServingMetrics& m) const {
  double least = margin(slo, m, statistic);
  for (std::size_t i = 0; i < std::min(classes.size(), m.classes.size()); ++i) {
    const ClassMetrics& c = m.classes[i];
    least = std::min(least, margin(classes[i].slo, statistic_of(c.ttft, statistic), statistic_of(c.tpot, statistic),
                                   statistic_of(c.e2el, statistic)));
  }
  return least;
}

SteadyLoad ServeQuery::load(double rate, Count block_tokens) const {
  if (recorded.any()) {
    SteadyLoad at = recorded.at_one;
    at.rate *= rate;
    return at;
  }
  SteadyLoad l{rate, workload.input, workload.output, 0};
  if (workload.prefixes > 0) l.cached = workload.prefix_tokens / block_tokens * block_tokens;
  l.cached = std::min(l.cached, workload.input.mean - 1);
  return l;
}

SimulationOptions PlannedDeployment::simulation(const ServeQuery& query) const {
  SimulationOptions o;
  o.pool = pool.pool();
  if (prefill) o.prefill = prefill->pool();
  o.link = link;
  o.concurrency = in_flight;
  o.router = query.features.router, o.prefixes = query.features.prefixes;
  o.first_token_timeout = query.features.first_token_timeout, o.total_timeout = query.features.total_timeout;
  o.paths = &query.recorded.paths;
  o.context_limit = query.context_limit > 0 ? query.context_limit : query.model.max_context;
  return o;
}

}  // namespace tilecast
