// What whole runs are off by beside their kernels, host and exchanges: as read off measured runs.
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
Width run_width(RunKind kind);
// Of what the host takes; programs on other hosts.
Width host_width();

// An interval of a run's parts with what runs are off by beside it; an exact one stays as it is. `least`: no run is
// faster.
Interval of_whole_run(const Interval& parts, Seconds forecast, RunKind kind, Seconds least);

}  // namespace tilecast
