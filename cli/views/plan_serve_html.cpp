// A serving plan as one page: no script, no font, no picture from elsewhere.
#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "cli/views/plan_serve_view.h"
#include "support/svg.h"

namespace tilecast {
namespace {

// Numbers stand to the right.
std::string plan_row(const std::vector<std::string>& cells, const char* tag, std::size_t words) {
  std::string out = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += fmt::format("<{0}{1}>{2}</{0}>", tag, i < words ? "" : " class=n", escaped(cells[i]));
  return out + "</tr>\n";
}

std::string plan_figure(const std::string& svg, std::string_view words) {
  return svg.empty() ? "" : fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, escaped(words));
}

std::string deployments(const ServingPlan& p) {
  const std::string at(name_of(p.statistic));
  std::string out = "<table>" + plan_row({"", "GPUs", "set-up", "$/h", "$/M output", "requests/s", "TTFT " + at,
                                          "TPOT " + at, "chance", "tokens/s/GPU", "tokens/s/user", "in flight",
                                          "weights + cache, GiB", "J/token", "seen"},
                                         "th", 3);
  for (std::size_t i = 0; i < p.finalists.size(); ++i) {
    const PlannedServing& d = p.finalists[i];
    const ServingMetrics& m = *d.simulated;
    out += plan_row({p.best == i ? "best"
                     : d.meets   ? ""
                                 : "misses",
                     fmt::format("{} × {}", d.gpus, d.gpu), spread_words(d),
                     d.usd_per_hour ? text_of_usd(*d.usd_per_hour).substr(1) : "–",
                     d.usd_per_million_tokens ? text_of_usd(*d.usd_per_million_tokens).substr(1) : "–",
                     fmt::format("{:.3g}", d.in_flight > 0 ? m.request_throughput : d.rate),
                     text_of(statistic_of(m.ttft, p.statistic)), text_of(statistic_of(m.tpot, p.statistic)),
                     d.chance ? percent(*d.chance) : "–", text_of_rate(d.tokens_per_gpu),
                     grouped(std::llround(d.tokens_per_user)), grouped(std::llround(d.concurrency)), memory_words(d),
                     m.energy && m.energy->per_token ? fmt::format("{:.3g}", *m.energy->per_token) : "–",
                     std::string(name_of(d.seen))},
                    "td", 3);
  }
  return out + "</table>\n";
}

constexpr std::string_view kPlanStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse;font-size:13px;width:100%}"
    "td,th{padding:3px 8px;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}"
    ".n{text-align:right;white-space:nowrap}figure{margin:1em 0}figcaption{font-size:13px;color:#666}"
    "svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:1em;overflow-x:auto;font-size:12px}";

}  // namespace

std::string plan_serve_html(const PlanServeQuery& q, const ServingPlan& p) {
  const PlanPlots plots = plan_serve_plots(p);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tilecast: {0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>Serving {0}</h1>\n<p>Objective {2}{3}; input {4}, output {5} tokens{6}. "
      "{7} deployments tried, {8} simulated.</p>\n",
      escaped(p.model), kPlanStyle, name_of(p.objective),
      p.rate > 0 ? fmt::format(" at {:g} requests/s", p.rate) : std::string(), escaped(q.load.input),
      escaped(q.load.output),
      q.slo.empty() ? "" : ", SLO " + escaped(q.slo) + " at " + std::string(name_of(p.statistic)), p.tried,
      p.finalists.size());
  for (const std::string& note : p.notes) page += "<p>Note: " + escaped(note) + ".</p>\n";
  page += "<h2>Deployments</h2>\n" + deployments(p);
  page += "<p>Ordered by the objective over the chance of meeting the SLO. Prices: ";
  for (std::size_t i = 0; i < p.prices.size(); ++i) page += (i > 0 ? "; " : "") + escaped(p.prices[i]);
  page += ".</p>\n<h2>Pictures</h2>\n";
  page += plan_figure(plots.pareto,
                      "One copy of each set-up at several loads, by steady states; blue: nothing has more of both; "
                      "orange: the simulated deployments above.");
  page += plan_figure(plots.loads, "The best deployment, simulated at other rates.");
  page += plan_figure(plots.timeline, "The best deployment at the planned load.");
  if (p.best) {
    const PlannedServing& d = p.finalists[*p.best];
    page += fmt::format("<h2>Start it ({})</h2>\n<pre>", escaped(d.release));
    for (const std::string& line : d.launch) page += escaped(line) + "\n";
    page += "</pre>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace tilecast
