// The analytic forecast of one launch: the terms of the bound, at the rates a card sustains.
#pragma once

#include <algorithm>

#include "estimate/clocked_time.h"
#include "estimate/estimate.h"
#include "estimate/physics.h"

namespace tilecast {

// Time each resource needs at sustained rates on the busiest SM or the whole chip; `latency` is for what is not
// overlapped.
ResourceTimes sustained_times(const Launch& launch, const Load& load, const Traffic& traffic, const Gpu& gpu,
                              const Physics& physics);

// Whether a launch's CTAs walk a main loop of dependent steps, or stream.
bool has_main_loop(const Launch& launch);
// How DRAM's time joins the rest of a launch: 1 adds them, a large value takes the longer (1.55: fitted to bf16 GEMM).
double overlap_exponent(const Launch& launch, const Overlap& overlap = {});

// Times of an SM's pipes, joined: the arithmetic of a launch.
double math_time(const ResourceTimes& times, Character character, const Overlap& overlap = {});

// The parts of a launch's time, in any one unit: plain numbers, or times that know how they follow the clock.
template <class Time>
struct Parts {
  Time math{}, l2{}, dram{};
  Time waiting{};   // dependent steps
  Time prologue{};  // of tasks one after another
};
using LaunchParts = Parts<double>;
LaunchParts parts_of(const ResourceTimes& times, const Launch& launch, const Overlap& overlap);
// At a share of the highest clock: everything follows it except DRAM and a stream's round trips, which depend on wires.
Parts<ClockedTime> at_clock(const LaunchParts& parts, bool looped, double clock);

inline double longer(double a, double b) { return std::max(a, b); }

// How they are joined into one time: `looped` is has_main_loop, `overlap` is overlap_exponent. A main loop streams its
// tiles from L2 behind its own arithmetic; what comes from DRAM overlaps in part (fitted to bf16 GEMM; docs/method.md).
// A streaming kernel's loads queue behind its first round trip.
template <class Time>
Time join_parts(const Parts<Time>& p, bool looped, double overlap, double stream = constants::kStreamOverlap.value) {
  if (looped) return p_norm(longer(longer(p.math, p.waiting), p.l2) + p.prologue, p.dram, overlap);
  return p_norm(p_norm(p.math, longer(p.dram, p.l2), stream), p.waiting, overlap);
}

// The times of one launch joined: on an SM the pipes overlap, memory overlaps them in part.
Seconds join_times(const ResourceTimes& times, const Launch& launch, const Overlap& overlap = {});

}  // namespace tilecast
