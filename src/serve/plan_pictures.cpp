#include "serve/plan_pictures.h"

#include <algorithm>
#include <utility>

namespace tilecast {
namespace {

using DrawnPoints = std::vector<std::pair<ParetoPoint, PlannedDeployment>>;

void mark_fronts(DrawnPoints& points) {
  for (auto& point : points) {
    ParetoPoint& p = point.first;
    const auto beats = [&p](const ParetoPoint& o) {
      return o.tokens_per_gpu >= p.tokens_per_gpu && o.tokens_per_user >= p.tokens_per_user &&
             (o.tokens_per_gpu > p.tokens_per_gpu || o.tokens_per_user > p.tokens_per_user);
    };
    p.front = std::none_of(points.begin(), points.end(), [&](const auto& o) { return beats(o.first); });
    p.layout_front = std::none_of(points.begin(), points.end(), [&](const auto& o) {
      return o.first.gpu == p.gpu && o.first.layout == p.layout && beats(o.first);
    });
  }
}

LoadPoint load_point(const PlannedDeployment& d, Statistic statistic) {
  LoadPoint point;
  point.rate = d.rate;
  const auto add = [&](Summary ServingMetrics::*of, Seconds& time, Interval& interval) {
    const auto at = [&](const ServingMetrics& m) { return statistic_of(m.*of, statistic); };
    time = at(*d.simulated);
    interval = {at(d.fast.value_or(*d.simulated)), at(d.slow.value_or(*d.simulated))};
  };
  add(&ServingMetrics::ttft, point.ttft, point.ttft_interval);
  add(&ServingMetrics::tpot, point.tpot, point.tpot_interval);
  add(&ServingMetrics::e2el, point.e2el, point.e2el_interval);
  return point;
}

Status draw_best(const ServeQuery& query, const PlanJudge& judge, const PlannedDeployment& best,
                 PlanPictures& pictures) {
  constexpr int kSlices = 200;
  const auto run = judge.run(best, best.rate, RunCare::shown);
  if (!run) return run.error();
  pictures.slices = over_time(run->outcome, kSlices);
  const auto shares = static_cast<double>(run->plan.shares);
  for (Slice& slice : pictures.slices) {
    slice.running *= shares, slice.waiting *= shares;
    if (slice.watts) *slice.watts *= shares;
  }
  PlannedDeployment open = best;
  open.in_flight = 0;
  for (const double share : {0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5}) {
    open.rate = best.rate * share;
    open.fast.reset(), open.slow.reset();
    if (auto done = judge.judge(open); !done) return done;
    pictures.loads.push_back(load_point(open, query.statistic));
  }
  return Ok{};
}

}  // namespace

Result<PlanPictures> plan_pictures(const ServeQuery& query, const std::vector<CandidateSearch::Setups>& setups,
                                   const PlanJudge& judge, const PlannedDeployment* best) {
  PlanPictures pictures;
  ServePlan unused;
  CandidateSearch steady(query, unused);
  DrawnPoints points;
  for (const auto& of_one_gpu : setups)
    for (auto& point : steady.pareto(of_one_gpu)) points.push_back(std::move(point));
  mark_fronts(points);
  for (auto& point : points) {
    if (point.first.front || point.first.layout_front) judge.add_interval(point.first, point.second);
    pictures.pareto.push_back(std::move(point.first));
  }
  if (best)
    if (auto done = draw_best(query, judge, *best, pictures); !done) return std::move(done).error();
  return pictures;
}

}  // namespace tilecast
