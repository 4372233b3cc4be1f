// One kernel's forecast from its description: plan, analytic estimate, learned correction.
#pragma once

#include "estimate/estimate.h"
#include "estimate/weights.h"
#include "kernel/kernel.h"

namespace tilecast {

struct Priced {
  Plan plan;
  Estimate estimate;
};
// `weights` may be null: then nothing learned is used. Methods with their own weights get only their frame
// (estimate/estimate.h).
Result<Priced> price(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                     const ModelSource* weights, Wanted wanted = Wanted::all);

}  // namespace tilecast
