// The learned part of the forecast: what is left when the physics has spoken.
//
//   t = tuned(terms of the analytic forecast) * exp(forest(features)),  never below the bound
//
// of which a card that was never seen keeps a share (estimate/carry.h).
//
// One model per family and number format. `tuned` scales the analytic terms by what the kernel source reaches on cards
// of this tensor generation (estimate/tuning.h). Forests of two kinds stand side by side: `general` and its `siblings`
// know no card and forecast those they have never seen; each of `cards` knows one card and its kernel sources, and
// forecasts only that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "estimate/standing.h"

namespace tilecast {

// What the model needs of one analytic forecast.
struct LearnedInput {
  Terms terms;
  Features raw;  // see estimate/features.h
  Seconds bound;
  std::string variant = {};  // calibration_variant, on a calibrated card
  // Of a card made from another (gpu/gpu.h, parent) and changed: terms and features are the other card's, whose learned
  // forecast is moved by what the physics says of the change.
  struct Move {
    double factor = 1;  // this card's analytic forecast over the other's
    Seconds bound;      // on the other card
  };
  std::optional<Move> move = {};
  // Of a kernel that PyTorch's host launches by itself: as a graph would launch it.
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
  float tuned = 0;  // log of the base over the physics' time, where not all of it is carried
};
Prepared prepare(const LearnedInput& input, const Standing& standing);

// What is asked of a kernel: everything, or how long it takes and no more, which is a quarter of the work.
enum class Wanted : std::uint8_t { all, time };

struct LearnedTime {
  Seconds median, low, high, ceiling;
  Width shared = {};  // with all kernels of its family (estimate/width.h)
  Width own = {};     // ... what rows like it leave over, before doubts join it
};
// `Wanted::time`: the median stands for the ends and the ceiling, whose forests are not asked.
LearnedTime learned_time(const FamilyModel& model, const LearnedInput& input, const Standing& standing,
                         Wanted wanted = Wanted::all);

// Medians only, of many kernels at once.
void learned_times(std::span<const LearnedInput> inputs, const Standing& standing, std::span<Seconds> out);

// A card's calibration on top of a forecast. `standing` as it was forecast with.
LearnedTime calibrated(const LearnedTime& t, const LearnedInput& input, const Standing& standing);
// The same of a family that no model forecasts.
Estimate calibrated(const Estimate& analytic, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                    const Context& context);

// The analytic estimate corrected: latency, interval, ceiling and seen are the model's; launches keep their shares of
// the whole.
Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context, bool guessed = false, Wanted wanted = Wanted::all);

}  // namespace tilecast
