#include "api/plan_serve_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/serving_text.h"
#include "serve/launch_blanks.h"

namespace tilecast {
namespace {

void add_figures(PlannedServing& planned, const ServeQuery& query, const ServingMetrics& m) {
  planned.margin = query.margin_of(m);
  // Of a rate that goes on, not of a run that ends: the last requests have the GPUs to themselves.
  const double requests = query.requests_at(planned.rate);
  const double tokens =
      planned.in_flight > 0 ? m.output_throughput : requests * static_cast<double>(query.mean_output());
  planned.tokens_per_gpu = tokens / planned.gpus;
  if (m.tpot.mean > 0) planned.tokens_per_user = 1 / m.tpot.mean;
  planned.concurrency = planned.in_flight > 0 ? static_cast<double>(planned.in_flight) : requests * m.e2el.mean;
  if (planned.usd_per_hour && tokens > 0)
    planned.usd_per_million_tokens = usd_per_million(*planned.usd_per_hour, tokens);
}

// "21 % over"; "40 times" where per cents would be a long number.
std::string beyond(double ratio) {
  constexpr double kTimes = 10;
  return ratio < kTimes ? fmt::format("{:.0f} % over", 100 * (ratio - 1)) : fmt::format("{:.3g} times", ratio);
}

// What these figures miss: "TPOT 36.2 ms of 30 ms (21 % over)", by the worst first.
std::string missed_by(const ServeQuery& query, const ServingMetrics& m) {
  std::vector<std::pair<double, std::string>> missed;
  const auto add = [&](const char* name, const std::optional<Seconds>& slo, const Summary& of) {
    if (!slo) return;
    const Seconds value = statistic_of(of, query.statistic);
    if (value > *slo)
      missed.emplace_back(-(value / *slo), fmt::format("{} {:.4g} ms of {:g} ms ({})", name, in_milliseconds(value),
                                                       in_milliseconds(*slo), beyond(value / *slo)));
  };
  add("TTFT", query.slo.ttft, m.ttft);
  add("TPOT", query.slo.tpot, m.tpot);
  add("E2EL", query.slo.e2el, m.e2el);
  for (std::size_t i = 0; i < std::min(query.classes.size(), m.classes.size()); ++i) {
    const Slo& slo = query.classes[i].slo;
    const ClassMetrics& c = m.classes[i];
    add(("TTFT of " + c.name).c_str(), slo.ttft, c.ttft);
    add(("TPOT of " + c.name).c_str(), slo.tpot, c.tpot);
    add(("E2EL of " + c.name).c_str(), slo.e2el, c.e2el);
  }
  std::sort(missed.begin(), missed.end());
  std::string text;
  for (const auto& [ratio, words] : missed) text += (text.empty() ? "" : ", ") + words;
  if (m.cancelled > 0)
    text += (text.empty() ? "" : ", ") +
            fmt::format("{} of {} requests given up by their clients", m.cancelled, m.cancelled + m.completed);
  if (m.refused > 0) text += (text.empty() ? "" : ", ") + std::string("requests that do not fit the cache");
  return text;
}

std::string in_the_way(const ServeQuery& query, const PlannedDeployment& d) {
  if (d.meets) return "";
  if (d.simulated && d.simulated->completed > 0) return missed_by(query, *d.simulated);
  std::string text(name_of(d.steady.limit));
  if (!d.alone) return text;
  text += fmt::format(": {:.3g} requests/s are the most it takes", query.requests_at(d.takes));
  const std::string even = missed_by(query, *d.alone);
  return text + (even.empty() ? "" : "; of requests that come alone " + even);
}

ServingPool pool_row(const PlannedPool& p) {
  const ServeSetup& s = *p.setup;
  const SchedulerLimits& limits = s.pool.limits;
  ServingPool pool;
  pool.tp = s.layout.tp, pool.pp = s.layout.pp, pool.ep = s.layout.ep, pool.attention_dp = s.layout.dp;
  if (s.layout.ranks() > 1) pool.layout = text_of(s.layout);
  pool.copies = p.copies, pool.gpus = p.gpus();
  pool.max_sequences = limits.max_sequences, pool.max_tokens = limits.max_tokens, pool.chunk = limits.chunk;
  pool.chunked_prefill = limits.chunked_prefill, pool.step_tokens = step_tokens(limits);
  pool.memory_fraction = memory_fraction(s.engine, s.budget);
  pool.block_tokens = s.pool.geometry.block_tokens, pool.blocks = s.pool.blocks;
  pool.memory = {s.budget.visible,     s.budget.usable, s.budget.weights,
                 s.budget.activations, s.budget.other,  s.budget.cache};
  return pool;
}

}  // namespace

PlannedServing plan_row(const ServeQuery& query, const PlanLaunches& launches, const PlannedDeployment& d) {
  const ServeSetup& s = *d.pool.setup;
  PlannedServing planned;
  planned.gpu = query.gpus[s.offer].gpu.name, planned.gpus = d.gpus();
  planned.usd_per_hour = d.usd_per_hour;
  planned.engine = serving_engine_of(s.engine), planned.dtype = s.formats.dtype;
  planned.kv_dtype = s.formats.kv_dtype == "fp8" ? KvDtype::fp8 : KvDtype::automatic;
  planned.pool = pool_row(d.pool);
  if (d.prefill) planned.prefill = pool_row(*d.prefill);
  planned.limit = d.steady.limit;
  planned.steady_ttft = d.steady.ttft_at(query.statistic), planned.steady_tpot = d.steady.tpot_at(query.statistic);
  planned.steady_cache = d.steady.cache;
  planned.rate = d.rate, planned.in_flight = d.in_flight;
  planned.simulated = d.simulated, planned.fast = d.fast, planned.slow = d.slow;
  planned.meets = d.meets, planned.chance = query.any_objective() ? d.chance : std::nullopt, planned.seen = d.seen;
  if (d.simulated) add_figures(planned, query, *d.simulated);
  planned.in_the_way = in_the_way(query, d);
  planned.release = release_of(s.engine);
  const DeploymentLaunch launch = launches.of(d, planned);
  for (const LaunchBlank& blank : launch_blanks(launch.pools)) planned.to_fill_in.push_back(blank.what);
  planned.launch = launch_lines(launch), planned.files = launch_files(launch);
  return planned;
}

}  // namespace tilecast
