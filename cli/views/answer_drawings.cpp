#include "cli/views/answer_drawings.h"

#include <fmt/format.h>

#include "cli/views/diagnose_view.h"
#include "cli/views/plan_serve_view.h"
#include "cli/views/plan_train_view.h"
#include "cli/views/simulate_view.h"

namespace tilecast {
namespace {

constexpr const char* kSvg = "image/svg+xml";
constexpr const char* kHtml = "text/html";
constexpr Count kListed = 20;  // kernels of the page, as --top by default

void add_svg(std::vector<AnswerFile>& files, std::string name, std::string text) {
  if (!text.empty()) files.push_back({std::move(name), kSvg, std::move(text)});
}

std::vector<AnswerFile> of_diagnosis(const DiagnosisReport& report) {
  std::vector<AnswerFile> files = {{"report.html", kHtml, diagnose_html(report, kListed)}};
  DiagnosePlots plots = diagnose_plots(report);
  add_svg(files, "families.svg", std::move(plots.families));
  add_svg(files, "ceilings.svg", std::move(plots.ceilings));
  for (std::size_t i = 0; i < plots.busy.size(); ++i)
    add_svg(files, i == 0 ? "busy.svg" : fmt::format("busy_{}.svg", i), std::move(plots.busy[i]));
  return files;
}

std::vector<AnswerFile> of_serving_plan(const PlanServeQuery& query, const ServingPlan& plan) {
  std::vector<AnswerFile> files = {{"plan.html", kHtml, plan_serve_html(query, plan)}};
  PlanPlots plots = plan_serve_plots(plan);
  add_svg(files, "pareto.svg", std::move(plots.pareto));
  add_svg(files, "load.svg", std::move(plots.loads));
  add_svg(files, "timeline.svg", std::move(plots.timeline));
  return files;
}

std::vector<AnswerFile> of_training_plan(const TrainingPlanResult& plan) {
  std::vector<AnswerFile> files;
  add_svg(files, "scaling.svg", scaling_plot(plan));
  return files;
}

std::vector<AnswerFile> of_simulation(const SimulationResult& run) {
  return {{"requests.csv", "text/csv", requests_csv(run.loads.front().outcome)},
          {"timeline.json", "application/json", timeline_json(run)}};
}

}  // namespace

const AnswerDrawings& answer_drawings() {
  static const AnswerDrawings all = {of_diagnosis, of_serving_plan, of_training_plan, of_simulation};
  return all;
}

}  // namespace tilecast
