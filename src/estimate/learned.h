// The learned part of the forecast: what the physics leaves unexplained.
//
//   t = tuned(terms of the analytic forecast) * exp(forest(features)),  never below the bound
//
// An unseen card keeps only a share of it (estimate/carry.h).
//
// One model per family and number format. `tuned` scales the analytic terms by what the kernel source reaches on cards
// of this tensor generation (estimate/tuning.h). There are two kinds of forest: `general` and its `siblings` know no
// card and forecast unseen ones; each of `cards` knows one card and its kernel sources, and forecasts only that card.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "estimate/standing.h"

namespace tilecast {

// What the model needs from one analytic forecast.
struct LearnedInput {
  Terms terms;
  Features raw;  // see estimate/features.h
  Seconds bound;
  std::string variant = {};  // calibration_variant, on a calibrated card
  // For a card derived from another (gpu/gpu.h, parent) and changed: terms and features are the other card's, whose
  // learned forecast is scaled by what the physics says about the change.
  struct Move {
    double factor = 1;  // this card's analytic forecast over the other's
    Seconds bound;      // on the other card
  };
  std::optional<Move> move = {};
  // For a kernel that PyTorch's host launches on its own: as a graph would launch it.
  std::shared_ptr<const LearnedInput> in_graph = {};
  std::string call = {};  // host_call, of such a kernel
};
LearnedInput learned_input(const Kernel& kernel, const Plan& plan, const Estimate& analytic, const Gpu& gpu,
                           const Context& context);

// The physics' time, nothing learned.
Seconds untuned_time(const LearnedInput& input);

// The tuned time, and the features the forests see.
struct Prepared {
  Seconds base;
  Features features;
  float tuned = 0;  // log of the base over the physics' time, if not all of it is carried over
};
Prepared prepare(const LearnedInput& input, const Standing& standing);

// What is requested for a kernel: everything, or only its time, which is a quarter of the work.
enum class Wanted : std::uint8_t { all, time };

struct LearnedTime {
  Seconds median, low, high, ceiling;
  Width shared = {};  // with all kernels of its family (estimate/width.h)
  Width own = {};     // ... the residual of similar rows, before other uncertainties are added
};
// `Wanted::time`: the ends and the ceiling are set to the median, without evaluating their forests.
LearnedTime learned_time(const FamilyModel& model, const LearnedInput& input, const Standing& standing,
                         Wanted wanted = Wanted::all);

// Medians only, of many kernels at once.
void learned_times(std::span<const LearnedInput> inputs, const Standing& standing, std::span<Seconds> out);

// A card's calibration on top of a forecast. `standing` is the one used for the forecast.
LearnedTime calibrated(const LearnedTime& t, const LearnedInput& input, const Standing& standing);
// The same for a family without a model.
Estimate calibrated(const Estimate& analytic, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                    const Context& context);

// The analytic estimate corrected: latency, interval, ceiling and seen are the model's; launches keep their shares of
// the whole.
Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context, bool guessed = false, Wanted wanted = Wanted::all);

}  // namespace tilecast
