// `tilecast-lab plans`: plans beside the throughputs of TensorRT-LLM's performance overview.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct PlanCardsCommand {
  std::string table = "../shared/data/e2e/trtllm_perf_overview.csv.gz";
  bool all = false;  // lengths of the table, not the two that stand for them
  std::string out;   // a page in place of text
};
Result<std::string> run_plan_cards(const PlanCardsCommand& command);

}  // namespace tilecast
