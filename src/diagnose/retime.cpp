#include "diagnose/retime.h"

#include <algorithm>
#include <cmath>

#include "diagnose/exchange.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Work that mostly moves memory: where its shape is not known, a stream that takes as long stands for it.
bool streams_memory(WorkFamily family) {
  switch (family) {
    case WorkFamily::norm:
    case WorkFamily::softmax:
    case WorkFamily::pointwise:
    case WorkFamily::fused:
    case WorkFamily::reduction:
    case WorkFamily::layout:
    case WorkFamily::gather:
    case WorkFamily::rope:
    case WorkFamily::cache:
    case WorkFamily::quantize:
    case WorkFamily::loss:
    case WorkFamily::optimizer:
    case WorkFamily::fill: return true;
    default: return false;
  }
}

RetimedGroup stays(std::string why) {
  RetimedGroup group;
  group.why = std::move(why);
  return group;
}

// `before` and `after` are forecasts of the same work on the two cards.
RetimedGroup scaled(RetimeBasis from, const Comparison& before, const Comparison& after) {
  RetimedGroup group;
  group.from = from;
  group.limit = after.limited_by, group.seen = after.seen;
  // The same question twice has no error of its own.
  if (before.forecast == after.forecast && before.bound == after.bound && before.interval.low == after.interval.low &&
      before.interval.high == after.interval.high)
    return group;
  group.ratio = after.forecast / before.forecast;
  group.low = after.interval.low / before.forecast, group.high = after.interval.high / before.forecast;
  return group;
}

std::optional<RetimedGroup> by_shape(const ReadShape& shape, std::string_view library, const RetimeSetting& setting) {
  const auto before = compare(shape, library, setting.from, setting.weights);
  if (!before || !(before->forecast > seconds(0))) return std::nullopt;
  const auto after = compare(shape, library, setting.to, setting.weights);
  if (!after) return std::nullopt;
  return scaled(RetimeBasis::shape, *before, *after);
}

std::optional<ReadShape> stream_of(Count elements) {
  Elementwise made;
  made.elements = elements, made.inputs = 1, made.op = PointwiseOp::copy;
  const auto format = format_from("bf16");
  if (!format) return std::nullopt;
  return ReadShape{Kernel{made, *format}, ShapeOrigin::table};
}

// A stream that takes this long on the first card; the smallest where even that takes longer.
std::optional<RetimedGroup> by_stream(Seconds each, const RetimeSetting& setting) {
  const auto time_of = [&](Count elements, const Gpu& gpu) {
    const auto shape = stream_of(elements);
    return shape ? compare(*shape, "PyTorch", gpu, setting.weights) : std::nullopt;
  };
  Count low = 1, high = Count{1} << 36;
  while (high - low > std::max<Count>(1, low / 64)) {
    const Count middle = low + (high - low) / 2 > 4 * low ? 2 * low : low + (high - low) / 2;
    const auto found = time_of(middle, setting.from);
    if (!found) return std::nullopt;
    (found->forecast < each ? low : high) = middle;
  }
  const auto before = time_of(low, setting.from), after = time_of(low, setting.to);
  if (!before || !after || !(before->forecast > seconds(0))) return std::nullopt;
  return scaled(RetimeBasis::stream, *before, *after);
}

// Copies within the card's memory read and write what they move; a fill writes it.
std::optional<ReadShape> copy_within(const WorkGroup& group) {
  const bool inside = contains(group.full_name, "DtoD") || group.family == WorkFamily::fill;
  const auto elements = static_cast<Count>(in_bytes(group.bytes) / static_cast<double>(group.launches) / 2);
  if (!inside || elements < 1) return std::nullopt;
  const auto format = format_from("bf16");
  if (!format) return std::nullopt;
  Copy copy;
  copy.elements = elements;
  return ReadShape{Kernel{copy, *format}, ShapeOrigin::table};
}

RetimedGroup by_exchange(const std::string& text, const RetimeSetting& setting) {
  if (text.empty()) return stays("the profiler did not record the collective's size");
  const auto exchange = exchange_from(text);
  if (!exchange) return stays("a collective that is not forecast");
  if (!setting.from_cluster || !setting.to_cluster) return stays("the cluster is not known");
  const auto forecast_on = [&](const Cluster& cluster) {
    Collective call;
    call.op = exchange->op, call.bytes = exchange->bytes, call.ranks = exchange->ranks;
    call.local = exchange->local_on(cluster.gpus_per_node);
    call.integers = exchange->integers;
    return forecast_collective(call, cluster, shipped_comm_constants());
  };
  const auto before = forecast_on(*setting.from_cluster), after = forecast_on(*setting.to_cluster);
  if (!before) return stays(before.error().line());
  if (!after) return stays(after.error().line());
  if (!(before->latency > seconds(0))) return stays("the collective takes no time");
  RetimedGroup group;
  group.from = RetimeBasis::collective, group.seen = after->seen ? Seen::yes : Seen::no;
  if (before->latency == after->latency && before->low == after->low && before->high == after->high) return group;
  group.ratio = after->latency / before->latency;
  group.low = after->low / before->latency, group.high = after->high / before->latency;
  return group;
}

RetimedGroup retime_group(const ReadGroup& read, const RetimeSetting& setting) {
  const WorkGroup& group = read.group;
  if (group.family == WorkFamily::unknown) return stays("not recognised");
  if (group.family == WorkFamily::collective) return by_exchange(read.exchange, setting);
  if (read.shape) {
    const auto found = by_shape(*read.shape, group.library, setting);
    return found ? *found : stays("no forecast on " + setting.to.name);
  }
  if (const auto copy = copy_within(group))
    if (const auto found = by_shape(*copy, "", setting)) return *found;
  if (group.family == WorkFamily::transfer) return stays("between host and GPU");
  if (streams_memory(group.family))
    if (const auto found = by_stream(group.total / static_cast<double>(group.launches), setting)) return *found;
  return stays("its shape is not known");
}

std::vector<DeviceTimeline> by_device(std::vector<DeviceTimeline> lines) {
  std::sort(lines.begin(), lines.end(),
            [](const DeviceTimeline& a, const DeviceTimeline& b) { return a.device < b.device; });
  return lines;
}

// The recording's events at their new times.
std::vector<WorkEvent> moved_events(const Recording& recording, const Schedule& schedule) {
  std::vector<WorkEvent> events = recording.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    WorkEvent& e = events[i];
    e.start = schedule.events[i].start, e.duration = schedule.events[i].duration;
    if (e.launched < 0) continue;
    e.launched = schedule.host(e.launched), e.returned = schedule.host(e.returned);
  }
  std::sort(events.begin(), events.end(), [](const WorkEvent& a, const WorkEvent& b) {
    return a.start != b.start ? a.start < b.start : a.duration < b.duration;
  });
  return events;
}

}  // namespace

Result<std::vector<RetimedGroup>> retime_groups(const GroupedWork& work, const RetimeSetting& setting,
                                                const Watch& watch) {
  std::vector<RetimedGroup> groups;
  groups.reserve(work.groups.size());
  for (const ReadGroup& read : work.groups) {
    if (!watch.go_on(static_cast<double>(groups.size()) / static_cast<double>(work.groups.size()))) return stopped();
    groups.push_back(retime_group(read, setting));
  }
  return groups;
}

int gpus_of_exchanges(const GroupedWork& work) {
  int most = 0;
  for (const ReadGroup& read : work.groups)
    if (const auto exchange = exchange_from(read.exchange)) most = std::max(most, exchange->gpus_needed());
  return most;
}

Result<Retimed> retime(const Recording& recording, const GroupedWork& work, const std::vector<RetimedGroup>& groups) {
  Retimed result;
  if (recording.events.empty()) return result;
  if (auto fine = check_window(recording); !fine) return std::move(fine).error();
  std::vector<double> ratios;
  ratios.reserve(recording.kinds.size());
  for (const std::size_t group : work.of_kind) ratios.push_back(groups[group].ratio);
  result.schedule = reschedule(recording, ratios);
  result.recorded = by_device(timelines(recording, work.families));
  result.retimed = by_device(timelines(recording, moved_events(recording, result.schedule), work.families));
  return result;
}

}  // namespace tilecast
