// The diagnosis for programs. Field names are stable: docs/json.md.
#include <nlohmann/json.hpp>

#include "cli/commands/diagnose_command.h"
#include "support/json.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

Json comparison_json(const Comparison& c) {
  Json dims = Json::object();
  for (const auto& [name, value] : dims_of(c.kernel.shape)) dims[name] = value;
  return {{"family", family_of(c.kernel.shape)},
          {"dtype", c.kernel.format.name},
          {"dims", dims},
          {"shape_from", c.from == ShapeFrom::launch  ? "launch"
                         : c.from == ShapeFrom::table ? "table"
                                                      : "operator"},
          {"forecast_us", in_microseconds(c.forecast)},
          {"interval_us", {in_microseconds(c.interval.low), in_microseconds(c.interval.high)}},
          {"ceiling_us", in_microseconds(c.ceiling)},
          {"ceiling_from", c.ceiling_from == CeilingFrom::tuner      ? "tuner"
                           : c.ceiling_from == CeilingFrom::kernels  ? "kernels"
                           : c.ceiling_from == CeilingFrom::recorded ? "recorded"
                                                                     : "forecast"},
          {"bound_us", in_microseconds(c.bound)},
          {"limited_by", name_of(c.limited_by)},
          {"seen", c.seen == Seen::yes || c.seen == Seen::calibrated}};
}

Json group_json(const WorkGroup& g) {
  Json json = {{"kernel", g.name},
               {"name", g.full_name},
               {"family", name_of(g.family)},
               {"library", g.library},
               {"operator", g.op},
               {"calls", g.calls},
               {"launches", g.launches},
               {"total_us", in_microseconds(g.total)},
               {"per_call_us", in_microseconds(g.per_call())}};
  if (g.bytes > bytes(0)) json["bytes"] = in_bytes(g.bytes);
  if (g.counters)
    json["counters"] = {{"memory_share", g.counters->memory_share},
                        {"compute_share", g.counters->compute_share},
                        {"dram_bytes", in_bytes(g.counters->dram)}};
  if (g.comparison) {
    json["forecast"] = comparison_json(*g.comparison);
    json["above_ceiling_us"] = in_microseconds(g.lost());
    json["underperforms"] = g.underperforms();
  }
  return json;
}

Json timeline_json(const Timeline& t) {
  Json gaps = Json::array(), spans = Json::array();
  for (const Gap& g : t.longest)
    gaps.push_back({{"start_us", in_microseconds(g.start)},
                    {"length_us", in_microseconds(g.length)},
                    {"after", g.before},
                    {"before", g.after},
                    {"operator", g.op},
                    {"host_late", g.host}});
  for (const HostSpan& s : t.spans)
    spans.push_back({{"start_us", in_microseconds(s.start)},
                     {"length_us", in_microseconds(s.length)},
                     {"busy_us", in_microseconds(s.busy)},
                     {"launches", s.launches}});
  return {{"device", t.device},
          {"window_us", in_microseconds(t.window)},
          {"busy_us", in_microseconds(t.busy)},
          {"idle_us", in_microseconds(t.idle())},
          {"idle_host_late_us", in_microseconds(t.host_late)},
          {"idle_launched_us", in_microseconds(t.launched)},
          {"idle_unexplained_us", in_microseconds(t.unexplained)},
          {"gaps", t.gaps},
          {"launches", t.launches},
          {"exposed_collectives_us", in_microseconds(t.exposed_collectives)},
          {"exposed_copies_us", in_microseconds(t.exposed_copies)},
          {"host_bound_us", in_microseconds(t.in_spans)},
          {"longest_gaps", gaps},
          {"host_bound_spans", spans}};
}

}  // namespace

std::string diagnose_json(const Diagnosis& d) {
  Json json = {{"trace", d.path},
               {"format", d.format},
               {"recorded_on", d.recorded_on},
               {"gpu", d.gpu},
               {"total_us", in_microseconds(d.total)},
               {"recognised_share", d.total > seconds(0) ? d.recognised / d.total : 0.0},
               {"forecast_share", d.total > seconds(0) ? d.compared / d.total : 0.0},
               {"above_ceiling_us", in_microseconds(d.lost)},
               {"families", Json::array()},
               {"kernels", Json::array()},
               {"devices", Json::array()},
               {"host", Json::array()},
               {"advice", Json::array()},
               {"notes", d.notes}};
  for (const FamilyTotal& f : d.families)
    json["families"].push_back({{"family", name_of(f.family)},
                                {"total_us", in_microseconds(f.total)},
                                {"launches", f.launches},
                                {"forecast_us", in_microseconds(f.compared)},
                                {"above_ceiling_us", in_microseconds(f.lost)}});
  for (std::size_t i = 0; i < std::min(d.groups.size(), kMostListed); ++i)
    json["kernels"].push_back(group_json(d.groups[i]));
  if (d.groups.size() > kMostListed)
    json["notes"].push_back("only the " + std::to_string(kMostListed) + " kernels that take longest are listed, of " +
                            std::to_string(d.groups.size()));
  for (const Timeline& t : d.timelines) json["devices"].push_back(timeline_json(t));
  for (const HostCall& c : d.host)
    json["host"].push_back({{"call", c.name}, {"count", c.count}, {"total_us", in_microseconds(c.total)}});
  for (const Advice& a : d.advice)
    json["advice"].push_back(
        {{"title", a.title}, {"reason", a.reason}, {"action", a.action}, {"at_stake_us", in_microseconds(a.at_stake)}});
  // Names come from files: what is no UTF-8 must not stop the report.
  return json_text(json);
}

}  // namespace tilecast
