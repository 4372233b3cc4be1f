// What to change first so that a training ends sooner.
#pragma once

#include <vector>

#include "parallel/plan.h"
#include "tilecast/plan.h"

namespace tilecast {

// Changes that somebody can make: a setting of the framework, a card or a network that is sold, the way checkpoints are
// written. Each is forecast anew, alone; largest gain first, those below one in a hundred are not worth a word. `plan`
// and `whole` are those of the query.
std::vector<TrainingAdvice> advice_for(const PlanTrainQuery& q, const TrainingQuery& query, const TrainingPlan& plan,
                                       const TrainingRun& whole, const StepPricing& with);

}  // namespace tilecast
