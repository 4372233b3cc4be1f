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
double overlap_exponent(const Launch& launch);

// The times of one launch joined: on an SM the pipes overlap, memory overlaps them in part.
Seconds join_times(const ResourceTimes& times, const Launch& launch);

}  // namespace tilecast
