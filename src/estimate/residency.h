// Which bytes come from DRAM, given a launch's operands and the last cache before DRAM.
#pragma once

#include "estimate/estimate.h"

namespace tilecast {

// The least any execution moves: with perfect replacement, at most one cacheful of the data a repeated run cycles
// through stays on chip. Zero when all of it fits.
Traffic least_traffic(const Launch& launch, const Gpu& gpu, const Context& context, Given given = Given::shape);

// What a real cache moves: residency falls off smoothly as the footprint passes the usable share of the capacity.
// `elsewhere`: bytes that the other launches of the plan touch between two runs of this one.
Traffic expected_traffic(const Launch& launch, const Gpu& gpu, const Context& context, Bytes elsewhere = bytes(0));

// Bytes of weights, inputs and results that the plan's other launches touch and this one does not.
Bytes touched_elsewhere(const Plan& plan, std::size_t launch);

}  // namespace tilecast
