#include "estimate/learned.h"

#include <algorithm>
#include <cmath>

#include "gpu/registry.h"
#include "kernel/attention_sources.h"

namespace tilecast {

std::string model_key(const Kernel& kernel) {
  return std::string(family_of(kernel.shape)) + "/" + std::string(kernel.format.name);
}

std::array<std::string, 3> source_names(const Context& context, const Gpu& gpu) {
  const std::string vendor = gpu.vendor == Vendor::nvidia ? "nvidia" : gpu.vendor == Vendor::amd ? "amd" : "intel";
  const std::string engine = vendor + "/" + std::string(context.engine);
  return {engine + "/" + std::string(kept_as(context.kernel_source)), engine, vendor};
}

SourceFacts facts_of(const FamilyModel& model, const Context& context, const Gpu& gpu) {
  for (const std::string& name : source_names(context, gpu))
    if (const auto found = model.sources.find(name); found != model.sources.end()) return found->second;
  return {};
}

double floor_law(const Gpu& gpu) { return 0.35 + 0.65 * 1.9 / in_gigahertz(gpu.clock.max); }

Seconds base_time(const Estimate& analytic, const SourceFacts& facts, const Gpu& gpu) {
  return analytic.latency + microseconds(facts.floor_us * floor_law(gpu));
}

LearnedTime learned_time(const FamilyModel& model, const Kernel& kernel, const Plan& plan, const Estimate& analytic,
                         const Gpu& gpu, const Context& context) {
  const SourceFacts facts = facts_of(model, context, gpu);
  const Seconds base = base_time(analytic, facts, gpu);
  const Features features = features_of(kernel, plan, analytic, gpu, context, base, facts.code);
  const auto time = [&](const Forest& forest) {
    return std::max(base * std::exp(forest.predict(features)), analytic.bound);
  };
  LearnedTime t{time(model.median), time(model.low), time(model.high), time(model.ceiling)};
  t.low = std::min(t.low, t.median);  // forests are trained apart and may cross
  t.high = std::max(t.high, t.median);
  return t;
}

namespace {

// A GPU of the same architecture and way of feeding its tensor pipe teaches most of what there is to know.
Seen seen_by(const FamilyModel& model, const Gpu& gpu) {
  if (model.seen.contains(gpu.name)) return Seen::yes;
  for (const Gpu& other : built_in_gpus())
    if (model.seen.contains(other.name) && other.architecture == gpu.architecture &&
        other.tensor_generation() == gpu.tensor_generation())
      return Seen::sibling;
  return Seen::no;
}

}  // namespace

Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context) {
  const LearnedTime t = learned_time(model, kernel, plan, analytic, gpu, context);
  Estimate e = analytic;
  // What stands above the bound is stretched, so that no launch falls below its own and the launches still sum to the
  // whole.
  const Seconds above = analytic.latency - analytic.bound;
  const double factor = above > seconds(0) ? (t.median - analytic.bound) / above : 1;
  e.latency = t.median;
  e.interval = {t.low, t.high};
  e.efficiency = e.bound / e.latency;
  e.seen = seen_by(model, gpu);
  for (LaunchEstimate& launch : e.launches) launch.latency = launch.bound + (launch.latency - launch.bound) * factor;
  return e;
}

}  // namespace tilecast
