// Times configurations through a command the user gives. The command gets the layer and the configurations,
//
//   CMD --tokens 64 --hidden 2048 --inter 768 --experts 128 --topk 8 [--pass down] 16,64,128,1,4,4 32,64,128,1,4,3
//
// and prints one line for each: the configuration and microseconds, or `failed` and why. Other lines are passed over.
// tools/tune/measure.py is such a command.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernel/gemm_tile.h"
#include "kernel/moe.h"
#include "tilecast/result.h"
#include "tune/triton_config.h"

namespace tilecast {

struct MeasuredConfig {
  std::optional<Seconds> time;  // nothing: it failed
  std::string problem;          // why
};
using MeasuredConfigs = std::map<TritonConfig, MeasuredConfig>;

// What `output` says of `asked`. Configurations it does not mention have failed.
MeasuredConfigs read_measured(std::string_view output, std::span<const TritonConfig> asked);

// The standard output of a shell command. An error when it cannot start, ends with anything but zero, or is not done in
// time (it and what it started are then ended).
Result<std::string> output_of(const std::string& command, std::chrono::milliseconds limit);

// The command line of the protocol. A plain product m x n x k is the second pass of one expert: tokens m, hidden n,
// inter k.
std::string measure_command(const std::string& command, const Moe& shape, std::span<const TritonConfig> configs);
std::string measure_command(const std::string& command, const GemmProblem& shape,
                            std::span<const TritonConfig> configs);

}  // namespace tilecast
