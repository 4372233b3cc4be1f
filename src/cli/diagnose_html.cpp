// The diagnosis as one page: no script, no font, no picture from elsewhere.
#include <fmt/format.h>

#include <cmath>

#include "cli/diagnose_command.h"
#include "cli/units_text.h"
#include "support/svg.h"

namespace tilecast {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

std::string share(Seconds part, Seconds whole) { return whole > seconds(0) ? percent(part / whole) : "0 %"; }

// Cells that start with '#' stand to the right.
std::string row(std::initializer_list<std::string> cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const std::string& cell : cells) {
    const bool number = cell.starts_with('#');
    out += fmt::format("<{}{}>{}</{}>", tag, number ? " class=n" : "", escaped(number ? cell.substr(1) : cell), tag);
  }
  return out + "</tr>\n";
}

// Bars of time by family; the part above the ceilings in orange.
std::string family_plot(const Diagnosis& d) {
  constexpr double kRow = 22, kLeft = 210, kWide = 480, kTop = 34;  // below the title
  Svg svg(kLeft + kWide + 130, kTop + kRow * static_cast<double>(d.families.size()) + 8, "GPU time by family");
  double y = kTop;
  const Seconds longest = d.families.empty() ? seconds(1) : d.families.front().total;
  for (const FamilyTotal& f : d.families) {
    const double width = std::max(1.0, kWide * (f.total / longest)), lost = kWide * (f.lost / longest);
    svg.text(kLeft - 8, y + 15, describe(f.family), {.anchor = Anchor::end});
    svg.rect(kLeft, y + 3, width, kRow - 6, f.family == WorkFamily::unknown ? colour::kGrey : colour::kBlue);
    if (lost > 0.5) svg.rect(kLeft + width - lost, y + 3, lost, kRow - 6, colour::kOrange);
    svg.text(kLeft + width + 6, y + 15, text_of(f.total) + ", " + share(f.total, d.total));
    y += kRow;
  }
  return svg.file();
}

// Busy share over the window.
std::string activity_plot(const Timeline& t) {
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

// Measured time of a call over its ceiling, against the time of all its calls: what stands high and right is worth
// work.
std::string ceiling_plot(const Diagnosis& d) {
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
  for (const WorkGroup& g : d.groups) {
    if (!g.comparison) continue;
    const double x = x_of(g.total), y = y_of(g.per_call() / g.comparison->ceiling);
    svg.rect(x - 3, y - 3, 6, 6, g.underperforms() ? colour::kOrange : colour::kBlue);
  }
  return svg.file();
}

std::string figure(const std::string& svg, std::string_view words) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(words));
}

std::string kernels(const Diagnosis& d, Count top) {
  std::string out = "<table>" + row({"kernel", "shape", "#time", "#share", "#calls", "#per call", "#forecast",
                                     "#ceiling", "#bound", "#over ceiling", "limited by"},
                                    "th");
  for (const WorkGroup& g : d.groups) {
    if (top-- <= 0) break;
    const auto& c = g.comparison;
    out += row({g.name, shape_words(g), "#" + text_of(g.total), "#" + share(g.total, d.total),
                fmt::format("#{}", g.calls), "#" + text_of(g.per_call()), c ? "#" + text_of(c->forecast) : "#–",
                c ? "#" + text_of(c->ceiling) : "#–", c ? "#" + text_of(c->bound) : "#–",
                c ? fmt::format("#{:.2f}", g.per_call() / c->ceiling) : "#–", limit_words(g)});
  }
  return out + "</table>\n";
}

std::string unknown(const Diagnosis& d) {
  std::string rows;
  for (const WorkGroup& g : d.groups)
    if (g.family == WorkFamily::unknown)
      rows += row({g.full_name.substr(0, 200), g.op, "#" + text_of(g.total), "#" + share(g.total, d.total)});
  if (rows.empty()) return "<p>Every kernel was recognised.</p>\n";
  return "<table>" + row({"kernel", "operator", "#time", "#share"}, "th") + rows + "</table>\n";
}

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse;font-size:13px;width:100%}"
    "td,th{padding:3px 8px;border-bottom:1px solid #ddd;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    ".n{text-align:right;white-space:nowrap}figure{margin:1em 0}figcaption{font-size:13px;color:#666}"
    "svg{max-width:100%;height:auto}.big{font-size:1.05em}";

}  // namespace

std::string diagnose_html(const Diagnosis& d, Count top) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tilecast: {0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n<p class=big>{2}{3}, against forecasts for {4}. GPU work {5}; "
      "kernels recognised for {6} of it, forecast for {7}; {8} ({9}) above the ceilings.</p>\n",
      escaped(d.path), kStyle, escaped(d.format), d.recorded_on.empty() ? "" : " of " + escaped(d.recorded_on),
      escaped(d.gpu), text_of(d.total), share(d.recognised, d.total), share(d.compared, d.total), text_of(d.lost),
      share(d.lost, d.total));
  for (const std::string& note : d.notes) page += "<p>Note: " + escaped(note) + "</p>\n";
  page += "<h2>What to try</h2>\n<ol>\n";
  for (const Advice& a : d.advice)
    page += fmt::format("<li><b>{}</b>: at most {}. {}.<br>Try: {}.</li>\n", escaped(a.title), text_of(a.at_stake),
                        escaped(a.reason), escaped(a.action));
  page += "</ol>\n<h2>Where the time goes</h2>\n";
  page += figure(family_plot(d), "Time of all kernels of a family; orange is above their ceilings.");
  for (const Timeline& t : d.timelines)
    page += figure(activity_plot(t),
                   fmt::format("Device {}: {} from first to last work, busy {}, idle while the host was late {}.",
                               t.device, text_of(t.window), share(t.busy, t.window), share(t.host_late, t.window)));
  page += "<h2>Against the ceiling</h2>\n";
  page += figure(ceiling_plot(d),
                 "Each square is a shape: measured time of a call over what well-tuned kernels of its kind reach.");
  page += kernels(d, std::max<Count>(top, 40)) + "<h2>Not recognised</h2>\n" + unknown(d);
  return page + "</body></html>\n";
}

}  // namespace tilecast
