#include "lab/commands/retime_command.h"

#include "estimate/shipped_weights.h"
#include "lab/commands/shared.h"
#include "lab/evidence/retime_report.h"

namespace tilecast {

Result<std::string> run_retime_judge(const RetimeJudgeCommand& command) {
  const auto pairs = judge_transfers(command.traces, command.gpu, shipped_models());
  if (!pairs) return pairs.error();
  const std::string report = transfer_report(*pairs);
  return page_or_text(report, "retime", command.out);
}

}  // namespace tilecast
