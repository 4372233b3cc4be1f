// The errors of whole runs, given the uncertainty of their kernels, host and exchanges, as read off measured runs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/engine.h"
#include "estimate/width.h"

namespace tilecast {

enum class RunKind : std::uint8_t { inference, inference_over, training, training_over };
inline constexpr std::array<std::string_view, 4> kRunKindNames = {"inference, one GPU", "inference, several GPUs",
                                                                  "training, one GPU", "training, several GPUs"};
constexpr std::string_view name_of(RunKind kind) { return kRunKindNames[static_cast<std::size_t>(kind)]; }

RunKind kind_of(const Program& program, bool several_gpus);
// Kernels of a program are timed in one way, and their tables in many: a run shows only part of the tables'
// uncertainty.
Width run_scale(RunKind kind);
// For a run whose parts have this uncertainty; never less than measurement noise.
Width run_width(const Width& parts, RunKind kind);
// For the host's time; programs run on other hosts.
Width host_width();

// What characterises a run besides its kind.
struct RunLimits {
  bool host_bound = false;  // the host's width is that of whole runs already
  Seconds least;            // no run is faster
};
// From the interval of a run's parts to the run's; an exact one is unchanged.
Interval of_whole_run(const Interval& parts, Seconds forecast, RunKind kind, const RunLimits& limits);

}  // namespace tilecast
