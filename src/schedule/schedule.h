// Assigning tasks to SMs: how long each one works, and which is busiest.
#pragma once

#include "gpu/gpu.h"
#include "kernel/plan.h"

namespace tilecast {

// CTAs of this shape that fit on one SM at once, limited by registers, shared memory, threads and the CTA limit; zero
// when even one does not fit.
int occupancy(const CtaShape& cta, const Gpu& gpu);

struct Load {
  int occupancy = 1;         // CTAs resident per SM
  Count sms_used = 0;        // SMs that get any task
  Count waves = 0;           // rounds of full residency the grid needs
  Count tasks_busiest = 0;   // tasks on the busiest SM
  Demand busiest;            // their demand
  double steps_busiest = 0;  // their main-loop steps, end to end
  // Mean load of all SMs over the busiest one's, in the weight below: 1 is perfect balance.
  double balance = 1;
};

// Distributes a launch's tasks. A task's length is its weight: the largest of its shares of the SM's pipes at peak
// rate.
Load schedule(const Launch& launch, const Gpu& gpu);

}  // namespace tilecast
