// The drawings of a serving plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/terminal/units_text.h"
#include "cli/views/panel.h"
#include "cli/views/plan_serve_view.h"
#include "support/svg.h"

namespace tilecast {
namespace {

constexpr double kPlotLeft = 76, kPlotTop = 44, kPlotWide = 640, kPlotHigh = 300;

std::string pareto_plot(const ServingPlan& p) {
  const std::vector<ParetoPoint>& all = p.pictures->pareto;
  double most_x = 0, most_y = 0;
  for (const ParetoPoint& point : all)
    most_x = std::max(most_x, point.tokens_per_user), most_y = std::max(most_y, point.tokens_per_gpu);
  Svg svg(kPlotLeft + kPlotWide + 24, kPlotTop + kPlotHigh + 50, "Throughput of a GPU against speed for a user");
  const Panel panel(svg, kPlotLeft, kPlotTop, kPlotWide, kPlotHigh, most_x, most_y);
  panel.axes("output tokens/s of a user", "output tokens/s of a GPU");
  std::vector<const ParetoPoint*> front;
  for (const ParetoPoint& point : all) {
    if (point.front) front.push_back(&point);
    else panel.dot(point.tokens_per_user, point.tokens_per_gpu, 3, colour::kRule);
  }
  std::sort(front.begin(), front.end(),
            [](const ParetoPoint* a, const ParetoPoint* b) { return a->tokens_per_user < b->tokens_per_user; });
  std::vector<std::pair<double, double>> line;
  for (const ParetoPoint* point : front) line.emplace_back(point->tokens_per_user, point->tokens_per_gpu);
  panel.curve(line, colour::kBlue);
  // Each set-up is named where it first appears on the front, as far as there is room.
  std::string named;
  double last_y = -100;
  for (const ParetoPoint* point : front) {
    panel.dot(point->tokens_per_user, point->tokens_per_gpu, 6, colour::kBlue);
    const double y = panel.y(point->tokens_per_gpu);
    if (point->what == named || std::abs(y - last_y) < 14) continue;
    const double x = panel.x(point->tokens_per_user);
    const bool right = x > kPlotLeft + kPlotWide * 0.6;
    svg.text(x + (right ? -8 : 8), y - 4, point->what, {.size = 10, .anchor = right ? Anchor::end : Anchor::start});
    named = point->what, last_y = y;
  }
  for (const PlannedServing& d : p.finalists)
    if (d.meets) panel.dot(d.tokens_per_user, d.tokens_per_gpu, 7, colour::kOrange);
  return svg.file();
}

std::string load_plot(const ServingPlan& p) {
  const std::vector<LoadPoint>& points = p.pictures->loads;
  if (points.empty()) return "";
  constexpr double kPanel = 300, kBetween = 96;
  Svg svg(kPlotLeft + 2 * kPanel + kBetween + 24, kPlotTop + 220 + 50, "Latency against load");
  const auto draw = [&](double left, const char* name, Seconds LoadPoint::*of, const std::optional<Seconds>& slo) {
    double most = 0;
    std::vector<std::pair<double, double>> line;
    for (const LoadPoint& point : points) line.emplace_back(point.rate, in_milliseconds(point.*of));
    // Past the breaking point times grow without end: the panel ends at three times the objective.
    for (const auto& [rate, ms] : line) most = std::max(most, ms);
    if (slo) most = std::clamp(most, 1.2 * in_milliseconds(*slo), 3 * in_milliseconds(*slo));
    const Panel panel(svg, left, kPlotTop, kPanel, 220, points.back().rate, most);
    panel.axes("requests/s", fmt::format("{} {}, ms", name, name_of(p.statistic)));
    panel.curve(line, colour::kBlue);
    for (const auto& [rate, ms] : line) panel.dot(rate, ms, 6, colour::kBlue);
    if (slo) panel.limit(in_milliseconds(*slo), "SLO");
    const double planned = p.finalists[*p.best].rate;
    svg.line(panel.x(planned), kPlotTop, panel.x(planned), kPlotTop + 220, colour::kGreen, 1.5, "2 3");
    svg.text(panel.x(planned) - 4, kPlotTop + 10, "planned", {.anchor = Anchor::end, .fill = colour::kGreen});
  };
  draw(kPlotLeft, "TTFT", &LoadPoint::ttft, p.slo.ttft);
  draw(kPlotLeft + kPanel + kBetween, "TPOT", &LoadPoint::tpot, p.slo.tpot);
  return svg.file();
}

std::string timeline_plot(const ServingPlan& p) {
  const std::vector<Slice>& slices = p.pictures->slices;
  if (slices.empty()) return "";
  Svg svg(kPlotLeft + kPlotWide + 24, kPlotTop + 2 * 140 + 90, "Requests, cache and GPUs over the simulated run");
  const auto draw = [&](double top, double most, const char* words,
                        std::initializer_list<std::tuple<const char*, std::string_view, double Slice::*>> figures) {
    const Panel panel(svg, kPlotLeft, top, kPlotWide, 120, slices.back().time, most);
    panel.axes("seconds", words);
    double at = kPlotLeft + 8;
    for (const auto& [name, stroke, of] : figures) {
      std::vector<std::pair<double, double>> line;
      for (const Slice& s : slices) line.emplace_back(s.time, s.*of);
      panel.curve(line, stroke);
      svg.text(at, top - 4, name, {.fill = stroke});
      at += 90;
    }
  };
  double most = 1;
  for (const Slice& s : slices) most = std::max({most, s.running, s.waiting});
  draw(kPlotTop + 10, most, "requests",
       {{"running", colour::kBlue, &Slice::running}, {"waiting", colour::kOrange, &Slice::waiting}});
  draw(kPlotTop + 10 + 190, 1, "share",
       {{"cache in use", colour::kGreen, &Slice::cache}, {"GPU busy", colour::kGrey, &Slice::busy}});
  return svg.file();
}

}  // namespace

PlanPlots plan_serve_plots(const ServingPlan& p) {
  if (!p.pictures) return {};
  return {pareto_plot(p), load_plot(p), timeline_plot(p)};
}

}  // namespace tilecast
