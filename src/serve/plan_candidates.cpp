#include "serve/plan_candidates.h"

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
// A replica of more times the GPUs that are known to do is not looked at: at the same price a GPU it costs as many
// times as much, and only the cheapest are simulated.
constexpr int kFarTooLarge = 4;

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

// Largest rate with holds(rate), which stays false from there on, within a percent or so; 0 where there is none.
double largest_rate(const std::function<bool(double)>& holds) {
  constexpr double kLeast = 1e-4, kMost = 1e6;
  double low = 1;
  while (low > kLeast && !holds(low)) low /= 4;
  if (low <= kLeast) return 0;
  double high = 4 * low;
  while (high < kMost && low >= 1 && holds(high)) low = high, high *= 4;
  for (int i = 0; i < 7; ++i) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

// Margins that differ by less than forecasts err are the same: the engine's defaults, which come first, stay first.
double in_steps(double margin) { return std::round(margin * 20); }

// Keys and values stay within a node where both pools fit one.
KvLink link_of(const GpuOffer& offer, int gpus) {
  if (!offer.cluster) return {gigabytes_per_second(kPlainKvLink), microseconds(kPlainKvLatency)};
  const Cluster& c = *offer.cluster;
  if (gpus <= c.gpus_per_node || !c.inter) return {c.pair_bandwidth(), c.intra.latency};
  return {c.inter->bandwidth, c.inter->latency};
}

// The first of the set-ups that differ in their limits only.
bool default_limits(const std::shared_ptr<const ServeSetup>& setup, const CandidateSearch::Setups& setups) {
  const auto same = std::find_if(setups.begin(), setups.end(),
                                 [&](const auto& other) { return other->pool.cost == setup->pool.cost; });
  return *same == setup;
}

// Copies of a set-up and what they serve.
struct Sized {
  std::shared_ptr<const ServeSetup> setup;
  Count copies = 1;
  double rate = 0;
  int ranks() const { return setup->layout.ranks(); }
  int gpus() const { return ranks() * static_cast<int>(copies); }
};
struct Pools {
  std::vector<Sized> prompts, answers;
};
using Kinds = std::map<std::pair<EngineKind, std::string>, Pools>;

Pools& kind_of(Kinds& kinds, const ServeSetup& setup) {
  return kinds[{setup.engine, setup.formats.dtype + "/" + setup.formats.kv_dtype}];
}

// Calls `take` with the two best of either pool.
void pair_up(Kinds& kinds, const std::function<bool(const Sized&, const Sized&)>& better,
             const std::function<void(const Sized& prompts, const Sized& answers)>& take) {
  for (auto& [kind, pools] : kinds) {
    std::stable_sort(pools.prompts.begin(), pools.prompts.end(), better);
    std::stable_sort(pools.answers.begin(), pools.answers.end(), better);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, pools.prompts.size()); ++i)
      for (std::size_t j = 0; j < std::min<std::size_t>(2, pools.answers.size()); ++j)
        take(pools.prompts[i], pools.answers[j]);
  }
}

}  // namespace

Count CandidateSearch::most_copies(const ServeSetup& setup) const {
  const GpuOffer& offer = q_.gpus[setup.offer];
  double gpus = offer.most;
  if (q_.budget > 0 && offer.usd_per_hour.value_or(0) > 0)
    gpus = std::min(gpus, std::floor(q_.budget / *offer.usd_per_hour));
  return static_cast<Count>(gpus) / setup.layout.ranks();
}

bool CandidateSearch::far_too_large(const ServeSetup& setup) const {
  if (q_.objective != ServingObjective::cost || !q_.layouts.empty()) return false;
  const auto fewest = fewest_.find(setup.offer);
  return fewest != fewest_.end() && setup.layout.ranks() > kFarTooLarge * fewest->second;
}

PlannedDeployment CandidateSearch::deployment_of(PlannedPool pool, std::optional<PlannedPool> prefill) const {
  PlannedDeployment d;
  d.pool = std::move(pool), d.prefill = std::move(prefill);
  const GpuOffer& offer = q_.gpus[d.pool.setup->offer];
  if (d.prefill) d.link = link_of(offer, d.gpus());
  if (offer.usd_per_hour) d.usd_per_hour = *offer.usd_per_hour * d.gpus();
  return d;
}

PlannedDeployment CandidateSearch::evaluated(PlannedPool pool, std::optional<PlannedPool> prefill, double rate) {
  PlannedDeployment d = deployment_of(std::move(pool), std::move(prefill));
  d.rate = rate;
  d.steady = steady_state(d.simulation(q_), q_.load(rate, d.pool.setup->pool.geometry.block_tokens));
  ++plan_.tried;
  return d;
}

double CandidateSearch::margin_of(const PlannedDeployment& d, const Slo& slo) const {
  return margin(slo, d.steady, q_.statistic, q_.mean_output());
}

void CandidateSearch::keep(PlannedDeployment d, bool fits) {
  if (fits && margin_of(d) >= 0) {
    int& fewest = fewest_[d.pool.setup->offer];
    if (fewest == 0 || d.gpus() < fewest) fewest = d.gpus();
  }
  if (fits) found_.push_back(std::move(d));
  else if (!plan_.nearest || margin_of(d) > margin_of(*plan_.nearest)) plan_.nearest = std::move(d);
}

Status CandidateSearch::search(const Setups& setups, const Watch& progress) {
  for (std::size_t i = 0; i < setups.size(); ++i) {
    if (q_.together) asks_for_a_rate() ? size_together(setups[i]) : fill_together(setups[i]);
    if (!progress.go_on(static_cast<double>(i + 1) / static_cast<double>(setups.size()))) return stopped();
  }
  if (q_.apart) asks_for_a_rate() ? size_apart(setups) : fill_apart(setups);
  return Ok{};
}

void CandidateSearch::size_together(const std::shared_ptr<const ServeSetup>& setup) {
  if (far_too_large(*setup)) return;
  const Count most = most_copies(*setup);
  if (most == 0) {
    ++plan_.too_dear;
    return;
  }
  const double rate = q_.workload.rate;
  const Count least = smallest(most, [&](Count n) {
    PlannedDeployment d = evaluated({setup, n}, {}, rate);
    const bool fits = margin_of(d) >= -kPlanDoubt;
    keep(std::move(d), fits);
    return fits;
  });
  if (least == 0) {
    ++plan_.too_slow;
    return;
  }
  Count last = least;
  for (const Count n : {least + 1, ceil_div(5 * least, 4), ceil_div(3 * least, 2), 2 * least})
    if (n > last && n <= most) keep(evaluated({setup, last = n}, {}, rate), true);
}

// A pool for prompts answers for TTFT alone, one for answers for TPOT: each is sized beside plenty of the other.
void CandidateSearch::size_apart(const Setups& setups) {
  Kinds kinds;
  Slo first, rest;
  first.ttft = q_.steady_slo().ttft;
  rest.tpot = q_.steady_slo().tpot;
  const double rate = q_.workload.rate;
  for (const auto& setup : setups) {
    // Limits matter little to pools of one kind of work: the defaults.
    if (!default_limits(setup, setups) || far_too_large(*setup)) continue;
    const Count most = most_copies(*setup);
    Pools& pools = kind_of(kinds, *setup);
    const auto size = [&](const Slo& slo, bool prompts) {
      return smallest(most - 1, [&](Count n) {
        const Count plenty = 4 * most;
        const PlannedDeployment d =
            evaluated({setup, prompts ? plenty : n}, PlannedPool{setup, prompts ? n : plenty}, rate);
        return margin_of(d, slo) >= -kPlanDoubt;
      });
    };
    if (const Count n = size(first, true); n > 0) pools.prompts.push_back({setup, n});
    if (const Count n = size(rest, false); n > 0) pools.answers.push_back({setup, n});
  }
  const auto cheap = [](const Sized& a, const Sized& b) { return a.gpus() < b.gpus(); };
  pair_up(kinds, cheap, [&](const Sized& p, const Sized& a) {
    if (p.gpus() + a.gpus() > most_copies(*p.setup) * p.ranks()) return;
    PlannedDeployment d = evaluated({a.setup, a.copies}, PlannedPool{p.setup, p.copies}, rate);
    const bool fits = margin_of(d) >= -kPlanDoubt;
    keep(std::move(d), fits);
  });
}

double CandidateSearch::highest_rate(const PlannedPool& pool, const std::optional<PlannedPool>& prefill,
                                     const Slo& slo) {
  // Without an objective whatever can be served will do.
  const SimulationOptions options = deployment_of(pool, prefill).simulation(q_);
  const Count block = pool.setup->pool.geometry.block_tokens;
  return largest_rate([&](double rate) {
    ++plan_.tried;
    if (!slo.any()) return steady_limit(options, q_.load(rate, block)) == Limit::none;
    return margin(slo, steady_state(options, q_.load(rate, block)), q_.statistic, q_.mean_output()) >= 0;
  });
}

void CandidateSearch::fill_together(const std::shared_ptr<const ServeSetup>& setup) {
  const Count most = most_copies(*setup);
  if (most == 0) {
    ++plan_.too_dear;
    return;
  }
  // A GPU's throughput is the same in one copy as in many.
  const PlannedPool pool{setup, q_.objective == ServingObjective::throughput ? 1 : most};
  const double rate = highest_rate(pool, {}, q_.steady_slo());
  if (!(rate > 0)) ++plan_.too_slow;
  else keep(evaluated(pool, {}, rate), true);
}

// Each pool's rate a copy beside plenty of the other, then the numbers of copies that are best together.
void CandidateSearch::fill_apart(const Setups& setups) {
  constexpr Count kPlenty = 1000, kMostOfKind = 64;
  const bool per_gpu = q_.objective == ServingObjective::throughput;
  Kinds kinds;
  Slo first, rest;
  first.ttft = q_.steady_slo().ttft;
  rest.tpot = q_.steady_slo().tpot;
  for (const auto& setup : setups) {
    if (!default_limits(setup, setups) || most_copies(*setup) < 1) continue;
    Pools& pools = kind_of(kinds, *setup);
    const PlannedPool one{setup, 1}, plenty{setup, kPlenty};
    if (const double rate = highest_rate(plenty, one, first); rate > 0) pools.prompts.push_back({setup, 1, rate});
    if (const double rate = highest_rate(one, plenty, rest); rate > 0) pools.answers.push_back({setup, 1, rate});
  }
  const auto better = [](const Sized& a, const Sized& b) { return a.rate / a.ranks() > b.rate / b.ranks(); };
  pair_up(kinds, better, [&](const Sized& p, const Sized& a) {
    const int gpus = static_cast<int>(most_copies(*p.setup)) * p.ranks();
    Count prompts = 0, answers = 0;
    double most = 0;
    for (Count n = 1; n <= kMostOfKind && n * p.ranks() < gpus; ++n) {
      Count left = (gpus - n * p.ranks()) / a.ranks();
      if (per_gpu)
        left = std::min<Count>(left, static_cast<Count>(std::ceil(static_cast<double>(n) * p.rate / a.rate)));
      if (left < 1) continue;
      double rate = std::min(static_cast<double>(n) * p.rate, static_cast<double>(left) * a.rate);
      if (per_gpu) rate /= static_cast<double>(n * p.ranks() + left * a.ranks());
      if (rate > most * (1 + 1e-9)) most = rate, prompts = n, answers = left;
    }
    if (prompts == 0) return;
    const PlannedPool decode{a.setup, answers}, prefill{p.setup, prompts};
    if (const double rate = highest_rate(decode, prefill, q_.steady_slo()); rate > 0)
      keep(evaluated(decode, prefill, rate), true);
  });
}

std::vector<PlannedDeployment> CandidateSearch::best() && {
  std::vector<std::pair<PlanRank, PlannedDeployment>> sorted;
  for (PlannedDeployment& d : found_) {
    const PlanRank s = plan_rank(q_, d);
    sorted.emplace_back(s, std::move(d));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : in_steps(margin_of(a.second)) > in_steps(margin_of(b.second));
  });
  std::vector<PlannedDeployment> chosen;
  std::map<std::string, int> of_a_kind;
  for (auto& ranked : sorted) {
    const PlanRank& s = ranked.first;
    PlannedDeployment& d = ranked.second;
    const ServeSetup& setup = *d.pool.setup;
    // Costs tie; other figures hardly do, and are of one kind where only limits differ.
    const std::string kind =
        q_.objective == ServingObjective::cost
            ? fmt::format("{} {} {}", s.after, s.value, static_cast<int>(setup.engine))
            : fmt::format("{} {} {} {} {} {}", setup.offer, static_cast<int>(setup.engine), setup.formats.dtype,
                          setup.formats.kv_dtype, text_of(setup.layout), d.prefill.has_value());
    // One of each engine where there are several: a front of a dozen is to reach beyond the cheapest.
    if (of_a_kind[kind] == (q_.engines.size() > 1 ? 1 : kOfOneCost)) continue;
    const bool beaten =
        asks_for_a_rate() && std::any_of(chosen.begin(), chosen.end(), [&](const PlannedDeployment& other) {
          // GPUs and engines are forecast with different certainty, which only a simulation tells.
          return other.pool.setup->offer == setup.offer && other.pool.setup->engine == setup.engine &&
                 plan_rank(q_, other) < s && margin_of(other) >= 0 &&
                 other.steady.ttft_at(q_.statistic) <= d.steady.ttft_at(q_.statistic) &&
                 other.steady.tpot_at(q_.statistic) <= d.steady.tpot_at(q_.statistic);
        });
    if (beaten) continue;
    chosen.push_back(std::move(d)), ++of_a_kind[kind];
  }
  return chosen;
}

std::vector<std::pair<ParetoPoint, PlannedDeployment>> CandidateSearch::pareto(const Setups& setups) {
  std::vector<std::pair<ParetoPoint, PlannedDeployment>> points;
  for (const auto& setup : setups) {
    if (!q_.together || !default_limits(setup, setups) || most_copies(*setup) < 1) continue;
    const PlannedPool pool{setup, 1};
    const double most = highest_rate(pool, {}, {});
    for (const double share : {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.97}) {
      const PlannedDeployment d = evaluated(pool, {}, most * share);
      if (d.steady.saturated() || !(d.steady.tpot > seconds(0))) continue;
      ParetoPoint p;
      p.tokens_per_user = 1 / d.steady.tpot.base();
      p.tokens_per_gpu = q_.requests_at(d.rate) * static_cast<double>(q_.mean_output()) / d.gpus();
      p.concurrency =
          q_.requests_at(d.rate) * (d.steady.ttft + d.steady.tpot * static_cast<double>(q_.mean_output() - 1)).base();
      p.what = fmt::format("{} {} {}{}{}", q_.gpus[setup->offer].gpu.name, name_of(setup->engine), setup->formats.dtype,
                           setup->formats.kv_dtype.empty() ? "" : ", cache " + setup->formats.kv_dtype,
                           setup->layout.ranks() > 1 ? ", " + text_of(setup->layout) : "");
      p.gpu = q_.gpus[setup->offer].gpu.name;
      p.layout = setup->layout.ranks() > 1 ? text_of(setup->layout) : "1 GPU";
      points.emplace_back(std::move(p), d);
    }
  }
  return points;
}

}  // namespace tilecast
