#include "cli/commands/plan_serve_command.h"

#include <fmt/format.h>

#include "answers/documents.h"
#include "cli/terminal/countdown.h"
#include "cli/views/plan_serve_view.h"
#include "support/file.h"
#include "support/folder.h"

namespace tilecast {
namespace {

// A file that cannot be written shows at once, not after the search.
Status check_outputs(const PlanServeOptions& o) {
  constexpr Count kMostSaved = 100;
  if (o.save_top && o.save_dir.empty())
    return field_error("save-top", "has no effect without --save-dir", "give --save-dir too, or leave it out");
  if (o.save_top && (*o.save_top < 1 || *o.save_top > kMostSaved))
    return field_error("save-top", fmt::format("must lie between 1 and {}", kMostSaved), "for example 3");
  if (!o.html.empty())
    if (auto fine = check_writable(o.html); !fine) return fine;
  if (!o.svg.empty())
    if (auto fine = check_writable(o.svg + "_pareto.svg"); !fine) return fine;
  return o.save_dir.empty() ? Status(Ok{}) : check_new_folder(o.save_dir);
}

// plan-1 is the best; each has all it takes to start it.
std::vector<FolderFile> plan_files(const PlanServeOptions& o, const ServingPlan& plan) {
  std::vector<FolderFile> files = {{"plans.json", plan_serve_json(o.query, plan)}};
  Count number = 0;
  for (const PlannedServing& d : plan.finalists) {
    if (!d.meets || number == o.save_top.value_or(kSavedPlans)) continue;
    const std::string folder = fmt::format("plan-{}/", ++number);
    files.push_back({folder + "plan.json", planned_json(o.query, plan, d)});
    for (const LaunchFile& file : d.files) files.push_back({folder + file.name, file.text});
  }
  return files;
}

Status write_pictures(const PlanServeOptions& o, const ServingPlan& plan) {
  if (!o.html.empty())
    if (auto written = write_text_file(o.html, plan_serve_html(o.query, plan)); !written) return written;
  if (o.svg.empty()) return Ok{};
  const PlanPlots plots = plan_serve_plots(plan);
  for (const auto& [name, text] : {std::pair{"_pareto.svg", plots.pareto}, std::pair{"_load.svg", plots.loads},
                                   std::pair{"_timeline.svg", plots.timeline}})
    if (!text.empty())
      if (auto written = write_text_file(o.svg + name, text); !written) return written;
  return Ok{};
}

}  // namespace

Answer run_plan_serve(const PlanServeOptions& options) {
  if (auto fine = check_outputs(options); !fine) return fine.error();
  PlanServeQuery query = options.query;
  query.pictures = options.query.pictures || !options.html.empty() || !options.svg.empty();
  Countdown countdown("planning");
  const auto plan = plan_serve(query, [&](double share) { countdown(share); });
  if (!plan) return plan.error();
  if (!plan->best && options.json) return {plan_serve_json(query, *plan), no_deployment(query, *plan)};
  if (!plan->best) return no_deployment(query, *plan);
  if (auto written = write_pictures(options, *plan); !written) return written.error();
  if (!options.save_dir.empty())
    if (auto written = write_new_folder(options.save_dir, plan_files(options, *plan)); !written) return written.error();
  std::string text = options.json ? plan_serve_json(query, *plan) : plan_serve_text(query, *plan);
  if (!options.save_dir.empty() && !options.json)
    text += fmt::format("\nfiles: {0}/plan-1 and on; bash {0}/plan-1/launch.sh starts the first\n", options.save_dir);
  return Result<std::string>(std::move(text));
}

}  // namespace tilecast
