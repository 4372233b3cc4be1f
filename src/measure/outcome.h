// A measured row beside its forecast: what training, calibrating and judging compare.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "estimate/estimate.h"
#include "measure/measurement.h"

namespace tilecast {

enum class Regime : std::uint8_t { launch, memory, compute };
inline constexpr std::array<std::string_view, 3> kRegimeNames = {"launch-bound", "memory-bound", "compute-bound"};
constexpr std::string_view name_of(Regime r) { return kRegimeNames[static_cast<std::size_t>(r)]; }

struct Outcome {
  Seconds forecast, bound;
  Seconds low, high;  // 80 % interval
  Width shared;       // what kernels of one family have in common (estimate/width.h)
  Width own;          // of the interval, what the model's rows leave over
  Regime regime = Regime::memory;
  Resource limit = Resource::dram;  // of the bound
  // The plan's main launch, for comparing with what a profiler saw.
  Count ctas = 0;
  int tile_m = 0, tile_n = 0, split = 1;
  bool failed = false;  // no plan: the GPU lacks the format, say
  Footing footing = {.doubt = Doubt::architecture, .kernel_known = false};
  bool seen = false;  // by a model that was trained on rows of this GPU
};
// An estimate as an outcome.
Outcome outcome_of(const Plan& plan, const Estimate& estimate, const Gpu& gpu, Runtime runtime);

// A failed row's reason is its plan's error, which costs too much to keep for each row: ask again with plan().
Outcome forecast_row(const Measurement& row, const Gpu& gpu, Method method);

// Forecasts of all rows, in their order, by `threads` threads; the result does not depend on their number.
Result<std::vector<Outcome>> forecast_rows(const std::vector<Measurement>& rows, Method method, int threads);

}  // namespace tilecast
