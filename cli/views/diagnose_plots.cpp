// The drawings of a diagnosis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/units_text.h"
#include "cli/views/diagnose_view.h"
#include "support/svg.h"

namespace tilecast {
namespace {

// Bars of time by family; the part above the ceilings in orange.
std::string family_plot(const DiagnosisReport& d) {
  constexpr double kRow = 22, kLeft = 210, kWide = 480, kTop = 34;  // below the title
  Svg svg(kLeft + kWide + 130, kTop + kRow * static_cast<double>(d.families.size()) + 8, "GPU time by family");
  double y = kTop;
  const Seconds longest = d.families.empty() ? seconds(1) : d.families.front().total;
  for (const FamilyTime& f : d.families) {
    const double width = std::max(1.0, kWide * (f.total / longest)), lost = kWide * (f.above_ceiling / longest);
    svg.text(kLeft - 8, y + 15, f.words, {.anchor = Anchor::end});
    svg.rect(kLeft, y + 3, width, kRow - 6, !f.recognised() ? colour::kGrey : colour::kBlue);
    if (lost > 0.5) svg.rect(kLeft + width - lost, y + 3, lost, kRow - 6, colour::kOrange);
    svg.text(kLeft + width + 6, y + 15, text_of(f.total) + ", " + share_words(f.total, d.total));
    y += kRow;
  }
  return svg.file();
}

// Busy share over the window.
std::string activity_plot(const DeviceTimeline& t) {
  constexpr double kLeft = 56, kWide = 750, kHigh = 90, kTop = 40;
  Svg svg(kLeft + kWide + 20, kTop + kHigh + 30, "Share of time the GPU was busy");
  svg.line(kLeft, kTop + kHigh, kLeft + kWide, kTop + kHigh, colour::kInk);
  for (const double level : {0.5, 1.0}) {
    svg.line(kLeft, kTop + kHigh * (1 - level), kLeft + kWide, kTop + kHigh * (1 - level), colour::kRule);
    svg.text(kLeft - 6, kTop + 4 + kHigh * (1 - level), percent(level), {.anchor = Anchor::end});
  }
  const double part = kWide / static_cast<double>(t.activity.size());
  std::string path = fmt::format("M{:.1f},{:.1f}", kLeft, kTop + kHigh);
  for (std::size_t i = 0; i < t.activity.size(); ++i) {
    const double x = kLeft + part * static_cast<double>(i);
    const double y = kTop + kHigh * (1 - std::min(1.0, static_cast<double>(t.activity[i])));
    path += fmt::format("V{:.1f}H{:.1f}", y, x + part);
  }
  svg.path(path + fmt::format("V{:.1f}Z", kTop + kHigh), colour::kBlue);
  svg.text(kLeft, kTop + kHigh + 18, "0");
  svg.text(kLeft + kWide, kTop + kHigh + 18, text_of(t.window), {.anchor = Anchor::end});
  return svg.file();
}

// The few that lose most: those a plot names.
std::vector<const RecordedWork*> worst(const DiagnosisReport& d) {
  constexpr std::size_t kNamed = 3;
  std::vector<const RecordedWork*> found;
  for (const RecordedWork& g : d.work)
    if (g.underperforms) found.push_back(&g);
  std::sort(found.begin(), found.end(),
            [](const auto* a, const auto* b) { return a->above_ceiling > b->above_ceiling; });
  found.resize(std::min(found.size(), kNamed));
  return found;
}

// Names come from files.
std::string printable(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

// Measured time of a call over its ceiling, against the time of all its calls: what stands high and right is worth
// work.
std::string ceiling_plot(const DiagnosisReport& d) {
  constexpr double kLeft = 60, kWide = 700, kHigh = 260, kTop = 42;
  constexpr double kLowRatio = 0.5, kHighRatio = 8;
  Svg svg(kLeft + kWide + 20, kTop + kHigh + 46, "Time of a call over its ceiling");
  const double low = std::log10(std::max(in_microseconds(d.total) * 1e-5, 1e-3)),
               high = std::log10(std::max(in_microseconds(d.total), 1e-2));
  const auto x_of = [&](Seconds t) {
    return kLeft + kWide * std::clamp((std::log10(std::max(in_microseconds(t), 1e-9)) - low) / (high - low), 0.0, 1.0);
  };
  const auto y_of = [&](double ratio) {
    const double at = std::log(std::clamp(ratio, kLowRatio, kHighRatio) / kLowRatio) / std::log(kHighRatio / kLowRatio);
    return kTop + kHigh * (1 - at);
  };
  for (const double ratio : {0.5, 1.0, 2.0, 4.0, 8.0}) {
    svg.line(kLeft, y_of(ratio), kLeft + kWide, y_of(ratio), ratio == 1 ? colour::kInk : colour::kRule);
    svg.text(kLeft - 6, y_of(ratio) + 4, fmt::format("{:g}x", ratio), {.anchor = Anchor::end});
  }
  for (double decade = std::ceil(low); decade <= high; ++decade) {
    const Seconds t = microseconds(std::pow(10, decade));
    svg.line(x_of(t), kTop, x_of(t), kTop + kHigh, colour::kRule);
    svg.text(x_of(t), kTop + kHigh + 16, text_of(t), {.anchor = Anchor::middle});
  }
  svg.text(kLeft + kWide / 2, kTop + kHigh + 36, "time of all calls", {.anchor = Anchor::middle});
  const auto place = [&](const RecordedWork& g) {
    return std::pair{x_of(g.total), y_of(g.per_call / g.forecast->ceiling)};
  };
  for (const RecordedWork& g : d.work) {
    if (!g.forecast) continue;
    const auto [x, y] = place(g);
    svg.rect(x - 3, y - 3, 6, 6, g.underperforms ? colour::kOrange : colour::kBlue);
  }
  for (const RecordedWork* g : worst(d)) {
    const auto [x, y] = place(*g);
    svg.text(x - 7, y - 5, printable(g->name), {.anchor = x < kLeft + kWide / 4 ? Anchor::start : Anchor::end});
  }
  return svg.file();
}

}  // namespace

DiagnosePlots diagnose_plots(const DiagnosisReport& d) {
  DiagnosePlots plots{family_plot(d), ceiling_plot(d), {}};
  for (const DeviceTimeline& t : d.devices) plots.busy.push_back(activity_plot(t));
  return plots;
}

}  // namespace tilecast
