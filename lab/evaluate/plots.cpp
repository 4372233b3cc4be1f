#include "lab/evaluate/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "support/append.h"
#include "support/scale.h"
#include "support/statistics.h"
#include "support/svg.h"

namespace tilecast {
namespace {

// Where a plot's data go: pixels of the page.
struct Frame {
  double x, y, width, height;
  double at_x(double share) const { return x + share * width; }
  double at_y(double share) const { return y + (1 - share) * height; }  // upwards
};

std::string time_text(double seconds_taken) {
  if (seconds_taken < 0.9e-3) return fmt::format("{:.4g} µs", seconds_taken * 1e6);
  if (seconds_taken < 0.9) return fmt::format("{:.4g} ms", seconds_taken * 1e3);
  return fmt::format("{:.4g} s", seconds_taken);
}

// --- error map

constexpr double kCellWidth = 62, kCellHeight = 24;
constexpr double kMapLeft = 190, kMapTop = 118;  // room for names of GPUs and, turned, of families
constexpr double kDarkest = 0.6;                 // the error of the darkest shade

void map_legend(Svg& svg, double y) {
  constexpr int kSteps = 6;
  for (int i = 0; i < kSteps; ++i) {
    const double share = i / (kSteps - 1.0), x = kMapLeft + i * kCellWidth;
    svg.rect(x, y, kCellWidth, 12, blue_shade(share));
    svg.text(x + kCellWidth / 2, y + 26, fmt::format("{:.0f} %{}", 100 * share * kDarkest, i == kSteps - 1 ? "+" : ""),
             {.anchor = Anchor::middle});
  }
  svg.text(kMapLeft - 10, y + 11, "mean error", {.anchor = Anchor::end, .fill = colour::kGrey});
}

// --- forecast against measured

constexpr int kBins = 36, kShades = 5, kPanelsAcross = 4;
constexpr double kPanel = 190, kPanelGapX = 62, kPanelGapY = 66;
constexpr LogScale kTimes{1e-6, 1e-1};

using Density = std::array<std::array<Count, kBins>, kBins>;

int bin_of(Seconds time) {
  return std::clamp(static_cast<int>(kTimes.at(std::max(in_seconds(time), 1e-9)) * kBins), 0, kBins - 1);
}

// The shade of a cell, or none; logarithmic, the densest cell darkest.
int shade_of(Count rows, Count most) {
  if (rows == 0) return -1;
  if (most == 1) return kShades - 1;
  const double dense = std::log(static_cast<double>(rows)) / std::log(static_cast<double>(most));
  return std::min(static_cast<int>(dense * kShades), kShades - 1);
}

// All cells of one shade form one path; neighbours in a line share one rectangle of it.
void draw_density(Svg& svg, const Frame& frame, const Density& density) {
  Count most = 1;
  for (const auto& column : density) most = std::max(most, *std::max_element(column.begin(), column.end()));
  std::array<std::string, kShades> shades;
  for (int y = 0; y < kBins; ++y) {
    const auto shade = [&](int x) {
      return x < kBins ? shade_of(density[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)], most) : -1;
    };
    for (int x = 0, end = 0; x < kBins; x = end) {
      end = x + 1;
      if (shade(x) < 0) continue;
      while (end < kBins && shade(end) == shade(x)) ++end;
      append(shades[static_cast<std::size_t>(shade(x))], "M{} {}h{}v1h-{}z", x, kBins - 1 - y, end - x, end - x);
    }
  }
  for (std::size_t i = 0; i < shades.size(); ++i)
    if (!shades[i].empty())
      svg.cells(frame.x, frame.y, frame.width / kBins, shades[i],
                blue_shade(0.3 + 0.7 * static_cast<double>(i) / (kShades - 1)));
}

void draw_panel(Svg& svg, const Frame& frame, std::string_view family, const Density& density, Count rows) {
  svg.text(frame.x, frame.y - 8, fmt::format("{}, {} rows", family, rows), {.size = 12, .bold = true});
  for (const double tick : kTimes.decades()) {
    const double x = frame.at_x(kTimes.at(tick)), y = frame.at_y(kTimes.at(tick));
    svg.line(x, frame.y, x, frame.y + frame.height, colour::kRule);
    svg.line(frame.x, y, frame.x + frame.width, y, colour::kRule);
    svg.text(frame.x - 4, y + 3, time_text(tick), {.size = 9, .anchor = Anchor::end, .fill = colour::kGrey});
    svg.text(x, frame.y + frame.height + 12, time_text(tick),
             {.size = 9, .anchor = Anchor::middle, .fill = colour::kGrey});
  }
  draw_density(svg, frame, density);
  svg.line(frame.x, frame.y + frame.height, frame.x + frame.width, frame.y, colour::kOrange, 1.2);
}

// --- residuals

constexpr LogScale kRatios{0.2, 5};
constexpr int kRatioBins = 80;
constexpr double kStripWidth = 620, kStripHeight = 120, kStripGap = 44;
constexpr std::array<std::string_view, 4> kMethodColours = {colour::kBlue, colour::kOrange, colour::kGreen,
                                                            colour::kGrey};

struct Residuals {
  std::vector<double> ratios;                  // forecast / measured, sorted
  std::array<double, kRatioBins> histogram{};  // shares of all rows
  double beyond = 0;                           // share beyond the axis

  double highest() const { return *std::max_element(histogram.begin(), histogram.end()); }
};

Residuals residuals_of(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes, Regime regime) {
  Residuals found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (outcomes[i].failed || outcomes[i].regime != regime) continue;
    const double ratio = outcomes[i].forecast / rows[i].latency;
    found.ratios.push_back(ratio);
    const double at = kRatios.at(std::max(ratio, 1e-9));
    if (at < 0 || at >= 1) ++found.beyond;
    else ++found.histogram[static_cast<std::size_t>(at * kRatioBins)];
  }
  std::sort(found.ratios.begin(), found.ratios.end());
  const auto all = static_cast<double>(std::max<std::size_t>(found.ratios.size(), 1));
  found.beyond /= all;
  for (double& share : found.histogram) share /= all;
  return found;
}

std::string outline(const Frame& frame, const Residuals& residuals, double highest) {
  std::string data = fmt::format("M{:.1f} {:.1f}", frame.x, frame.at_y(0));
  for (int b = 0; b < kRatioBins; ++b) {
    const double y = frame.at_y(residuals.histogram[static_cast<std::size_t>(b)] / highest);
    append(data, "L{:.1f} {:.1f}H{:.1f}", frame.at_x(b / static_cast<double>(kRatioBins)), y,
           frame.at_x((b + 1) / static_cast<double>(kRatioBins)));
  }
  return data + fmt::format("V{:.1f}", frame.at_y(0));
}

void draw_strip(Svg& svg, const Frame& frame, Regime regime, const std::vector<Measurement>& rows,
                const std::vector<MethodOutcomes>& methods) {
  constexpr std::array<double, 7> kTicks = {0.2, 0.33, 0.5, 1, 2, 3, 5};
  for (const double tick : kTicks) {
    const double x = frame.at_x(kRatios.at(tick));
    svg.line(x, frame.y, x, frame.y + frame.height, tick == 1 ? colour::kInk : colour::kRule);
    svg.text(x, frame.y + frame.height + 14, fmt::format("{:.2g}×", tick),
             {.size = 10, .anchor = Anchor::middle, .fill = colour::kGrey});
  }
  std::vector<Residuals> found;
  double highest = 1e-9;
  for (const MethodOutcomes& method : methods) {
    found.push_back(residuals_of(rows, method.outcomes, regime));
    highest = std::max(highest, found.back().highest());
  }
  svg.text(16, frame.y + 16, name_of(regime), {.size = 12, .bold = true});
  if (found.front().ratios.empty()) return svg.text(16, frame.y + 34, "no rows", {.fill = colour::kGrey});
  svg.text(16, frame.y + 34, fmt::format("{} rows", found.front().ratios.size()), {.fill = colour::kGrey});
  for (std::size_t i = found.size(); i-- > 0;) {  // the first method on top
    if (found[i].ratios.empty()) continue;
    const std::string_view ink = kMethodColours[i % kMethodColours.size()];
    svg.path(outline(frame, found[i], highest), i == 0 ? "#0072b233" : "none", ink, 1.6);
    const auto at = [&](double share) { return sorted_quantile(found[i].ratios, share); };
    svg.text(16, frame.y + 54 + 16 * static_cast<double>(i),
             fmt::format("{} {:.2f} ({:.2f}–{:.2f}), {:.0f} % beyond", methods[i].name, at(0.5), at(0.1), at(0.9),
                         100 * found[i].beyond),
             {.fill = ink});
  }
  svg.line(frame.x, frame.at_y(0), frame.x + frame.width, frame.at_y(0), colour::kGrey);
}

}  // namespace

std::string error_map(std::string_view title, const std::vector<Measurement>& rows,
                      const std::vector<Outcome>& outcomes) {
  const auto groups = group_errors(rows, outcomes, {Key::gpu, Key::family});
  std::map<std::string, double> down, across;  // names and their places
  for (const Group& group : groups) down[group.keys[0]] = across[group.keys[1]] = 0;
  double next = 0;
  for (auto& [family, x] : across) x = kMapLeft + kCellWidth * next++;
  next = 0;
  for (auto& [gpu, y] : down) y = kMapTop + kCellHeight * next++;
  const double bottom = kMapTop + kCellHeight * static_cast<double>(down.size());
  // The last turned name reaches beyond its column.
  const double width = kMapLeft + kCellWidth * std::max(6.0, static_cast<double>(across.size())) + 90;
  Svg svg(width, bottom + 60, title);
  for (const auto& [family, x] : across) svg.text(x + kCellWidth / 2, kMapTop - 8, family, {.size = 12, .turned = -35});
  for (const auto& [gpu, y] : down) svg.text(kMapLeft - 10, y + 16, gpu, {.size = 12, .anchor = Anchor::end});
  for (const Group& group : groups) {
    if (group.rows == 0) continue;
    const double x = across[group.keys[1]], y = down[group.keys[0]], dark = group.mean / kDarkest;
    svg.rect(x + 0.5, y + 0.5, kCellWidth - 1, kCellHeight - 1, blue_shade(dark));
    svg.text(x + kCellWidth / 2, y + 16, fmt::format("{:.1f}", 100 * group.mean),
             {.anchor = Anchor::middle, .fill = dark > 0.45 ? colour::kWhite : colour::kInk});
  }
  map_legend(svg, bottom + 18);
  return svg.file();
}

std::string forecast_against_measured(std::string_view title, const std::vector<Measurement>& rows,
                                      const std::vector<Outcome>& outcomes) {
  struct Panel {
    Density density{};
    Count rows = 0;
  };
  std::map<std::string_view, Panel> panels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (outcomes[i].failed) continue;
    Panel& panel = panels[family_of(rows[i].kernel.shape)];
    ++panel.rows;
    ++panel.density[static_cast<std::size_t>(bin_of(rows[i].latency))]
                   [static_cast<std::size_t>(bin_of(outcomes[i].forecast))];
  }
  const auto lines = static_cast<double>(ceil_div(static_cast<Count>(panels.size()), kPanelsAcross));
  const double across = std::clamp(static_cast<double>(panels.size()), 2.0, static_cast<double>(kPanelsAcross));
  Svg svg(24 + across * (kPanel + kPanelGapX), 60 + lines * (kPanel + kPanelGapY) + 16, title);
  int place = 0;
  for (const auto& [family, panel] : panels) {
    const Frame frame{kPanelGapX + (place % kPanelsAcross) * (kPanel + kPanelGapX),
                      70 + static_cast<double>(place / kPanelsAcross) * (kPanel + kPanelGapY), kPanel, kPanel};
    draw_panel(svg, frame, family, panel.density, panel.rows);
    ++place;
  }
  svg.text(
      16, 60 + lines * (kPanel + kPanelGapY) + 4,
      "across: measured; up: forecast; the line: equal; darker: more rows (logarithmic); rows beyond an axis stand at "
      "its end",
      {.fill = colour::kGrey});
  return svg.file();
}

std::string residuals_by_regime(std::string_view title, const std::vector<Measurement>& rows,
                                const std::vector<MethodOutcomes>& methods) {
  constexpr double kLeft = 270, kTop = 48;
  const double pitch = kStripHeight + kStripGap;
  Svg svg(kLeft + kStripWidth + 30, kTop + 3 * pitch + 14, title);
  for (std::size_t r = 0; r < kRegimeNames.size(); ++r)
    draw_strip(svg, {kLeft, kTop + pitch * static_cast<double>(r), kStripWidth, kStripHeight}, static_cast<Regime>(r),
               rows, methods);
  svg.text(kLeft + kStripWidth / 2, kTop + 3 * pitch - 6,
           "forecast / measured (logarithmic); beside it: median (10th–90th percentile), share of rows beyond the axis",
           {.anchor = Anchor::middle, .fill = colour::kGrey});
  return svg.file();
}

}  // namespace tilecast
