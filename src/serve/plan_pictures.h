// What a plan's drawings show: throughput against speed, latency against load, the best plan's run over time.
#pragma once

#include "serve/plan_candidates.h"
#include "serve/plan_judge.h"

namespace tilecast {

// `best`: the plan that is drawn under load; null where none meets.
Result<PlanPictures> plan_pictures(const ServeQuery& query, const std::vector<CandidateSearch::Setups>& setups,
                                   const PlanJudge& judge, const PlannedDeployment* best);

}  // namespace tilecast
