// The analytic forecast of one launch: the same terms as the bound, at rates a card sustains.
#pragma once

#include "estimate/estimate.h"
#include "estimate/physics.h"

namespace tilecast {

// Time each resource needs at sustained rates on the busiest SM or the whole chip, `latency` for what nothing overlaps.
ResourceTimes sustained_times(const Launch& launch, const Load& load, const Traffic& traffic, const Gpu& gpu,
                              const Physics& physics);

// Whether a launch's CTAs walk a main loop of dependent steps, or stream.
bool has_main_loop(const Launch& launch);
// How DRAM's time joins the rest of a launch: 1 adds, large takes the longer (1.55: fitted to bf16 GEMM).
double overlap_exponent(const Launch& launch, const Overlap& overlap = {});

// Times of the pipes of an SM, joined: what a launch computes.
double math_time(const ResourceTimes& times, Character character, const Overlap& overlap = {});

// The parts of a launch's time, in any one unit.
struct LaunchParts {
  double math = 0, l2 = 0, dram = 0;
  double waiting = 0;   // dependent steps
  double prologue = 0;  // of tasks one after another
};
// How they join to one time: `looped` as has_main_loop, `overlap` as overlap_exponent.
double join_parts(const LaunchParts& parts, bool looped, double overlap,
                  double stream = constants::kStreamOverlap.value);

// The times of one launch joined: on an SM the pipes overlap, memory overlaps them in part.
Seconds join_times(const ResourceTimes& times, const Launch& launch, const Overlap& overlap = {});

}  // namespace tilecast
