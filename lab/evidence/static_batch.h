// A static batch that generates, as a case's runs: one prefill, and decode steps at contexts that stand for all the
// steps.
#pragma once

#include <functional>

#include "lab/evidence/endtoend.h"

namespace tilecast {

struct StaticBatch {
  Count requests = 0, prompt = 0;
  Count answer = 1;  // tokens of each answer; the prefill gives the first
};
using RunOfWorkload = std::function<Result<Run>(Workload)>;

// Adds the batch's runs to the case and, weighted by the steps they stand for, to the figure.
Status add_static_batch(EndToEndCase& one, Figure& figure, const StaticBatch& batch, const RunOfWorkload& run_of);

}  // namespace tilecast
