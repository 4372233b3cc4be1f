#include "estimate/price.h"

#include <algorithm>

namespace tilecast {
namespace {

// A long run is no faster than the burst it begins with. What was learned knows rows of both at the limits of measured
// cards, and says more than that of neither where a limit is another's.
Estimate no_faster_than_a_burst(Estimate e, const Seconds& burst) {
  if (e.latency >= burst) return e;
  const double longer = burst / e.latency;
  e.interval = {e.interval.low * longer, e.interval.high * longer};
  for (LaunchEstimate& launch : e.launches) launch.latency = launch.latency * longer;
  e.latency = burst;
  e.efficiency = e.bound / e.latency;
  return e;
}

// A plan with everything that what was learned needs to know.
struct Learner {
  const FamilyModel& model;
  const Kernel& kernel;
  const Gpu& gpu;
  bool guessed;
  const Plan& plan;
};

Estimate learned(const Learner& l, const Estimate& analytic, const Context& context, Wanted wanted) {
  return corrected(analytic, l.model, l.kernel, l.plan, l.gpu, context, l.guessed, wanted);
}

// What was learned of fp32's kernel, moved to a format that it widens by what the physics says of the two.
Result<Estimate> learned_in_fp32(const Learner& l, const Estimate& analytic, const Context& context, Wanted wanted) {
  const Kernel wide{l.kernel.shape, *format_from("fp32")};
  const auto planned = plan(wide, l.gpu, context);
  if (!planned) return planned.error();
  const Estimate physics = estimate(*planned, l.gpu, context, Method::analytic);
  const Estimate fp32 = learned({l.model, wide, l.gpu, true, *planned}, physics, context, wanted);
  const double factor = analytic.latency / physics.latency;
  Estimate e = analytic;
  e.method = Method::tilecast, e.seen = fp32.seen, e.shared = fp32.shared;
  e.latency = std::max(fp32.latency * factor, analytic.assumed_bound);
  e.interval = {std::max(std::min(fp32.interval.low * factor, e.latency), analytic.assumed_bound),
                std::max(fp32.interval.high * factor, e.latency)};
  e.ceiling = std::clamp(fp32.ceiling * factor, analytic.assumed_bound, e.latency);
  e.efficiency = e.bound / e.latency;
  for (LaunchEstimate& launch : e.launches) launch.latency = launch.latency * (e.latency / analytic.latency);
  return e;
}

}  // namespace

Result<Priced> price(const Kernel& kernel, const Gpu& gpu, const Context& context, Method method,
                     const ModelSource* weights, Wanted wanted) {
  const FamilyModel* model = method == Method::tilecast && weights ? weights->find(kernel, gpu) : nullptr;
  const Context named = model ? stand_in(*model, context, gpu, &kernel.shape) : context;
  auto planned = plan(kernel, gpu, named);
  if (!planned) return std::move(planned).error();
  Estimate e = estimate(*planned, gpu, named, method);
  const bool guessed = !context.kernel_source.empty() && named.kernel_source != context.kernel_source;
  const bool other_format = model && model != weights->find(kernel);
  if (model) {
    const Learner learner{*model, kernel, gpu, guessed, *planned};
    const auto told = [&](const Estimate& physics, const Context& of, Wanted what) {
      return other_format ? learned_in_fp32(learner, physics, of, what)
                          : Result<Estimate>(learned(learner, physics, of, what));
    };
    const Estimate analytic = e;
    auto whole = told(analytic, named, wanted);
    if (!whole) return std::move(whole).error();
    e = *std::move(whole);
    if (named.run == RunLength::sustained) {
      Context begun = named;
      begun.run = RunLength::burst;
      const Estimate burst = estimate(*planned, gpu, begun, method);
      // The limit is felt here, or by the card that the forecast moves from.
      if (burst.latency < analytic.latency || (gpu.inherits() && !gpu.as_parent)) {
        const auto first = told(burst, begun, Wanted::time);
        if (!first) return first.error();
        e = no_faster_than_a_burst(std::move(e), first->latency);
      }
    }
  } else if (method == Method::tilecast && gpu.calibration) {
    e = calibrated(e, kernel, *planned, gpu, named);
  }
  return Priced{*std::move(planned), std::move(e), named, guessed, other_format};
}

}  // namespace tilecast
