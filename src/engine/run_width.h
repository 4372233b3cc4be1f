// What whole runs are off by, by what their kernels, host and exchanges leave open: as read off measured runs.
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
// Kernels of a program are timed in one way, and their tables in many: of what those leave open, a run shows a part.
Width run_scale(RunKind kind);
// Of a run whose parts leave so much open; never less than the noise of measuring.
Width run_width(const Width& parts, RunKind kind);
// Of what the host takes; programs on other hosts.
Width host_width();

// What a run is known by beside its kind.
struct RunLimits {
  bool host_bound = false;  // the host's width is that of whole runs already
  Seconds least;            // no run is faster
};
// From the interval of a run's parts to the run's; an exact one stays as it is.
Interval of_whole_run(const Interval& parts, Seconds forecast, RunKind kind, const RunLimits& limits);

}  // namespace tilecast
