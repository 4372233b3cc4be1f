// The command that starts an engine as a plan has it: flags of `vllm serve`, `python -m sglang.launch_server` and
// `trtllm-serve`.
#pragma once

#include <string>
#include <vector>

#include "engine/kinds.h"
#include "parallel/layout.h"
#include "serve/scheduler.h"

namespace tilecast {

enum class ServerRole : std::uint8_t { whole, prefill, decode };

struct LaunchOptions {
  std::string model;  // as the engine finds it: a path, or a name on Hugging Face
  EngineKind engine = EngineKind::vllm;
  std::string dtype, kv_dtype;
  bool quantised = false;  // the checkpoint is in `dtype` already
  bool experts = false;    // the model has some
  RankLayout layout;
  Count copies = 1;  // of the layout, each on GPUs of its own
  int gpus_per_node = 8;
  SchedulerLimits limits;
  double memory_fraction = 0.9;
  Count block_tokens = 16;
  Count context_limit = 0;  // 0: the model's
  ServerRole role = ServerRole::whole;
};

// Release whose flags are meant: "vLLM 0.11".
std::string_view release_of(EngineKind engine);

// Lines for a shell, notes among them as comments.
std::vector<std::string> launch_lines(const LaunchOptions& options);
// What stands before the pools of a disaggregated deployment.
std::vector<std::string> router_lines(EngineKind engine, Count prefill_servers, Count decode_servers);

}  // namespace tilecast
