#include "lab/commands/power_command.h"

#include "estimate/shipped_weights.h"
#include "lab/commands/shared.h"
#include "lab/evidence/power_report.h"

namespace tilecast {

Result<std::string> run_power(const PowerCommand& command) {
  const auto judged = judge_power(command.measurements, command.gpu, shipped_models());
  if (!judged) return judged.error();
  const std::string report = power_report(*judged);
  return page_or_text(report, "power", command.out);
}

}  // namespace tilecast
