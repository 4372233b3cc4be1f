// What a card draws while it works, for accounts of energy.
//
//   watts = min(limit, idle + (operations x joules an operation + bytes x joules a byte) / time)
//
// A model with four figures, and no more than that: what a kernel draws depends on its data too (a sum of zeros takes
// 0.73 of a sum of random numbers) and on the card. docs/serving.md has its errors.
#pragma once

#include <optional>

#include "estimate/physics.h"

namespace tilecast {

struct PowerDraw {
  Watts limit;                 // the board's
  Watts idle;                  // at full clocks, nothing running
  double joules_per_byte = 0;  // from or to DRAM, on its way through L2 included
};
// Nothing where the card's power is not known, or no card of its vendor was measured.
std::optional<PowerDraw> power_draw(const Gpu& gpu);

// What a plan adds to the idle card's energy, before the limit.
double drawn_joules(const PowerDraw& draw, const Physics& physics, const Plan& plan, Bytes dram);
// ... and what is left of it where the limit holds back: a run of this length cannot take more.
double within_limit(const PowerDraw& draw, double joules, Seconds time);

}  // namespace tilecast
