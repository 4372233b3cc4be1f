// The learned part of the forecast: what is left when the physics has spoken.
//
//   t = (analytic + floor of the kernel source) * exp(forest(features)),  never below the bound
//
// One model per family and number format. Three forests give the median and the ends of the 80 % interval, a fourth the
// ceiling: the time a well-tuned kernel reaches.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/estimate.h"
#include "estimate/features.h"
#include "estimate/forest.h"

namespace tilecast {

// What training found about one engine's kernel.
struct SourceFacts {
  float floor_us = 0;  // time beyond the analytic floor, at the reference clock
  float code = 0;      // median of log(measured / base): orders sources for the forest
};

struct FamilyModel {
  std::string key;                             // "gemm/bf16"
  std::map<std::string, SourceFacts> sources;  // by source_names
  std::map<std::string, Count> seen;           // GPU name -> rows it was trained on
  Forest median, low, high, ceiling;
};

std::string model_key(const Kernel& kernel);

// Names a row's source goes by, most specific first: engine and kernel, engine, vendor. Vendors never share facts:
// their floors differ tenfold.
std::array<std::string, 3> source_names(const Context& context, const Gpu& gpu);

// Facts of the most specific source that was trained on.
SourceFacts facts_of(const FamilyModel& model, const Context& context, const Gpu& gpu);

// Floors lie between fixed time and clocks (docs/method.md).
double floor_law(const Gpu& gpu);

// The analytic forecast with the source's own floor: what the forests correct.
Seconds base_time(const Estimate& analytic, const SourceFacts& facts, const Gpu& gpu);

struct LearnedTime {
  Seconds median, low, high, ceiling;
};
LearnedTime learned_time(const FamilyModel& model, const Kernel& kernel, const Plan& plan, const Estimate& analytic,
                         const Gpu& gpu, const Context& context);

// The analytic estimate corrected: latency, interval and seen are the model's; launches keep their shares of the whole.
Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context);

}  // namespace tilecast
