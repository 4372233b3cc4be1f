#include "cli/commands/plan_train_command.h"

#include "cli/terminal/countdown.h"
#include "cli/views/plan_train_view.h"

namespace tilecast {

Result<std::string> run_plan_train(const PlanTrainOptions& options) {
  Countdown countdown("planning");
  const auto plan = plan_train(options.query, [&](double share) { countdown(share); });
  if (!plan) return plan.error();
  if (plan->ranked.empty()) return no_layout(*plan);
  return options.json ? plan_train_json(*plan) : plan_train_text(*plan);
}

}  // namespace tilecast
