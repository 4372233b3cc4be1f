// `tilecast collective OP` and `tilecast clusters`.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace tilecast {

struct CollectiveCommand {
  std::string op;
  std::vector<std::string> sizes;  // "1M"
  std::vector<int> tokens;         // dispatch and combine: in place of sizes
  int hidden = 7168, topk = 8, experts = 256;
  int most_nodes = 0;  // 0: any
  int sms = 20;
  bool balanced = false;
  int ranks = 0;  // 0: a node's
  int local = 0;  // ranks of the group on one node; 0: as many as fit
  std::vector<std::string> clusters;
  int nodes = 0;        // 0: the description's
  std::string library;  // nccl; deepep for dispatch and combine
  std::string dtype;    // bf16; fp8 for dispatch
  bool eager = false;
  bool json = false;
};
Result<std::string> run_collective(const CollectiveCommand& command);

Result<std::string> run_clusters(bool json);

// "256", "64K", "1M", "2G": powers of 1024, as NCCL's tests read them.
Result<double> byte_count(const std::string& text);

}  // namespace tilecast
