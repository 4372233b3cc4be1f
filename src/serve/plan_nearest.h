// What comes nearest to the objectives where the rate is too much for every set-up that the GPUs and the budget allow.
#pragma once

#include "serve/plan_candidates.h"
#include "serve/plan_judge.h"

namespace tilecast {

// The set-up, in as many copies as are allowed, whose requests are nearest to the objectives where each comes alone;
// of those that meet them so the one that takes most. With the most that it takes and what requests see that come
// alone. Nothing where no set-up takes any.
Result<std::optional<PlannedDeployment>> nearest_saturated(const ServeQuery& query,
                                                           const std::vector<CandidateSearch::Setups>& setups,
                                                           const PlanJudge& judge);

}  // namespace tilecast
