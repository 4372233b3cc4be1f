#include "serve/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "constants/serve.h"
#include "serve/plan_candidates.h"
#include "serve/plan_judge.h"
#include "serve/plan_nearest.h"
#include "serve/plan_pictures.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr std::size_t kMostFinalists = 12;
// Finding the rate that serves most takes ten runs and more of each.
constexpr std::size_t kMostLoadFinalists = 5;
constexpr std::size_t kMostJudged = 24;
// Of one GPU: those whose interval reaches beyond the SLO. More that have no more room to it would tell nothing new,
// and leave no place for others.
constexpr int kMostUnsure = 3;
constexpr double kMoreRoom = 0.1;
constexpr int kMostMeasured = 4;  // tried on cards that somebody measured, where the best rests on none
struct UnsurePlans {
  int judged = 0;
  double most_room = -1;  // of their steady states to the SLO
};

class Search {
 public:
  Search(const ServeQuery& query, Method method, const ModelSource* weights, const Watch& progress)
      : q_(query), method_(method), weights_(weights), progress_(progress), judge_(query, method, weights) {}

  Result<ServePlan> run() && {
    CandidateSearch candidates(q_, plan_);
    for (std::size_t offer = 0; offer < q_.gpus.size(); ++offer) {
      auto setups = serving_setups(q_, offer, method_, weights_);
      if (!setups) return std::move(setups).error();
      plan_.too_large += setups->too_large;
      if (!setups->does_not_fit.empty()) plan_.does_not_fit = setups->does_not_fit;
      plan_.unsuited += setups->unsuited;
      if (!setups->does_not_suit.empty()) plan_.does_not_suit = setups->does_not_suit;
      const auto searched = candidates.search(setups->all, [&](double share) {
        return report(0.75 * (static_cast<double>(offer) + share) / static_cast<double>(q_.gpus.size()));
      });
      if (!searched) return searched.error();
      for (const auto& setup : setups->all)
        if (auto fine = setup->steps->status(); !fine) return fine.error();
      setups_.push_back(std::move(setups->all));
    }
    candidates_ = std::move(candidates).best();
    if (auto done = judge_finalists(); !done) return done.error();
    rank();
    if (auto done = judge_measured(); !done) return done.error();
    if (auto done = plan_.best ? find_break() : find_attainable(); !done) return done.error();
    if (q_.pictures) {
      auto pictures = plan_pictures(q_, setups_, judge_, plan_.best ? &plan_.finalists[*plan_.best] : nullptr);
      if (!pictures) return std::move(pictures).error();
      plan_.pictures = *std::move(pictures);
    }
    return std::move(plan_);
  }

 private:
  bool report(double share) const { return progress_.go_on(share); }
  bool good(const PlannedDeployment& d) const { return d.meets && d.chance.value_or(1) >= q_.least_chance; }

  Status judge(PlannedDeployment& d) {
    if (q_.objective == ServingObjective::load) return judge_.judge_most_load(d);
    if (q_.objective == ServingObjective::throughput) {
      // As many requests as there are places for: more of them would only wait.
      const Count tokens = q_.mean_input() + q_.mean_output();
      const PoolOptions pool = d.pool.pool();
      d.in_flight = std::max<Count>(1, pool.replicas * most_at_once(pool, tokens));
    }
    return judge_.judge(d);
  }

  // Whether a buyer may count on it. A cheap plan that is a coin toss stands after a dearer one that is not.
  bool sure(const PlannedDeployment& d) const { return good(d) && d.chance.value_or(1) >= kPlanSure; }
  // At a rate that is asked for, a chance is part of the answer; other objectives weigh it themselves.
  bool asks_for_chance() const {
    return q_.any_objective() && (q_.objective == ServingObjective::cost || q_.objective == ServingObjective::energy);
  }
  // One whose files lack a name gives way to one that can be started and is worth a little less.
  PlanRank rank_to_start(const PlannedDeployment& d) const {
    constexpr double kLittle = 1.05;
    PlanRank rank = plan_rank(q_, d);
    const auto lacks = [&](const PlannedPool& pool) { return q_.complete && !q_.complete(pool.setup); };
    if (lacks(d.pool) || (d.prefill && lacks(*d.prefill)))
      rank.value = rank.value > 0 ? rank.value * kLittle : rank.value / kLittle;
    return rank;
  }
  bool before(const PlannedDeployment& a, const PlannedDeployment& b) const {
    if (good(a) != good(b)) return good(a);
    if (asks_for_chance() && sure(a) != sure(b)) return sure(a);
    const PlanRank of_a = rank_to_start(a), of_b = rank_to_start(b);
    // Of those that are worth the same the likelier.
    return of_a == of_b ? a.chance.value_or(1) > b.chance.value_or(1) : of_a < of_b;
  }

  // In the order of their steady states until enough met: the best, and the front beside it.
  Status judge_finalists() {
    const std::size_t most = q_.objective == ServingObjective::load ? kMostLoadFinalists : kMostFinalists;
    // By GPU and engine: kernels of one engine may be less sure than those of another.
    std::map<std::pair<std::size_t, EngineKind>, UnsurePlans> unsure;
    std::size_t met = 0, judged = 0;
    for (std::size_t i = 0; i < candidates_.size() && plan_.finalists.size() < most && judged < kMostJudged; ++i) {
      PlannedDeployment& d = candidates_[i];
      UnsurePlans& of_gpu = unsure[{d.pool.setup->offer, d.pool.setup->engine}];
      const double room = margin(q_.steady_slo(), d.steady, q_.statistic, q_.mean_output());
      if (asks_for_chance() && of_gpu.judged >= kMostUnsure && room < of_gpu.most_room + kMoreRoom) continue;
      if (auto done = resize(d); !done) return done;
      if (known(d)) continue;
      if (auto done = judge(d); !done) return done;
      ++judged;
      if (!sure(d)) ++of_gpu.judged, of_gpu.most_room = std::max(of_gpu.most_room, room);
      met += asks_for_chance() ? sure(d) : good(d);
      const PlannedDeployment judged_one = d;
      plan_.finalists.push_back(std::move(d));
      if (auto done = judge_larger(judged_one); !done) return done;
      if (met == 0 && plan_.finalists.size() + 1 == most) drop_one();
      if (!report(0.75 + 0.2 * static_cast<double>(i + 1) / static_cast<double>(candidates_.size()))) return stopped();
    }
    return Ok{};
  }
  // Where no measurement says how the best one's card runs its kernels, the best that rests on some is simulated too:
  // whoever buys may want to pay for that.
  Status judge_measured() {
    const auto measured = [](const PlannedDeployment& d) { return d.seen != Seen::no; };
    if (!plan_.best || !asks_for_chance() || measured(plan_.finalists[*plan_.best])) return Ok{};
    std::set<std::size_t> unmeasured;
    for (const PlannedDeployment& d : plan_.finalists) {
      if (measured(d) && sure(d)) return Ok{};
      if (!measured(d)) unmeasured.insert(d.pool.setup->offer);
    }
    int tried = 0;
    for (PlannedDeployment& d : candidates_) {
      if (!d.pool.setup || unmeasured.count(d.pool.setup->offer) > 0) continue;  // judged, or as little known
      if (tried++ == kMostMeasured) break;
      if (auto done = resize(d); !done) return done;
      if (known(d)) continue;
      if (auto done = judge(d); !done) return done;
      if (!measured(d)) unmeasured.insert(d.pool.setup->offer);
      const bool found = measured(d) && sure(d);
      plan_.finalists.push_back(std::move(d));
      if (found) break;
    }
    plan_.front.clear(), plan_.best.reset();
    rank();
    return Ok{};
  }
  // A steady state knows nothing of bursts, of histories that a cache loses, and of who is served first: where requests
  // have such, simulations say how many copies it takes.
  Status resize(PlannedDeployment& d) const {
    const bool asks_for_a_rate = q_.objective == ServingObjective::cost || q_.objective == ServingObjective::energy;
    if (!q_.recorded.any() || !q_.any_objective() || !asks_for_a_rate || d.prefill) return Ok{};
    const Count most = most_copies(d);
    const auto fits = [&](Count copies) -> Result<bool> {
      set_copies(d, copies);
      // A run that ends is over before a queue that grows without end is long.
      if (q_.recorded.drawn && d.steady.saturated()) return false;
      const auto figures = judge_.simulated(d, d.rate);
      if (!figures) return figures.error();
      return figures->meets;
    };
    // Between the last number that misses and the first that meets.
    Count misses = 0, meets = 0;
    for (Count n = d.pool.copies; meets == 0 && misses < most; n = std::min(most, std::max(n + 1, n * 3 / 2))) {
      const auto fine = fits(n);
      if (!fine) return fine.error();
      (*fine ? meets : misses) = n;
    }
    for (Count n = meets / 2; misses == 0 && n > 0; n /= 2) {
      const auto fine = fits(n);
      if (!fine) return fine.error();
      (*fine ? meets : misses) = n;
    }
    while (meets - misses > 1) {
      const Count n = (meets + misses) / 2;
      const auto fine = fits(n);
      if (!fine) return fine.error();
      (*fine ? meets : misses) = n;
    }
    set_copies(d, meets > 0 ? meets : misses);
    return Ok{};
  }
  Count most_copies(const PlannedDeployment& d) const {
    const GpuOffer& offer = q_.gpus[d.pool.setup->offer];
    double gpus = offer.most;
    if (q_.budget > 0 && offer.usd_per_hour.value_or(0) > 0) gpus = std::min(gpus, q_.budget / *offer.usd_per_hour);
    return static_cast<Count>(gpus) / d.pool.setup->layout.ranks();
  }
  void set_copies(PlannedDeployment& d, Count copies) const {
    d.pool.copies = copies, d.most.reset();
    if (const auto& price = q_.gpus[d.pool.setup->offer].usd_per_hour) d.usd_per_hour = *price * d.gpus();
    d.steady = steady_state(d.simulation(q_), q_.load(d.rate, d.pool.setup->pool.geometry.block_tokens));
  }
  // The fewest copies that meet do so by a hair, which is a coin toss: some more make a plan that one may count on.
  Status judge_larger(PlannedDeployment d) {
    constexpr int kMostTries = 3;
    if (!q_.recorded.any() || !asks_for_chance() || d.prefill) return Ok{};
    const Count most = most_copies(d);
    for (int i = 0; i < kMostTries && d.meets && !sure(d) && d.pool.copies < most; ++i) {
      set_copies(d, std::min(most, std::max(d.pool.copies + 1, ceil_div(5 * d.pool.copies, 4))));
      if (auto done = judge(d); !done) return done;
    }
    if (d.meets && sure(d) && !known(d)) plan_.finalists.push_back(std::move(d));
    return Ok{};
  }
  // Whether it became one that was judged already.
  bool known(const PlannedDeployment& d) const {
    return std::any_of(plan_.finalists.begin(), plan_.finalists.end(), [&](const PlannedDeployment& other) {
      return other.pool.setup == d.pool.setup && other.pool.copies == d.pool.copies &&
             other.prefill.has_value() == d.prefill.has_value() && !d.prefill;
    });
  }
  // Those that seemed to meet and do not make room for others: they are not on the front. Else the least likely goes.
  void drop_one() {
    std::vector<PlannedDeployment>& all = plan_.finalists;
    const auto likely = [&](const PlannedDeployment& d) { return d.meets ? 1 + d.chance.value_or(1) : 0; };
    all.erase(std::min_element(all.begin(), all.end(), [&](const PlannedDeployment& a, const PlannedDeployment& b) {
      return likely(a) < likely(b);
    }));
  }

  void rank() {
    std::vector<PlannedDeployment>& all = plan_.finalists;
    std::stable_sort(all.begin(), all.end(),
                     [&](const PlannedDeployment& a, const PlannedDeployment& b) { return before(a, b); });
    if (!all.empty() && good(all.front())) plan_.best = 0;
    // The front leaves the size of chances out of account: what is cheaper and as fast. One that nobody may count on
    // stands for none that one may.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].meets) order.push_back(i);
    const auto plain = [&](std::size_t i) {
      PlannedDeployment d = all[i];
      d.chance.reset();
      return plan_rank(q_, d);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return plain(a) < plain(b); });
    for (const std::size_t i : order) {
      const auto time = [&](std::size_t k, Summary ServingMetrics::*of) {
        return statistic_of((*all[k].simulated).*of, q_.statistic);
      };
      const bool beaten = std::any_of(plan_.front.begin(), plan_.front.end(), [&](std::size_t k) {
        return (sure(all[k]) || !sure(all[i])) &&
               time(k, &ServingMetrics::ttft) <= time(i, &ServingMetrics::ttft) * kSameTime &&
               time(k, &ServingMetrics::tpot) <= time(i, &ServingMetrics::tpot) * kSameTime;
      });
      if (!beaten || plan_.best == i) plan_.front.push_back(i);
    }
  }

  // Raises the rate until the simulation misses an objective, and closes in on that rate.
  Status find_break() {
    if (!q_.any_objective()) return Ok{};
    const PlannedDeployment& best = plan_.finalists[*plan_.best];
    double passes = best.rate, fails = 0;
    ServingMetrics failed;
    const auto ask = [&](double rate) -> Status {
      auto figures = judge_.simulated(best, rate);
      if (!figures) return std::move(figures).error();
      if (figures->meets) passes = rate;
      else fails = rate, failed = std::move(figures->metrics);
      return Ok{};
    };
    const Saturation most = judge_.saturation(best);
    plan_.breaks.saturation = most.rate, plan_.breaks.limit = most.limit;
    for (int i = 0; i < 16 && fails == 0; ++i)
      if (auto done = ask(passes * 1.25); !done) return done;
    if (fails == 0) return Ok{};
    for (int i = 0; i < 4; ++i)
      if (auto done = ask((passes + fails) / 2); !done) return done;
    plan_.breaks.rate = fails, plan_.breaks.objective = worst_objective(failed);
    plan_.breaks.cache_full = failed.cache_peak > 0.98;
    return Ok{};
  }
  std::string worst_objective(const ServingMetrics& m) const {
    const auto over = [&](const std::optional<Seconds>& slo, const Summary& of) {
      return slo ? statistic_of(of, q_.statistic) / *slo : 0;
    };
    const double ttft = over(q_.slo.ttft, m.ttft), tpot = over(q_.slo.tpot, m.tpot), e2el = over(q_.slo.e2el, m.e2el);
    double most = std::max({ttft, tpot, e2el});
    std::string worst = ttft >= tpot && ttft >= e2el ? "TTFT" : tpot >= e2el ? "TPOT" : "E2EL";
    for (std::size_t i = 0; i < std::min(q_.classes.size(), m.classes.size()); ++i) {
      const Slo& slo = q_.classes[i].slo;
      const ClassMetrics& c = m.classes[i];
      for (const auto& [value, name] :
           {std::pair{over(slo.ttft, c.ttft), "TTFT of "}, std::pair{over(slo.tpot, c.tpot), "TPOT of "},
            std::pair{over(slo.e2el, c.e2el), "E2EL of "}})
        if (value > most) most = value, worst = name + c.name;
    }
    return worst;
  }

  // Where nothing meets: what misses by least, and the highest rate at which the SLO is met.
  Status find_attainable() {
    if (!plan_.finalists.empty()) plan_.nearest = least_missed();
    else if (plan_.nearest && !plan_.nearest->steady.saturated()) {
      if (auto done = judge_.judge(*plan_.nearest); !done) return done;
    } else if (plan_.nearest) {
      if (auto done = find_nearest_saturated(); !done) return done;
    }
    if (q_.objective == ServingObjective::throughput || !q_.any_objective()) return Ok{};
    ServeQuery load = q_;
    load.objective = ServingObjective::load;
    ServePlan unused;
    CandidateSearch again(load, unused);
    for (const auto& setups : setups_)
      if (auto searched = again.search(setups, [&](double) { return report(0.95); }); !searched) return searched;
    std::vector<PlannedDeployment> best = std::move(again).best();
    if (best.empty()) return Ok{};
    if (auto done = judge_.judge_most_load(best.front()); !done) return done;
    if (best.front().meets) plan_.attainable = std::move(best.front());
    return Ok{};
  }
  // Where the rate is too much for every set-up: the one whose requests, where they come alone, are nearest to the
  // objectives, and of those that meet them so the one that takes most.
  Status find_nearest_saturated() {
    auto nearest = nearest_saturated(q_, setups_, judge_);
    if (!nearest) return std::move(nearest).error();
    if (*nearest) plan_.nearest = **std::move(nearest);
    return Ok{};
  }
  PlannedDeployment least_missed() const {
    return *std::max_element(plan_.finalists.begin(), plan_.finalists.end(),
                             [&](const PlannedDeployment& a, const PlannedDeployment& b) {
                               return q_.margin_of(*a.simulated) < q_.margin_of(*b.simulated);
                             });
  }

  const ServeQuery& q_;
  Method method_;
  const ModelSource* weights_;
  const Watch& progress_;
  PlanJudge judge_;
  ServePlan plan_;
  std::vector<CandidateSearch::Setups> setups_;  // by offer
  std::vector<PlannedDeployment> candidates_;
};

}  // namespace

Result<ServePlan> plan_serving(const ServeQuery& query, Method method, const ModelSource* weights,
                               const Watch& progress) {
  const bool cost = query.objective == ServingObjective::cost, load = query.objective == ServingObjective::load;
  if ((cost || query.objective == ServingObjective::energy) && !(query.workload.rate > 0))
    return error("a plan needs a rate of requests");
  if ((cost || load) && !query.any_objective()) return error("a plan needs an objective", "ttft=500ms,tpot=30ms");
  if (query.gpus.empty() || query.engines.empty()) return error("a plan needs a GPU and an engine to choose from");
  if (!query.model.decoder || !query.model.lm_head || query.model.encoder)
    return Error{query.model.name, "", "does not generate text from text alone", "a decoder: `tilecast models`"};
  return Search(query, method, weights, progress).run();
}

}  // namespace tilecast
