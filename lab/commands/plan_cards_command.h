// `tilecast-lab plans`: plans beside the throughputs in TensorRT-LLM's performance overview.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct PlanCardsCommand {
  std::string table = "../shared/data/e2e/trtllm_perf_overview.csv.gz";
  bool all = false;  // every length in the table, not just two that stand for them
  std::string out;   // a page to write instead of printing text
};
Result<std::string> run_plan_cards(const PlanCardsCommand& command);

}  // namespace tilecast
