#include "diagnose/reschedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr std::uint32_t kNobody = ~std::uint32_t{0};
// Nothing is placed later than this behind the first work, so that sums fit; recordings are far shorter (kMostWindow).
constexpr std::int64_t kMostSpan = std::int64_t{1} << 59;
// Streams among which a wait between streams looks for what was waited for. PyTorch's programs use a dozen at most.
constexpr std::size_t kMostLanesSearched = 64;

// What a recording usually takes from the host's call to the start of work on an idle GPU, and from the end of work
// to the start of what was already waiting behind it.
struct Usual {
  std::int64_t launch = 0, behind = 0;
};

std::int64_t whole(double ns) { return static_cast<std::int64_t>(std::llround(ns)); }

std::int64_t middle_of(std::vector<double>& values) {
  return values.empty() ? 0 : whole(median(std::move(values)));
}

class Replay {
 public:
  Replay(const Recording& recording, std::span<const double> ratios)
      : recording_(recording), events_(recording.events), lanes_(recording.lanes.size()) {
    result_.events.resize(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const double scaled = static_cast<double>(events_[i].duration) * ratios[events_[i].kind];
      result_.events[i].duration = whole(std::clamp(scaled, 0.0, static_cast<double>(kMostSpan)));
    }
    if (!events_.empty()) latest_start_ = events_.front().start + kMostSpan;
    by_end_.resize(events_.size());
    std::iota(by_end_.begin(), by_end_.end(), 0u);
    std::sort(by_end_.begin(), by_end_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events_[a].end() != events_[b].end() ? events_[a].end() < events_[b].end() : a < b;
    });
    usual_ = usual_of();
    find_joins();
  }

  Schedule run() {
    std::size_t wait = 0;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      for (; wait < recording_.waits.size() && recording_.waits[wait].end < events_[i].start; ++wait)
        host_waits(recording_.waits[wait]);
      place(i);
      LastTwo& lane = lanes_[events_[i].lane];
      lane = {i, lane.last};
    }
    for (; wait < recording_.waits.size(); ++wait) host_waits(recording_.waits[wait]);
    return std::move(result_);
  }

 private:
  std::int64_t new_end(std::uint32_t i) const { return result_.events[i].start + result_.events[i].duration; }

  Usual usual_of() const {
    std::vector<double> launches, behinds;
    std::vector<std::uint32_t> before(recording_.lanes.size(), kNobody);
    std::int64_t busy_until = -2 * kMostTime;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      const WorkEvent& e = events_[i];
      const std::uint32_t previous = std::exchange(before[e.lane], i);
      const bool idle = busy_until <= e.launched;
      busy_until = std::max(busy_until, e.end());
      if (e.launched < 0) continue;
      if (idle) launches.push_back(static_cast<double>(std::max<std::int64_t>(0, e.start - e.launched)));
      else if (previous != kNobody && events_[previous].end() > e.launched && e.start >= events_[previous].end())
        behinds.push_back(static_cast<double>(e.start - events_[previous].end()));
    }
    return {middle_of(launches), middle_of(behinds)};
  }

  // Events whose launch follows a call that lets one stream wait for another.
  void find_joins() {
    joined_.assign(events_.size(), false);
    if (recording_.joins.empty()) return;
    std::vector<std::uint32_t> launched;
    for (std::uint32_t i = 0; i < events_.size(); ++i)
      if (events_[i].launched >= 0) launched.push_back(i);
    std::sort(launched.begin(), launched.end(),
              [&](std::uint32_t a, std::uint32_t b) { return events_[a].launched < events_[b].launched; });
    std::size_t next = 0;
    for (const std::int64_t at : recording_.joins) {
      while (next < launched.size() && events_[launched[next]].launched < at) ++next;
      if (next < launched.size()) joined_[launched[next]] = true;
    }
  }

  // The work that ended last by `until` on a stream other than `lane`.
  std::uint32_t ended_elsewhere(std::int64_t until, std::uint32_t lane) const {
    std::uint32_t latest = kNobody;
    for (std::size_t other = 0; other < std::min(lanes_.size(), kMostLanesSearched); ++other)
      for (const std::uint32_t i : {lanes_[other].last, lanes_[other].before}) {
        if (i == kNobody || other == lane || events_[i].end() > until) continue;
        if (latest == kNobody || events_[i].end() > events_[latest].end()) latest = i;
      }
    return latest;
  }

  // New time after `other`, which had ended before: the pause between them stays, as far as it is usual.
  void after_stream(const WorkEvent& e, std::uint32_t other, std::int64_t& recorded, std::int64_t& now) const {
    const WorkEvent& before = events_[other];
    const NewTime& moved = result_.events[other];
    if (e.start < before.end()) {  // side by side: branches of a graph, or a launch ahead of the end
      const double share = before.duration > 0 ? static_cast<double>(moved.duration) / static_cast<double>(before.duration) : 1;
      recorded = std::max(recorded, e.start);
      now = std::max(now, moved.start + whole(static_cast<double>(e.start - before.start) * share));
      return;
    }
    const std::int64_t pause = std::min(e.start - before.end(), usual_.behind);
    recorded = std::max(recorded, before.end() + pause);
    now = std::max(now, new_end(other) + pause);
  }

  void place(std::uint32_t i) {
    const WorkEvent& e = events_[i];
    constexpr std::int64_t kNever = -2 * kMostTime;
    std::int64_t recorded = kNever, now = kNever;  // when it could start, as far as anything tells
    if (e.launched >= 0) {
      const std::int64_t way = std::min(e.start - e.launched, usual_.launch);
      recorded = e.launched + way;
      now = result_.host(e.launched) + way;
    }
    if (const std::uint32_t before = lanes_[e.lane].last; before != kNobody) after_stream(e, before, recorded, now);
    const bool explained = recorded != kNever && e.start - recorded <= usual_.behind;
    if (joined_[i] || !explained)
      if (const std::uint32_t other = ended_elsewhere(e.start, e.lane); other != kNobody) {
        const std::int64_t end = events_[other].end();
        if (joined_[i] || end > recorded) {
          const std::int64_t pause = end > recorded ? e.start - end : std::min(e.start - end, usual_.behind);
          recorded = std::max(recorded, end + pause);
          now = std::max(now, new_end(other) + pause);
        }
      }
    const std::int64_t start = recorded == kNever ? result_.host(e.start) : now + (e.start - recorded);
    result_.events[i].start = std::min(start, latest_start_);
  }

  // What ended last before the host went on is what it waited for.
  void host_waits(const HostWait& wait) {
    while (ended_ < by_end_.size() && events_[by_end_[ended_]].end() <= wait.end) ++ended_;
    if (ended_ == 0) return;
    const std::uint32_t cause = by_end_[ended_ - 1];
    result_.host.waited(wait.start, events_[cause].end(), wait.end, new_end(cause));
  }

  const Recording& recording_;
  const std::vector<WorkEvent>& events_;
  struct LastTwo {
    std::uint32_t last = kNobody, before = kNobody;
  };
  std::vector<LastTwo> lanes_;         // events of each so far
  std::vector<std::uint32_t> by_end_;  // events in the order of their recorded ends
  std::vector<bool> joined_;
  std::size_t ended_ = 0;
  std::int64_t latest_start_ = kMostTime;
  Usual usual_;
  Schedule result_;
};

}  // namespace

std::int64_t HostClock::operator()(std::int64_t recorded) const {
  if (points_.empty() || recorded <= points_.front().recorded) return recorded;
  const auto next = std::upper_bound(points_.begin(), points_.end(), recorded,
                                     [](std::int64_t t, const Point& p) { return t < p.recorded; });
  const Point& from = *(next - 1);
  if (next == points_.end()) return from.now + (recorded - from.recorded);
  const double slope = static_cast<double>(next->now - from.now) / static_cast<double>(next->recorded - from.recorded);
  return from.now + whole(static_cast<double>(recorded - from.recorded) * slope);
}

void HostClock::waited(std::int64_t start, std::int64_t done, std::int64_t end, std::int64_t now) {
  if (!points_.empty()) start = std::max(start, points_.back().recorded);
  if (done <= start || end <= start) return;  // it did not wait, or another thread's wait has said so
  const std::int64_t from = (*this)(start);
  if (points_.empty() || points_.back().recorded < start) points_.push_back({start, from});
  points_.push_back({end, std::max(from, now) + (end - done)});
}

Status check_window(const Recording& recording) {
  constexpr std::int64_t kMostWindow = std::int64_t{1} << 55;  // 417 days, in ns
  if (recording.events.empty()) return Ok{};
  const std::int64_t first = recording.events.front().start;
  const auto near = [&](std::int64_t t) { return t >= first - kMostWindow && t <= first + kMostWindow; };
  const bool events = std::all_of(recording.events.begin(), recording.events.end(), [&](const WorkEvent& e) {
    return near(e.end()) && (e.launched < 0 || (near(e.launched) && near(e.returned)));
  });
  const bool waits = std::all_of(recording.waits.begin(), recording.waits.end(),
                                 [&](const HostWait& w) { return near(w.start) && near(w.end); });
  if (events && waits) return Ok{};
  return Error{recording.path, "", "its times lie more than a year apart", "record it again, or repair its clock"};
}

Schedule reschedule(const Recording& recording, std::span<const double> ratio_of_kind) {
  return Replay(recording, ratio_of_kind).run();
}

}  // namespace tilecast
