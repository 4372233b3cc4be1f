// The same forecasts for programs. Field names are stable: docs/json.md.
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json times_json(const ResourceTimes& times) {
  Json json = Json::object();
  for (int r = 0; r < kResourceCount; ++r)
    json[kResourceNames[static_cast<std::size_t>(r)]] = in_microseconds(times[static_cast<std::size_t>(r)]);
  return json;
}

Json roofline_json(const std::optional<LaunchForecast::Roofline>& r) {
  if (!r) return Json();
  return Json{{"ops_per_byte", r->intensity},
              {"reached_ops_per_s", r->reached.base()},
              {"peak_ops_per_s", r->peak.base()},
              {"feed_bytes_per_s", r->feed.base()},
              {"feed", r->from_dram ? "dram" : "l2"}};
}

Json launch_json(const LaunchForecast& f) {
  return Json{{"name", f.name},
              {"latency_us", in_microseconds(f.latency)},
              {"bound_us", in_microseconds(f.bound)},
              {"limited_by", name_of(f.limited_by)},
              {"plan",
               {{"tile", {f.tile.m, f.tile.n, f.tile.k}},
                {"split", f.split},
                {"ctas", f.ctas},
                {"threads", f.threads},
                {"ctas_per_sm", f.ctas_per_sm},
                {"waves", f.waves},
                {"known", f.plan_known}}},
              {"schedule",
               {{"dispatch", f.dispatch},
                {"sms_used", f.sms_used},
                {"tasks_busiest", f.tasks_busiest},
                {"balance", f.balance}}},
              {"demand",
               {{"tensor_ops", in_ops(f.total.tensor)},
                {"vector_ops", in_ops(f.total.vector)},
                {"xu_ops", in_ops(f.total.xu)},
                {"shared_bytes", in_bytes(f.total.shared)},
                {"l2_load_bytes", in_bytes(f.total.l2_load)},
                {"l2_store_bytes", in_bytes(f.total.l2_store)},
                {"dram_load_bytes", in_bytes(f.dram_load)},
                {"dram_store_bytes", in_bytes(f.dram_store)}}},
              {"peak_us", times_json(f.at_peak)},
              {"forecast_us", times_json(f.as_forecast)},
              {"roofline", roofline_json(f.roofline)}};
}

Json forecast_object(const KernelForecast& f) {
  Json dims = Json::object();
  for (const auto& [name, value] : f.dims) dims[name] = value;
  Json launches = Json::array();
  for (const LaunchForecast& launch : f.launches) launches.push_back(launch_json(launch));
  return Json{{"gpu", f.gpu},
              {"sms", f.sms},
              {"kernel", {{"family", f.family}, {"dtype", f.dtype}, {"dims", dims}}},
              {"method", name_of(f.method)},
              {"latency_us", in_microseconds(f.latency)},
              {"ceiling_us", in_microseconds(f.ceiling)},
              {"interval_us", {in_microseconds(f.interval.low), in_microseconds(f.interval.high)}},
              {"bound_us", in_microseconds(f.bound)},
              {"limited_by", name_of(f.limited_by)},
              {"efficiency", f.efficiency},
              {"seen", name_of(f.seen)},
              {"notes", f.notes},
              {"breakdown", launches}};
}

}  // namespace

std::string forecast_json(const std::vector<KernelForecast>& forecasts) {
  Json list = Json::array();
  for (const KernelForecast& f : forecasts) list.push_back(forecast_object(f));
  return json_text(list);
}

}  // namespace tilecast
