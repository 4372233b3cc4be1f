// A re-timed trace for programs (docs/json.md).
#include <algorithm>

#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json interval_json(const Interval& interval) {
  return {in_microseconds(interval.low), in_microseconds(interval.high)};
}

Json work_json(const RetimedWork& w) {
  Json json = {{"kernel", w.name},
               {"name", w.full_name},
               {"family", w.family},
               {"library", w.library},
               {"operator", w.op},
               {"calls", w.calls},
               {"launches", w.launches},
               {"recorded_us", in_microseconds(w.recorded)},
               {"retimed_us", in_microseconds(w.retimed)},
               {"interval_us", interval_json(w.interval)},
               {"ratio", w.ratio()},
               {"basis", name_of(w.basis)}};
  if (!w.shape_family.empty()) {
    Json dims = Json::object();
    for (const auto& [name, value] : w.dims) dims[name] = value;
    json["shape"] = {{"family", w.shape_family}, {"dtype", w.dtype}, {"dims", dims}};
  }
  if (w.limited_by) json["limited_by"] = name_of(*w.limited_by);
  if (w.basis == RetimeBasis::recorded) json["kept_because"] = w.kept_because;
  else json["seen"] = name_of(w.seen);
  return json;
}

Json times_json(const RetimedDevice::Times& t) {
  return {{"window_us", in_microseconds(t.window)},
          {"busy_us", in_microseconds(t.busy)},
          {"idle_us", in_microseconds(t.idle)},
          {"idle_host_late_us", in_microseconds(t.idle_host_late)},
          {"exposed_collectives_us", in_microseconds(t.exposed_collectives)}};
}

}  // namespace

std::string retime_json(const RetimeReport& r) {
  Json basis = Json::object(), work = Json::array(), devices = Json::array(), limits = Json::object();
  const auto share = [](Seconds part, Seconds whole) { return whole > seconds(0) ? part / whole : 0; };
  for (std::size_t i = 0; i < kRetimeBasisNames.size(); ++i)
    basis[std::string(kRetimeBasisNames[i])] = share(r.by_basis[i], r.recorded);
  for (const LimitShare& limit : r.limits) limits[limit.limit] = share(limit.time, r.retimed);
  for (const RetimedDevice& d : r.devices)
    devices.push_back({{"device", d.device}, {"recorded", times_json(d.recorded)}, {"retimed", times_json(d.retimed)}});
  for (std::size_t i = 0; i < std::min(r.work.size(), kMostListed); ++i) work.push_back(work_json(r.work[i]));
  const Json json = {{"trace", r.trace},
                     {"format", r.format},
                     {"recorded_on", r.recorded_on},
                     {"from", r.from},
                     {"gpu", r.gpu},
                     {"from_cluster", r.from_cluster},
                     {"cluster", r.cluster},
                     {"recorded_us", in_microseconds(r.recorded)},
                     {"retimed_us", in_microseconds(r.retimed)},
                     {"interval_us", interval_json(r.interval)},
                     {"basis_share", basis},
                     {"not_recognised_share", share(r.not_recognised, r.recorded)},
                     {"limited_by_share", limits},
                     {"devices", devices},
                     {"kernels", work},
                     {"notes", r.notes}};
  return json_text(json);
}

}  // namespace tilecast
