// The long answer: plan, schedule, what each pipe must do and how long that takes, and a roofline.
#include <fmt/format.h>

#include "cli/kernel_command.h"
#include "cli/roofline_plot.h"
#include "cli/table.h"
#include "cli/units_text.h"

namespace tilecast {
namespace {

std::string_view describe(Dispatch dispatch) {
  switch (dispatch) {
    case Dispatch::waves: return "hardware waves";
    case Dispatch::persistent: return "persistent CTAs";
    case Dispatch::longest_first: return "longest first";
  }
  return "";
}

std::string plan_line(const Launch& launch, const LaunchEstimate& e, int sms) {
  std::string tile = launch.tile.m ? fmt::format("tile {}x{}", launch.tile.m, launch.tile.n) : "";
  if (launch.tile.k) tile += fmt::format("x{}", launch.tile.k);
  if (launch.split > 1) tile += fmt::format(", split {}", launch.split);
  if (!tile.empty()) tile += "; ";
  return fmt::format(
      "  plan      {}{} CTA{} of {} threads{}\n"
      "  schedule  {}: {} wave{}, {} CTA{} per SM, {} of {} SMs busy, busiest SM {} task{}, balance {}\n",
      tile, launch.ctas, launch.ctas == 1 ? "" : "s", launch.cta.threads, launch.plan_known ? "" : " (inferred)",
      describe(launch.dispatch), e.load.waves, e.load.waves == 1 ? "" : "s", e.load.occupancy,
      e.load.occupancy == 1 ? "" : "s", e.load.sms_used, sms, e.load.tasks_busiest,
      e.load.tasks_busiest == 1 ? "" : "s", percent(e.load.balance));
}

std::string demand_table(const Launch& launch, const LaunchEstimate& e) {
  const Demand total = launch.total();
  Table table({{"resource", Align::left}, {"whole GPU"}, {"busiest SM"}, {"unavoidable"}, {"as forecast"}});
  const auto add = [&](Resource r, const std::string& all, const std::string& busiest) {
    const Seconds peak = e.at_peak[static_cast<std::size_t>(r)], forecast = e.achieved[static_cast<std::size_t>(r)];
    table.add({std::string(name_of(r)), all, busiest, peak > seconds(0) ? text_of(peak) : "–", text_of(forecast)});
  };
  const Demand& sm = e.load.busiest;
  if (total.tensor > ops(0)) add(Resource::tensor, text_of(total.tensor) + "op", text_of(sm.tensor) + "op");
  if (total.vector > ops(0)) add(Resource::vector, text_of(total.vector) + "op", text_of(sm.vector) + "op");
  if (total.xu > ops(0)) add(Resource::xu, text_of(total.xu) + "op", text_of(sm.xu) + "op");
  if (total.shared > bytes(0)) add(Resource::shared, text_of(total.shared), text_of(sm.shared));
  add(Resource::l2, text_of(total.l2_load + total.l2_store), text_of(sm.l2_load + sm.l2_store));
  add(Resource::dram, text_of(e.traffic.total()), "");
  if (e.achieved[static_cast<std::size_t>(Resource::latency)] > seconds(0)) add(Resource::latency, "", "");
  add(Resource::launch, "", "");
  return table.text(2);
}

}  // namespace

std::string explain_text(const KernelForecast& f) {
  std::string out =
      fmt::format("{}: {}, limited by {}\n", f.gpu.name, text_of(f.estimate.latency), name_of(f.estimate.limited_by));
  if (f.estimate.ceiling > f.estimate.bound)
    out += fmt::format("  a well-tuned kernel reaches {}; no kernel beats {}\n", text_of(f.estimate.ceiling),
                       text_of(f.estimate.bound));
  for (std::size_t i = 0; i < f.plan.launches.size(); ++i) {
    const Launch& launch = f.plan.launches[i];
    const LaunchEstimate& e = f.estimate.launches[i];
    out += fmt::format("\n  {}  {}, bound {}, limited by {}\n", launch.name, text_of(e.latency), text_of(e.bound),
                       name_of(e.limited_by));
    out += plan_line(launch, e, f.gpu.sms);
    out += demand_table(launch, e);
    if (i == 0 || launch.required.tensor > ops(0)) {
      const std::string plot = roofline_plot(launch, e, f.gpu);
      if (!plot.empty()) out += "\n" + plot;
    }
  }
  return out;
}

}  // namespace tilecast
