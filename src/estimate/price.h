// One kernel's forecast from its description: plan, analytic estimate, learned correction.
#pragma once

#include "estimate/estimate.h"
#include "estimate/weights.h"
#include "kernel/kernel.h"

namespace tilecast {

struct Priced {
  Plan plan;
  Estimate estimate;
  Context ran_as = {};        // the context that was planned: the likeliest kernel where none was named
  bool guessed = false;       // that kernel stands in for a name that was never measured
  bool other_format = false;  // the kernel is fp32's, which this format runs on this card
};
// `weights` may be null: then nothing learned is used. Methods with their own weights get only their frame
// (estimate/estimate.h).
Result<Priced> price(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                     const ModelSource* weights, Wanted wanted = Wanted::all);

}  // namespace tilecast
