#include "cli/commands/plan_serve_command.h"

#include "cli/terminal/countdown.h"
#include "cli/views/plan_serve_view.h"

namespace tilecast {

Result<std::string> run_plan_serve(const PlanServeOptions& options) {
  Countdown countdown("planning");
  const auto plan = plan_serve(options.query, [&](double share) { countdown(share); });
  if (!plan) return plan.error();
  if (!plan->best) return no_deployment(*plan);
  return options.json ? plan_serve_json(options.query, *plan) : plan_serve_text(options.query, *plan);
}

}  // namespace tilecast
