#include "cli/commands/plan_train_command.h"

#include "answers/documents.h"
#include "cli/terminal/countdown.h"
#include "cli/views/plan_train_view.h"
#include "support/file.h"

namespace tilecast {

Result<std::string> run_plan_train(const PlanTrainOptions& options) {
  if (!options.svg.empty())
    if (auto fine = check_writable(options.svg); !fine) return fine.error();
  PlanTrainQuery query = options.query;
  query.scaling = query.scaling || !options.svg.empty();
  Countdown countdown("planning");
  const auto plan = plan_train(query, [&](double share) { countdown(share); });
  if (!plan) return plan.error();
  if (plan->ranked.empty()) return no_layout(*plan);
  if (!options.svg.empty())
    if (auto written = write_text_file(options.svg, scaling_plot(*plan)); !written) return written.error();
  return options.json ? plan_train_json(*plan) : plan_train_text(*plan);
}

}  // namespace tilecast
