// The same forecasts for programs. Field names are stable: docs/json.md.
#include <nlohmann/json.hpp>

#include "cli/kernel_command.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

Json times_json(const ResourceTimes& times) {
  Json json = Json::object();
  for (int r = 0; r < kResourceCount; ++r)
    json[std::string(kResourceNames[static_cast<std::size_t>(r)])] =
        in_microseconds(times[static_cast<std::size_t>(r)]);
  return json;
}

Json launch_json(const Launch& launch, const LaunchEstimate& e) {
  const Demand total = launch.total();
  return Json{{"name", launch.name},
              {"latency_us", in_microseconds(e.latency)},
              {"bound_us", in_microseconds(e.bound)},
              {"limited_by", name_of(e.limited_by)},
              {"plan",
               {{"tile", {launch.tile.m, launch.tile.n, launch.tile.k}},
                {"split", launch.split},
                {"ctas", launch.ctas},
                {"threads", launch.cta.threads},
                {"ctas_per_sm", e.load.occupancy},
                {"waves", e.load.waves},
                {"known", launch.plan_known}}},
              {"demand",
               {{"tensor_ops", in_ops(total.tensor)},
                {"vector_ops", in_ops(total.vector)},
                {"xu_ops", in_ops(total.xu)},
                {"shared_bytes", in_bytes(total.shared)},
                {"l2_load_bytes", in_bytes(total.l2_load)},
                {"l2_store_bytes", in_bytes(total.l2_store)},
                {"dram_load_bytes", in_bytes(e.traffic.load)},
                {"dram_store_bytes", in_bytes(e.traffic.store)}}},
              {"peak_us", times_json(e.at_peak)},
              {"forecast_us", times_json(e.achieved)}};
}

Json forecast_object(const KernelForecast& f) {
  Json dims = Json::object();
  for (const auto& [name, value] : dims_of(f.kernel.shape)) dims[name] = value;
  Json launches = Json::array();
  for (std::size_t i = 0; i < f.plan.launches.size(); ++i)
    launches.push_back(launch_json(f.plan.launches[i], f.estimate.launches[i]));
  const Estimate& e = f.estimate;
  return Json{{"gpu", f.gpu.name},
              {"kernel", {{"family", family_of(f.kernel.shape)}, {"dtype", f.kernel.format.name}, {"dims", dims}}},
              {"method", name_of(e.method)},
              {"latency_us", in_microseconds(e.latency)},
              {"ceiling_us", in_microseconds(e.ceiling)},
              {"interval_us", {in_microseconds(e.interval.low), in_microseconds(e.interval.high)}},
              {"bound_us", in_microseconds(e.bound)},
              {"limited_by", name_of(e.limited_by)},
              {"efficiency", e.efficiency},
              {"seen", e.seen == Seen::yes || e.seen == Seen::calibrated},
              {"standing", e.seen == Seen::calibrated ? "calibrated"
                           : e.seen == Seen::yes      ? "seen"
                           : e.seen == Seen::sibling  ? "sibling seen"
                                                      : "unseen"},
              {"breakdown", launches}};
}

}  // namespace

std::string forecast_json(const std::vector<KernelForecast>& forecasts) {
  Json list = Json::array();
  for (const KernelForecast& f : forecasts) list.push_back(forecast_object(f));
  return list.dump(2) + "\n";
}

}  // namespace tilecast
