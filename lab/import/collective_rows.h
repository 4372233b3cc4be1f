// Measured collectives: aiconfigurator's nccl and custom_allreduce tables, SynPerf's all-reduce and send/recv; and
// aiconfigurator's exchanges of experts' tokens: deepep_normal, deepep_ll and trtllm_alltoall.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/expert_exchange.h"
#include "lab/import/source_mapping.h"
#include "tilecast/result.h"

namespace tilecast {

struct CollectiveRow {
  std::string gpu;     // a built-in GPU's name
  std::string source;  // aiconfigurator or synperf
  Collective call;
  std::optional<ExpertExchange> exchange;  // in place of `call`
  Seconds measured;
};

// Rows from 256 B to 1 GiB of the collectives below `folder` (shared/data), and every exchange. oneCCL's rows (Intel)
// are left out, and DeepEP's of H200 that repeat H100's digit by digit; `left_out` counts them and others by reason.
Result<std::vector<CollectiveRow>> read_collectives(const std::string& folder, LeftOutRows* left_out = nullptr);

// The machine of eight L40S, whose rows of four and eight GPUs run at a tenth of its links and are judged apart.
bool is_apart(const CollectiveRow& row);
// A tenth of the message sizes, the same ones on every GPU; of exchanges, 16, 256 and 4,096 tokens.
bool is_held_out(const CollectiveRow& row);

}  // namespace tilecast
