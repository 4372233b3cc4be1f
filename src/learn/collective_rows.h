// Measured collectives: aiconfigurator's nccl and custom_allreduce tables, SynPerf's all-reduce and send/recv.
#pragma once

#include <string>
#include <vector>

#include "cluster/collective.h"
#include "support/result.h"

namespace tilecast {

struct CollectiveRow {
  std::string gpu;     // a built-in GPU's name
  std::string source;  // aiconfigurator or synperf
  Collective call;
  Seconds measured;
};

// Rows from 256 B to 1 GiB of the three sources below `folder` (shared/data). oneCCL's rows (Intel) are left out.
Result<std::vector<CollectiveRow>> read_collectives(const std::string& folder);

// The machine of eight L40S, whose rows of four and eight GPUs run at a tenth of its links and are judged apart.
bool is_apart(const CollectiveRow& row);
// A tenth of the message sizes, the same ones on every GPU.
bool is_held_out(const CollectiveRow& row);

}  // namespace tilecast
