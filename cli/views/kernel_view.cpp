#include "cli/views/kernel_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/marked_text.h"
#include "cli/terminal/units_text.h"
#include "cli/views/roofline_plot.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string_view words_for(Warmth warmth) {
  switch (warmth) {
    case Warmth::model: return "weights cold, activations warm";
    case Warmth::warm: return "buffers reused";
    case Warmth::cold: return "caches cold";
  }
  return "";
}

std::string plan_lines(const LaunchForecast& f, int sms) {
  std::string tile = f.tile.m ? fmt::format("tile {}x{}", f.tile.m, f.tile.n) : "";
  if (f.tile.k) tile += fmt::format("x{}", f.tile.k);
  if (f.split > 1) tile += fmt::format(", split {}", f.split);
  if (!tile.empty()) tile += "; ";
  return fmt::format(
      "  plan      {}{} CTA{} of {} threads{}\n"
      "  schedule  {}: {} wave{}, {} CTA{} per SM, {} of {} SMs busy, busiest SM {} task{}, balance {}\n",
      tile, f.ctas, f.ctas == 1 ? "" : "s", f.threads, f.plan_known ? "" : " (inferred)", f.dispatch, f.waves,
      f.waves == 1 ? "" : "s", f.ctas_per_sm, f.ctas_per_sm == 1 ? "" : "s", f.sms_used, sms, f.tasks_busiest,
      f.tasks_busiest == 1 ? "" : "s", percent(f.balance));
}

std::string demand_table(const LaunchForecast& f) {
  Table table({{"resource", Align::left}, {"whole GPU"}, {"busiest SM"}, {"unavoidable"}, {"as forecast"}});
  const auto add = [&](Resource r, const std::string& all, const std::string& busiest) {
    const Seconds peak = f.at_peak[static_cast<std::size_t>(r)], forecast = f.as_forecast[static_cast<std::size_t>(r)];
    table.add({std::string(name_of(r)), all, busiest, peak > seconds(0) ? text_of(peak) : "–", text_of(forecast)});
  };
  const Work &all = f.total, &sm = f.busiest_sm;
  if (all.tensor > ops(0)) add(Resource::tensor, text_of(all.tensor) + "op", text_of(sm.tensor) + "op");
  if (all.vector > ops(0)) add(Resource::vector, text_of(all.vector) + "op", text_of(sm.vector) + "op");
  if (all.xu > ops(0)) add(Resource::xu, text_of(all.xu) + "op", text_of(sm.xu) + "op");
  if (all.shared > bytes(0)) add(Resource::shared, text_of(all.shared), text_of(sm.shared));
  add(Resource::l2, text_of(all.l2_load + all.l2_store), text_of(sm.l2_load + sm.l2_store));
  add(Resource::dram, text_of(f.dram_load + f.dram_store), "");
  if (f.as_forecast[static_cast<std::size_t>(Resource::latency)] > seconds(0)) add(Resource::latency, "", "");
  add(Resource::launch, "", "");
  return table.shown(2);
}

// Why the column of times is not a sum.
std::string overlap_note(Method method) {
  if (method == Method::roofline) return "  Resources work side by side: the longest of them is the forecast.\n";
  return std::string("  Resources work side by side: their times overlap and do not add up to the forecast") +
         (method == Method::analytic ? ".\n"
                                     : ",\n  which measurements, where there were any, have corrected as a whole.\n");
}

}  // namespace

std::string forecast_table(const KernelQuery& query, const std::vector<KernelForecast>& forecasts) {
  const KernelForecast& first = forecasts.front();
  const bool formats =
      std::any_of(forecasts.begin(), forecasts.end(), [&](const KernelForecast& f) { return f.dtype != first.dtype; });
  std::string dims;
  for (const auto& [name, value] : first.dims) dims += fmt::format(" {}={}", name, value);
  std::string out =
      fmt::format("{}{}, {}{}, {}\n\n", first.family, dims, formats ? "" : first.dtype + ", ", words_for(query.warmth),
                  query.runtime == Runtime::graph ? "CUDA graph" : "eager launch");
  std::vector<Table::Column> columns = {{"GPU", Align::left}};
  if (formats) columns.push_back({"dtype", Align::left});
  columns.insert(columns.end(), {{"forecast"},
                                 {"80 % interval"},
                                 {"bound"},
                                 {"efficiency"},
                                 {"limited by", Align::left},
                                 {"speed"},
                                 {"seen", Align::left}});
  Table table(columns);
  for (const KernelForecast& f : forecasts) {
    std::vector<std::string> cells = {f.gpu};
    if (formats) cells.push_back(f.dtype);
    cells.insert(cells.end(), {text_of(f.latency), text_of_interval(f.interval.low, f.interval.high), text_of(f.bound),
                               percent(f.efficiency), std::string(name_of(f.limited_by)),
                               three_digits(first.latency / f.latency) + "×", seen_text(name_of(f.seen))});
    table.add(std::move(cells));
  }
  out += table.shown();
  for (const KernelForecast& f : forecasts)
    for (const std::string& note : f.notes)
      out += fmt::format("\n{}{}: {}\n", f.gpu, formats ? ", " + f.dtype : "", note);
  return out;
}

std::string explain_text(const KernelForecast& f) {
  std::string out = fmt::format("{}: {}, limited by {}\n", f.gpu, text_of(f.latency), name_of(f.limited_by));
  if (f.ceiling > f.bound)
    out += fmt::format("  a well-tuned kernel reaches {}; no kernel beats {}\n", text_of(f.ceiling), text_of(f.bound));
  for (std::size_t i = 0; i < f.launches.size(); ++i) {
    const LaunchForecast& launch = f.launches[i];
    out += fmt::format("\n  {}  {}, bound {}, limited by {}\n", launch.name, text_of(launch.latency),
                       text_of(launch.bound), name_of(launch.limited_by));
    out += plan_lines(launch, f.sms) + demand_table(launch);
    if (i == 0) out += overlap_note(f.method);
    if (launch.roofline && (i == 0 || launch.total.tensor > ops(0))) out += "\n" + roofline_plot(*launch.roofline);
  }
  return out;
}

}  // namespace tilecast
