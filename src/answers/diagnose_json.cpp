// The diagnosis for programs. Field names are stable: docs/json.md.
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json forecast_json(const WorkForecast& f) {
  Json dims = Json::object();
  for (const auto& [name, value] : f.dims) dims[name] = value;
  return {{"family", f.family},
          {"dtype", f.dtype},
          {"dims", dims},
          {"shape_from", name_of(f.shape_from)},
          {"forecast_us", in_microseconds(f.forecast)},
          {"interval_us", {in_microseconds(f.interval.low), in_microseconds(f.interval.high)}},
          {"ceiling_us", in_microseconds(f.ceiling)},
          {"ceiling_from", name_of(f.ceiling_from)},
          {"bound_us", in_microseconds(f.bound)},
          {"limited_by", name_of(f.limited_by)},
          {"seen", name_of(f.seen)}};
}

Json work_json(const RecordedWork& g) {
  Json json = {{"kernel", g.name},
               {"name", g.full_name},
               {"family", g.family},
               {"library", g.library},
               {"operator", g.op},
               {"calls", g.calls},
               {"launches", g.launches},
               {"total_us", in_microseconds(g.total)},
               {"per_call_us", in_microseconds(g.per_call)}};
  if (g.bytes > bytes(0)) json["bytes"] = in_bytes(g.bytes);
  if (g.counters)
    json["counters"] = {{"memory_share", g.counters->memory_share},
                        {"compute_share", g.counters->compute_share},
                        {"dram_bytes", in_bytes(g.counters->dram)}};
  if (g.forecast) {
    json["forecast"] = forecast_json(*g.forecast);
    json["above_ceiling_us"] = in_microseconds(g.above_ceiling);
    json["underperforms"] = g.underperforms;
  }
  return json;
}

Json timeline_json(const DeviceTimeline& t) {
  Json gaps = Json::array(), spans = Json::array();
  for (const IdleGap& g : t.longest_gaps)
    gaps.push_back({{"start_us", in_microseconds(g.start)},
                    {"length_us", in_microseconds(g.length)},
                    {"after", g.before},
                    {"before", g.after},
                    {"operator", g.op},
                    {"host_late", g.host_late}});
  for (const HostBoundSpan& s : t.host_bound_spans)
    spans.push_back({{"start_us", in_microseconds(s.start)},
                     {"length_us", in_microseconds(s.length)},
                     {"busy_us", in_microseconds(s.busy)},
                     {"launches", s.launches}});
  return {{"device", t.device},
          {"window_us", in_microseconds(t.window)},
          {"busy_us", in_microseconds(t.busy)},
          {"idle_us", in_microseconds(t.idle)},
          {"idle_host_late_us", in_microseconds(t.idle_host_late)},
          {"idle_launched_us", in_microseconds(t.idle_launched)},
          {"idle_unexplained_us", in_microseconds(t.idle_unexplained)},
          {"gaps", t.gaps},
          {"launches", t.launches},
          {"exposed_collectives_us", in_microseconds(t.exposed_collectives)},
          {"exposed_copies_us", in_microseconds(t.exposed_copies)},
          {"host_bound_us", in_microseconds(t.host_bound)},
          {"longest_gaps", gaps},
          {"host_bound_spans", spans}};
}

}  // namespace

std::string diagnose_json(const DiagnosisReport& d) {
  Json json = {{"trace", d.trace},
               {"format", d.format},
               {"recorded_on", d.recorded_on},
               {"gpu", d.gpu},
               {"total_us", in_microseconds(d.total)},
               {"recognised_share", d.total > seconds(0) ? d.recognised / d.total : 0.0},
               {"forecast_share", d.total > seconds(0) ? d.compared / d.total : 0.0},
               {"above_ceiling_us", in_microseconds(d.above_ceiling)},
               {"families", Json::array()},
               {"kernels", Json::array()},
               {"devices", Json::array()},
               {"host", Json::array()},
               {"advice", Json::array()},
               {"notes", d.notes}};
  for (const FamilyTime& f : d.families)
    json["families"].push_back({{"family", f.family},
                                {"total_us", in_microseconds(f.total)},
                                {"launches", f.launches},
                                {"forecast_us", in_microseconds(f.compared)},
                                {"above_ceiling_us", in_microseconds(f.above_ceiling)}});
  for (std::size_t i = 0; i < std::min(d.work.size(), kMostListed); ++i)
    json["kernels"].push_back(work_json(d.work[i]));
  if (d.work.size() > kMostListed)
    json["notes"].push_back("only the " + std::to_string(kMostListed) + " kernels that take longest are listed, of " +
                            std::to_string(d.work.size()));
  for (const DeviceTimeline& t : d.devices) json["devices"].push_back(timeline_json(t));
  for (const HostCallTime& c : d.host)
    json["host"].push_back({{"call", c.name}, {"count", c.count}, {"total_us", in_microseconds(c.total)}});
  for (const Suggestion& a : d.advice)
    json["advice"].push_back(
        {{"title", a.title}, {"reason", a.reason}, {"action", a.action}, {"at_stake_us", in_microseconds(a.at_stake)}});
  return json_text(json);
}

}  // namespace tilecast
