// The diagnosis as one page: no script, no font, no picture from elsewhere.
#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "cli/views/diagnose_view.h"
#include "support/svg.h"

namespace tilecast {
namespace {

// Cells that start with '#' stand to the right.
std::string row(std::initializer_list<std::string> cells, const char* tag = "td") {
  std::string out = "<tr>";
  for (const std::string& cell : cells) {
    const bool number = cell.starts_with('#');
    out += fmt::format("<{}{}>{}</{}>", tag, number ? " class=n" : "", escaped(number ? cell.substr(1) : cell), tag);
  }
  return out + "</tr>\n";
}

std::string figure(const std::string& svg, std::string_view words) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(words));
}

std::string kernels(const DiagnosisReport& d, Count top) {
  std::string out = "<table>" + row({"kernel", "shape", "#time", "#share", "#calls", "#per call", "#forecast",
                                     "#ceiling", "#bound", "#over ceiling", "limited by"},
                                    "th");
  for (const RecordedWork& g : d.work) {
    if (top-- <= 0) break;
    const auto& c = g.forecast;
    out += row({g.name, shape_words(g), "#" + text_of(g.total), "#" + share_words(g.total, d.total),
                fmt::format("#{}", g.calls), "#" + text_of(g.per_call), c ? "#" + text_of(c->forecast) : "#–",
                c ? "#" + text_of(c->ceiling) : "#–", c ? "#" + text_of(c->bound) : "#–",
                c ? fmt::format("#{:.2f}", g.per_call / c->ceiling) : "#–", limit_words(g)});
  }
  return out + "</table>\n";
}

std::string unknown(const DiagnosisReport& d) {
  std::string rows;
  std::size_t listed = 0;
  for (const RecordedWork& g : d.work)
    if (!g.recognised() && listed++ < kMostListed)
      rows += row({g.full_name.substr(0, 200), g.op, "#" + text_of(g.total), "#" + share_words(g.total, d.total)});
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

std::string diagnose_html(const DiagnosisReport& d, Count top) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tilecast: {0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n<p class=big>{2}{3}, against forecasts for {4}. GPU work {5}; "
      "kernels recognised for {6} of it, forecast for {7}; {8} ({9}) above the ceilings.</p>\n",
      escaped(d.trace), kStyle, escaped(d.format), d.recorded_on.empty() ? "" : " of " + escaped(d.recorded_on),
      escaped(d.gpu), text_of(d.total), share_words(d.recognised, d.total), share_words(d.compared, d.total),
      text_of(d.above_ceiling), share_words(d.above_ceiling, d.total));
  for (const std::string& note : d.notes) page += "<p>Note: " + escaped(note) + "</p>\n";
  page += "<h2>What to try</h2>\n<ol>\n";
  for (const Suggestion& a : d.advice)
    page += fmt::format("<li><b>{}</b>: at most {}. {}.<br>Try: {}.</li>\n", escaped(a.title), text_of(a.at_stake),
                        escaped(a.reason), escaped(a.action));
  page += "</ol>\n<h2>Where the time goes</h2>\n";
  const DiagnosePlots plots = diagnose_plots(d);
  page += figure(plots.families, "Time of all kernels of a family; orange is above their ceilings.");
  for (std::size_t i = 0; i < d.devices.size(); ++i) {
    const DeviceTimeline& t = d.devices[i];
    page +=
        figure(plots.busy[i],
               fmt::format("Device {}: {} from first to last work, busy {}, idle while the host was late {}.", t.device,
                           text_of(t.window), share_words(t.busy, t.window), share_words(t.idle_host_late, t.window)));
  }
  page += "<h2>Against the ceiling</h2>\n";
  page += figure(plots.ceilings,
                 "Each square is a shape: measured time of a call over what well-tuned kernels of its kind reach.");
  page += kernels(d, std::max<Count>(top, 40)) + "<h2>Not recognised</h2>\n" + unknown(d);
  return page + "</body></html>\n";
}

}  // namespace tilecast
