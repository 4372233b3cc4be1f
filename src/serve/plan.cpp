#include "serve/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "constants/serve.h"

namespace tilecast {

using namespace constants;

namespace {

// Set-ups that cost the same are many; of each cost this many of the best are simulated.
constexpr int kOfOneCost = 2;
constexpr std::size_t kMostFinalists = 12;

// Smallest number of 1 ... most with fits(n), which stays true from there on; 0 where there is none.
Count smallest(Count most, const std::function<bool(Count)>& fits) {
  if (most < 1 || !fits(most)) return 0;
  Count low = 0, high = 1;
  while (high < most && !fits(high)) low = high, high = std::min(most, 2 * high);
  while (high - low > 1) {
    const Count middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

// Margins that differ by less than forecasts err are the same: the engine's defaults, which come first, stay first.
double in_steps(double margin) { return std::round(margin * 20); }

class Search {
 public:
  Search(const ServeQuery& query, Method method, const ModelSource* weights,
         const std::function<void(double)>& progress)
      : q_(query), method_(method), weights_(weights), progress_(progress) {}

  Result<ServePlan> run() && {
    for (std::size_t offer = 0; offer < q_.gpus.size(); ++offer) {
      auto setups = serving_setups(q_, offer, method_, weights_);
      if (!setups) return std::move(setups).error();
      plan_.too_large += setups->too_large;
      search(setups->all, offer);
      for (const auto& setup : setups->all)
        if (auto fine = setup->steps->status(); !fine) return fine.error();
    }
    pick_finalists();
    if (auto done = simulate_finalists(); !done) return done.error();
    return std::move(plan_);
  }

 private:
  Count most_copies(const ServeSetup& setup) const {
    const GpuOffer& offer = q_.gpus[setup.offer];
    double gpus = offer.most;
    if (q_.budget > 0 && offer.usd_per_hour > 0) gpus = std::min(gpus, std::floor(q_.budget / offer.usd_per_hour));
    return static_cast<Count>(gpus) / setup.layout.ranks();
  }

  PlannedDeployment evaluated(PlannedPool pool, std::optional<PlannedPool> prefill) {
    PlannedDeployment d;
    d.pool = std::move(pool), d.prefill = std::move(prefill);
    const GpuOffer& offer = q_.gpus[d.pool.setup->offer];
    if (d.prefill) d.link = link_of(offer, d.gpus());
    d.usd_per_hour = offer.usd_per_hour * d.gpus();
    d.steady = steady_state(d.simulation(q_), q_.load(d.pool.setup->pool.geometry.block_tokens));
    ++plan_.tried;
    return d;
  }
  // Keys and values stay within a node where both pools fit one.
  static KvLink link_of(const GpuOffer& offer, int gpus) {
    if (!offer.cluster) return {gigabytes_per_second(kPlainKvLink), microseconds(kPlainKvLatency)};
    const Cluster& c = *offer.cluster;
    if (gpus <= c.gpus_per_node || !c.inter) return {c.pair_bandwidth(), c.intra.latency};
    return {c.inter->bandwidth, c.inter->latency};
  }

  double margin_of(const PlannedDeployment& d) const {
    return margin(q_.slo, d.steady, q_.statistic, q_.workload.output.mean);
  }

  void search(const std::vector<std::shared_ptr<const ServeSetup>>& setups, std::size_t offer) {
    for (std::size_t i = 0; i < setups.size(); ++i) {
      if (q_.together) size_together(setups[i]);
      if (progress_)
        progress_((static_cast<double>(offer) + static_cast<double>(i + 1) / static_cast<double>(setups.size())) /
                  static_cast<double>(q_.gpus.size()) * 0.8);
    }
    if (q_.apart) search_apart(setups);
  }

  // The smallest number of copies that meets the objectives, or nearly does, and some more for the front.
  void size_together(const std::shared_ptr<const ServeSetup>& setup) {
    const Count most = most_copies(*setup);
    if (most == 0) {
      ++plan_.too_dear;
      return;
    }
    const Count least = smallest(most, [&](Count n) {
      PlannedDeployment d = evaluated({setup, n}, {});
      const bool fits = margin_of(d) >= -kPlanDoubt;
      keep(std::move(d), fits);
      return fits;
    });
    if (least == 0) {
      ++plan_.too_slow;
      return;
    }
    for (const Count n : {least + 1, ceil_div(3 * least, 2), 2 * least})
      if (n > least && n <= most) keep(evaluated({setup, n}, {}), true);
  }

  void keep(PlannedDeployment d, bool fits) {
    if (fits) found_.push_back(std::move(d));
    else if (!plan_.nearest || margin_of(d) > margin_of(*plan_.nearest)) plan_.nearest = std::move(d);
  }

  // A pool for prompts answers for TTFT alone, one for answers for TPOT: each is sized beside plenty of the other.
  void search_apart(const std::vector<std::shared_ptr<const ServeSetup>>& setups) {
    struct Sized {
      std::shared_ptr<const ServeSetup> setup;
      Count copies;
      int gpus() const { return setup->layout.ranks() * static_cast<int>(copies); }
    };
    struct Pools {
      std::vector<Sized> prompts, answers;
    };
    std::map<std::pair<EngineKind, std::string>, Pools> kinds;
    Slo first, rest;
    first.ttft = q_.slo.ttft;
    rest.tpot = q_.slo.tpot;
    for (const auto& setup : setups) {
      // Limits matter little to pools of one kind of work: the defaults.
      if (!default_limits(setup, setups)) continue;
      const Count most = most_copies(*setup);
      Pools& pools = kinds[{setup->engine, setup->formats.dtype + "/" + setup->formats.kv_dtype}];
      const auto size = [&](const Slo& slo, bool prompts) {
        return smallest(most - 1, [&](Count n) {
          const Count plenty = 4 * most;
          const PlannedDeployment d =
              evaluated({setup, prompts ? plenty : n}, PlannedPool{setup, prompts ? n : plenty});
          return margin(slo, d.steady, q_.statistic, q_.workload.output.mean) >= -kPlanDoubt;
        });
      };
      if (const Count n = size(first, true); n > 0) pools.prompts.push_back({setup, n});
      if (const Count n = size(rest, false); n > 0) pools.answers.push_back({setup, n});
    }
    for (auto& [kind, pools] : kinds) {
      const auto cheap = [](const Sized& a, const Sized& b) { return a.gpus() < b.gpus(); };
      std::stable_sort(pools.prompts.begin(), pools.prompts.end(), cheap);
      std::stable_sort(pools.answers.begin(), pools.answers.end(), cheap);
      for (std::size_t i = 0; i < std::min<std::size_t>(2, pools.prompts.size()); ++i)
        for (std::size_t j = 0; j < std::min<std::size_t>(2, pools.answers.size()); ++j) {
          const Sized &p = pools.prompts[i], &a = pools.answers[j];
          if (p.gpus() + a.gpus() > most_copies(*p.setup) * p.setup->layout.ranks()) continue;
          PlannedDeployment d = evaluated({a.setup, a.copies}, PlannedPool{p.setup, p.copies});
          const bool fits = margin_of(d) >= -kPlanDoubt;
          keep(std::move(d), fits);
        }
    }
  }
  // The first of the set-ups that differ in their limits only.
  static bool default_limits(const std::shared_ptr<const ServeSetup>& setup,
                             const std::vector<std::shared_ptr<const ServeSetup>>& setups) {
    const auto same = std::find_if(setups.begin(), setups.end(),
                                   [&](const auto& other) { return other->pool.cost == setup->pool.cost; });
    return *same == setup;
  }

  // No other is cheaper and faster in both respects. Of those, and of the cheapest, a few.
  void pick_finalists() {
    std::stable_sort(found_.begin(), found_.end(), [&](const PlannedDeployment& a, const PlannedDeployment& b) {
      return a.usd_per_hour != b.usd_per_hour ? a.usd_per_hour < b.usd_per_hour
                                              : in_steps(margin_of(a)) > in_steps(margin_of(b));
    });
    std::vector<const PlannedDeployment*> chosen;
    int of_this_cost = 0;
    double cost = -1;
    for (const PlannedDeployment& d : found_) {
      if (d.usd_per_hour != cost) cost = d.usd_per_hour, of_this_cost = 0;
      if (of_this_cost == kOfOneCost) continue;
      const bool beaten = std::any_of(chosen.begin(), chosen.end(), [&](const PlannedDeployment* other) {
        return other->usd_per_hour < d.usd_per_hour && margin_of(*other) >= 0 &&
               other->steady.ttft_at(q_.statistic) <= d.steady.ttft_at(q_.statistic) &&
               other->steady.tpot_at(q_.statistic) <= d.steady.tpot_at(q_.statistic);
      });
      if (beaten) continue;
      chosen.push_back(&d), ++of_this_cost;
    }
    for (const PlannedDeployment* d : chosen) candidates_.push_back(*d);
  }

  Result<ServingMetrics> simulated(const PlannedDeployment& d, double rate) {
    WorkloadOptions workload = q_.workload;
    workload.rate = rate;
    auto requests = generate(workload);
    if (!requests) return std::move(requests).error();
    const auto run = simulate(*requests, d.simulation(q_));
    if (!run) return run.error();
    return metrics_of(*run, q_.slo);
  }

  // In the order of cost until enough met: the cheapest, and the front above it.
  Status simulate_finalists() {
    std::size_t met = 0;
    for (std::size_t i = 0; i < candidates_.size() && plan_.finalists.size() < kMostFinalists; ++i) {
      PlannedDeployment& d = candidates_[i];
      auto metrics = simulated(d, q_.workload.rate);
      if (!metrics) return std::move(metrics).error();
      d.simulated = *std::move(metrics);
      d.meets = d.simulated->refused == 0 && margin(q_.slo, *d.simulated, q_.statistic) >= 0;
      met += d.meets;
      plan_.finalists.push_back(std::move(d));
      // Those that seemed to meet and do not make room for others: they are not on the front.
      if (met == 0 && plan_.finalists.size() + 1 == kMostFinalists) plan_.finalists.erase(plan_.finalists.begin());
      if (progress_) progress_(0.8 + 0.15 * static_cast<double>(i + 1) / static_cast<double>(candidates_.size()));
    }
    rank();
    if (plan_.best) return find_break();
    return Ok{};
  }

  void rank() {
    std::stable_sort(plan_.finalists.begin(), plan_.finalists.end(),
                     [&](const PlannedDeployment& a, const PlannedDeployment& b) {
                       if (a.usd_per_hour != b.usd_per_hour) return a.usd_per_hour < b.usd_per_hour;
                       return in_steps(margin(q_.slo, *a.simulated, q_.statistic)) >
                              in_steps(margin(q_.slo, *b.simulated, q_.statistic));
                     });
    for (std::size_t i = 0; i < plan_.finalists.size(); ++i) {
      const PlannedDeployment& d = plan_.finalists[i];
      if (!d.meets) continue;
      if (!plan_.best) plan_.best = i;
      const auto time = [&](std::size_t k, Summary ServingMetrics::*of) {
        return statistic_of((*plan_.finalists[k].simulated).*of, q_.statistic);
      };
      const bool beaten = std::any_of(plan_.front.begin(), plan_.front.end(), [&](std::size_t k) {
        return time(k, &ServingMetrics::ttft) <= time(i, &ServingMetrics::ttft) * kSameTime &&
               time(k, &ServingMetrics::tpot) <= time(i, &ServingMetrics::tpot) * kSameTime;
      });
      if (!beaten) plan_.front.push_back(i);
    }
  }

  // Raises the rate until the simulation misses an objective, and closes in on that rate.
  Status find_break() {
    const PlannedDeployment& best = plan_.finalists[*plan_.best];
    double passes = q_.workload.rate, fails = 0;
    ServingMetrics failed;
    const auto ask = [&](double rate) -> Status {
      auto metrics = simulated(best, rate);
      if (!metrics) return std::move(metrics).error();
      if (margin(q_.slo, *metrics, q_.statistic) >= 0) passes = rate;
      else fails = rate, failed = *metrics;
      return Ok{};
    };
    for (int i = 0; i < 8 && fails == 0; ++i)
      if (auto done = ask(passes * 1.25); !done) return done;
    if (fails == 0) return Ok{};
    for (int i = 0; i < 4; ++i)
      if (auto done = ask((passes + fails) / 2); !done) return done;
    plan_.breaks.rate = fails, plan_.breaks.objective = worst_objective(failed);
    plan_.breaks.cache_full = failed.cache_peak > 0.98;
    find_saturation(best);
    return Ok{};
  }
  void find_saturation(const PlannedDeployment& best) {
    const SimulationOptions simulation = best.simulation(q_);
    SteadyLoad load = q_.load(best.pool.setup->pool.geometry.block_tokens);
    double low = q_.workload.rate, high = 64 * low;
    for (int i = 0; i < 12; ++i) {
      load.rate = std::sqrt(low * high);
      const SteadyState state = steady_state(simulation, load);
      if (state.saturated()) high = load.rate, plan_.breaks.limit = state.limit;
      else low = load.rate;
    }
    if (plan_.breaks.limit != Limit::none) plan_.breaks.saturation = high;
  }
  std::string worst_objective(const ServingMetrics& m) const {
    const auto over = [&](const std::optional<Seconds>& slo, const Summary& of) {
      return slo ? statistic_of(of, q_.statistic) / *slo : 0;
    };
    const double ttft = over(q_.slo.ttft, m.ttft), tpot = over(q_.slo.tpot, m.tpot), e2el = over(q_.slo.e2el, m.e2el);
    return ttft >= tpot && ttft >= e2el ? "TTFT" : tpot >= e2el ? "TPOT" : "E2EL";
  }

  const ServeQuery& q_;
  Method method_;
  const ModelSource* weights_;
  const std::function<void(double)>& progress_;
  ServePlan plan_;
  std::vector<PlannedDeployment> found_, candidates_;
};

}  // namespace

PoolOptions PlannedPool::pool() const {
  PoolOptions options = setup->pool;
  options.replicas *= copies;
  return options;
}

SteadyLoad ServeQuery::load(Count block_tokens) const {
  SteadyLoad l{workload.rate, workload.input, workload.output, 0};
  if (workload.prefixes > 0) l.cached = workload.prefix_tokens / block_tokens * block_tokens;
  l.cached = std::min(l.cached, workload.input.mean - 1);
  return l;
}

SimulationOptions PlannedDeployment::simulation(const ServeQuery& query) const {
  SimulationOptions o;
  o.pool = pool.pool();
  if (prefill) o.prefill = prefill->pool();
  o.link = link;
  o.context_limit = query.context_limit > 0 ? query.context_limit : query.model.max_context;
  return o;
}

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

double usd_per_million(const ServeQuery& query, double usd_per_hour) {
  return usd_per_hour / (query.workload.rate * static_cast<double>(query.workload.output.mean) * 3600 / 1e6);
}

Result<ServePlan> plan_serving(const ServeQuery& query, Method method, const ModelSource* weights,
                               const std::function<void(double)>& progress) {
  if (!(query.workload.rate > 0)) return error("a plan needs a rate of requests");
  if (!query.slo.any()) return error("a plan needs an objective", "ttft=500ms,tpot=30ms");
  if (query.gpus.empty() || query.engines.empty()) return error("a plan needs a GPU and an engine to choose from");
  if (!query.model.decoder || !query.model.lm_head || query.model.encoder)
    return Error{query.model.name, "", "does not generate text from text alone", "a decoder: `tilecast models`"};
  return Search(query, method, weights, progress).run();
}

}  // namespace tilecast
