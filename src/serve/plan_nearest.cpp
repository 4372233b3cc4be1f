#include "serve/plan_nearest.h"

#include <algorithm>
#include <utility>

namespace tilecast {
namespace {

constexpr double kShareAlone = 0.01;  // of the most that it takes: hardly two requests at a time

struct Near {
  PlannedDeployment deployment;
  double margin = 0, takes = 0;
  bool nearer_than(const Near& other) const {
    // Within the objectives all are alike.
    return std::pair{std::min(margin, 0.0), takes} > std::pair{std::min(other.margin, 0.0), other.takes};
  }
};

}  // namespace

Result<std::optional<PlannedDeployment>> nearest_saturated(const ServeQuery& query,
                                                           const std::vector<CandidateSearch::Setups>& setups,
                                                           const PlanJudge& judge) {
  ServePlan counted;
  CandidateSearch search(query, counted);
  std::optional<Near> best;
  for (const CandidateSearch::Setups& of_offer : setups)
    for (const auto& setup : of_offer) {
      const Count copies = search.most_copies(*setup);
      if (copies < 1 || !query.together) continue;
      const PlannedPool pool{setup, copies};
      Near near{search.evaluated(pool, {}, query.workload.rate)};
      const Saturation most = judge.saturation(near.deployment);
      if (!(most.rate > 0) || most.limit == Limit::none) continue;
      const PlannedDeployment alone = search.evaluated(pool, {}, most.rate * kShareAlone);
      near.takes = most.rate;
      near.margin = margin(query.steady_slo(), alone.steady, query.statistic, query.mean_output());
      if (!best || near.nearer_than(*best)) best = std::move(near);
    }
  if (!best) return std::optional<PlannedDeployment>{};
  auto figures = judge.simulated(best->deployment, best->takes * kShareAlone);
  if (!figures) return std::move(figures).error();
  PlannedDeployment nearest = std::move(best->deployment);
  nearest.takes = best->takes, nearest.alone = std::move(figures->metrics);
  return std::optional<PlannedDeployment>{std::move(nearest)};
}

}  // namespace tilecast
