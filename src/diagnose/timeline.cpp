#include "diagnose/timeline.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tilecast {
namespace {

constexpr std::size_t kListed = 8;   // gaps and spans that are told one by one
constexpr std::size_t kParts = 240;  // of the activity plot

Seconds ns(std::int64_t n) { return nanoseconds(static_cast<double>(n)); }

using Events = std::vector<const WorkEvent*>;  // of one device, by start

// Time that at least one of the events covers.
template <class Wanted>
Seconds covered(const Events& events, Wanted&& wanted) {
  std::int64_t until = events.front()->start, sum = 0;
  for (const WorkEvent* e : events) {
    if (!wanted(*e)) continue;
    if (e->end() > until) sum += e->end() - std::max(until, e->start);
    until = std::max(until, e->end());
  }
  return ns(sum);
}

template <class T, class Longer>
void keep_longest(std::vector<T>& list, T item, Longer&& longer) {
  list.insert(std::upper_bound(list.begin(), list.end(), item, longer), std::move(item));
  if (list.size() > kListed) list.pop_back();
}

class Walk {
 public:
  Walk(const Recording& recording, const Events& events) : recording_(recording), events_(events) {
    first_ = events.front()->start;
    std::int64_t last = first_;
    for (const WorkEvent* e : events) last = std::max(last, e->end());
    line_.window = ns(last - first_);
    line_.device = recording.lanes[events.front()->lane].device;
    line_.launches = static_cast<Count>(events.size());
    part_ = std::max<double>(1, static_cast<double>(last - first_) / kParts);
    line_.activity.assign(kParts, 0);
  }

  DeviceTimeline run() {
    const WorkEvent* before = events_.front();  // that ends last so far
    for (const WorkEvent* e : events_) {
      const std::int64_t until = before->end();
      if (e != before && e->start > until) gap(*before, *e);
      else if (e != before && span_launches_ > 0) close_span(*before);
      if (e == before || e->end() > until) busy(e == before ? e->start : std::max(until, e->start), e->end());
      if (e->end() >= until) before = e;
    }
    if (span_launches_ > 0) close_span(*before);
    return std::move(line_);
  }

 private:
  void busy(std::int64_t from, std::int64_t to) {
    line_.busy += ns(to - from);
    double at = static_cast<double>(from - first_);
    const double end = static_cast<double>(to - first_);
    for (auto i = static_cast<std::size_t>(at / part_); i < kParts && at < end; ++i) {
      const double next = std::min(end, static_cast<double>(i + 1) * part_);
      line_.activity[i] += static_cast<float>((next - at) / part_);
      at = next;
    }
  }

  void gap(const WorkEvent& before, const WorkEvent& after) {
    const std::int64_t from = before.end(), length = after.start - from;
    const bool known = after.launched >= 0;
    // Launched after the GPU fell idle: until the call returned, the host is to blame; then the way to the GPU.
    const std::int64_t late = known ? std::clamp<std::int64_t>(after.returned - from, 0, length) : 0;
    ++line_.gaps;
    if (!known) line_.idle_unexplained += ns(length);
    line_.idle_host_late += ns(late);
    if (known) line_.idle_launched += ns(length - late);
    const bool host = late * 2 > length;
    const WorkKind &left = recording_.kinds[before.kind], &right = recording_.kinds[after.kind];
    if (line_.longest_gaps.size() < kListed || ns(length) > line_.longest_gaps.back().length)
      keep_longest(line_.longest_gaps,
                   IdleGap{ns(from - first_), ns(length), short_name(left.name), short_name(right.name),
                           right.op < 0 ? "" : recording_.operators[static_cast<std::size_t>(right.op)].name, host},
                   [](const IdleGap& a, const IdleGap& b) { return a.length > b.length; });
    if (!host) {
      if (span_launches_ > 0) close_span(before);
      return;
    }
    if (span_launches_++ == 0) span_from_ = from, span_idle_ = 0;
    span_idle_ += length;
  }

  void close_span(const WorkEvent& last) {
    const std::int64_t length = last.end() - span_from_;
    line_.host_bound += ns(length);
    keep_longest(line_.host_bound_spans,
                 HostBoundSpan{ns(span_from_ - first_), ns(length), ns(length - span_idle_), span_launches_},
                 [](const HostBoundSpan& a, const HostBoundSpan& b) { return a.length > b.length; });
    span_launches_ = 0;
  }

  const Recording& recording_;
  const Events& events_;
  DeviceTimeline line_;
  std::int64_t first_ = 0, span_from_ = 0, span_idle_ = 0;
  Count span_launches_ = 0;
  double part_ = 1;
};

}  // namespace

std::vector<DeviceTimeline> timelines(const Recording& recording, const std::vector<WorkFamily>& families) {
  return timelines(recording, recording.events, families);
}

std::vector<DeviceTimeline> timelines(const Recording& recording, const std::vector<WorkEvent>& all_events,
                                      const std::vector<WorkFamily>& families) {
  std::map<Count, Events> devices;
  for (const WorkEvent& e : all_events) devices[recording.lanes[e.lane].device].push_back(&e);
  std::vector<DeviceTimeline> lines;
  for (const auto& entry : devices) {
    const Events& events = entry.second;
    DeviceTimeline line = Walk(recording, events).run();
    const auto without = [&](WorkFamily family) {
      return covered(events, [&](const WorkEvent& e) { return families[e.kind] != family; });
    };
    const Seconds all = covered(events, [](const WorkEvent&) { return true; });
    line.idle = line.window - line.busy;
    line.exposed_collectives = all - without(WorkFamily::collective);
    line.exposed_copies = all - without(WorkFamily::transfer);
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end(),
            [](const DeviceTimeline& a, const DeviceTimeline& b) { return a.busy > b.busy; });
  return lines;
}

}  // namespace tilecast
