// A PyTorch profiler's trace written again with other times. The file is read once more, an event at a time; what does
// not move keeps its text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "diagnose/json_events.h"
#include "diagnose/retime.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Where an event's fields stand in its text.
struct EventFields {
  std::string_view category, phase, ts, duration, process, thread;
};

bool read_fields(std::string_view text, EventFields& fields) {
  JsonCursor cursor(text);
  cursor.object([&](std::string_view key) {
    const std::string_view value = cursor.value();
    const std::string_view inner =
        value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
    if (key == "cat") fields.category = inner;
    else if (key == "ph") fields.phase = inner;
    else if (key == "ts") fields.ts = value;
    else if (key == "dur") fields.duration = value;
    else if (key == "pid") fields.process = inner;
    else if (key == "tid") fields.thread = inner;
  });
  return !cursor.bad();
}

// Nanoseconds as the microseconds of a trace.
std::string microseconds_text(std::int64_t ns) {
  const std::uint64_t size = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

struct Replaced {
  std::string_view old;
  std::string text;
};

// `text` with some of its parts replaced; they are views into it.
void append_with(std::string& out, std::string_view text, std::vector<Replaced> parts) {
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.old.data() < b.old.data(); });
  const char* at = text.data();
  for (const Replaced& part : parts) {
    out.append(at, static_cast<std::size_t>(part.old.data() - at));
    out += part.text;
    at = part.old.data() + part.old.size();
  }
  out.append(at, static_cast<std::size_t>(text.data() + text.size() - at));
}

class TraceCopy {
 public:
  TraceCopy(const Recording& recording, const Schedule& schedule, FileWriter out)
      : recording_(recording), schedule_(schedule), out_(std::move(out)) {
    const std::vector<WorkEvent>& events = recording.events;
    by_place_.resize(events.size());
    for (std::uint32_t i = 0; i < events.size(); ++i) by_place_[i] = i;
    std::sort(by_place_.begin(), by_place_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return events[a].place < events[b].place; });
    of_lane_.resize(recording.lanes.size());
    for (std::uint32_t i = 0; i < events.size(); ++i) of_lane_[events[i].lane].push_back(i);  // by start
    for (std::size_t i = 0; i < recording.lanes.size(); ++i)
      lane_ids_.emplace(std::pair(recording.lanes[i].device, recording.lanes[i].stream), i);
  }

  Status event(std::string_view text) {
    const std::uint32_t place = place_++;
    EventFields fields;
    if (!read_fields(text, fields)) return Ok{};
    out_.buffer() += in_events_ ? ",\n" : fmt::format("{}\"traceEvents\": [\n", first_ ? "{" : ", ");
    in_events_ = true, first_ = false;
    append_with(out_.buffer(), text, moved(fields, place));
    return out_.full() ? out_.flush() : Ok{};
  }

  void field(std::string_view key, std::string_view value) {
    if (in_events_) out_.buffer() += "\n]";
    out_.buffer() += fmt::format("{}\"{}\": {}", first_ ? "{" : ", ", key, value);
    in_events_ = first_ = false;
  }

  Status finish() {
    if (in_events_) out_.buffer() += "\n]";
    out_.buffer() += "}\n";
    return out_.finish();
  }

 private:
  struct Span {
    std::int64_t start, end;
  };

  std::vector<Replaced> moved(const EventFields& fields, std::uint32_t place) const {
    const auto start = nanoseconds_of(fields.ts);
    if (!start || !is_time(*start)) return {};
    const auto length = fields.duration.empty() ? std::nullopt : nanoseconds_of(fields.duration);
    const bool whole = length && *length >= 0 && is_time(*length);
    const Span old{*start, *start + (whole ? *length : 0)};
    const Span now = new_span(fields, place, old);
    std::vector<Replaced> parts;
    if (now.start != old.start) parts.push_back({fields.ts, microseconds_text(now.start)});
    if (whole && now.end - now.start != *length)
      parts.push_back({fields.duration, microseconds_text(std::max<std::int64_t>(0, now.end - now.start))});
    return parts;
  }

  Span new_span(const EventFields& fields, std::uint32_t place, const Span& old) const {
    if (const std::uint32_t* work = work_at(place)) {
      const NewTime& time = schedule_.events[*work];
      return {time.start, time.start + time.duration};
    }
    if (const auto* lane = lane_of(fields)) {
      if (fields.category == "gpu_user_annotation") return around(*lane, old);
      if (fields.phase == "f" || fields.phase == "t") {  // an arrow's head: at the start of its work
        const auto at = first_from(*lane, old.start);
        if (at != lane->end() && recording_.events[*at].start == old.start) {
          const std::int64_t start = schedule_.events[*at].start;
          return {start, start};
        }
      }
    }
    return {schedule_.host(old.start), schedule_.host(old.end)};
  }

  using LaneEvents = std::vector<std::uint32_t>;

  const std::uint32_t* work_at(std::uint32_t place) const {
    const auto at = std::lower_bound(by_place_.begin(), by_place_.end(), place,
                                     [&](std::uint32_t i, std::uint32_t p) { return recording_.events[i].place < p; });
    return at != by_place_.end() && recording_.events[*at].place == place ? &*at : nullptr;
  }

  // The GPU's lanes have its number for a process and the stream's for a thread.
  const LaneEvents* lane_of(const EventFields& fields) const {
    const auto number = [](std::string_view text) {
      Count value = -1;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
      return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? value : -1;
    };
    const auto found = lane_ids_.find({number(fields.process), number(fields.thread)});
    return found == lane_ids_.end() ? nullptr : &of_lane_[found->second];
  }

  LaneEvents::const_iterator first_from(const LaneEvents& lane, std::int64_t start) const {
    return std::lower_bound(lane.begin(), lane.end(), start,
                            [&](std::uint32_t i, std::int64_t t) { return recording_.events[i].start < t; });
  }

  // What is marked around work stays around it.
  Span around(const LaneEvents& lane, const Span& old) const {
    const auto first = first_from(lane, old.start), end = first_from(lane, old.end);
    if (first == end) return {schedule_.host(old.start), schedule_.host(old.end)};
    const std::uint32_t a = *first, b = *(end - 1);
    const WorkEvent &begins = recording_.events[a], &ends = recording_.events[b];
    const NewTime &from = schedule_.events[a], &to = schedule_.events[b];
    return {from.start - (begins.start - old.start), to.start + to.duration + (old.end - ends.end())};
  }

  const Recording& recording_;
  const Schedule& schedule_;
  FileWriter out_;
  LaneEvents by_place_;
  std::vector<LaneEvents> of_lane_;
  std::map<std::pair<Count, Count>, std::size_t> lane_ids_;
  std::uint32_t place_ = 0;
  bool first_ = true, in_events_ = false;
};

}  // namespace

Status write_retimed(const Recording& recording, const Schedule& schedule, const std::string& path,
                     const Watch& watch) {
  auto out = FileWriter::create(path);
  if (!out) return std::move(out).error();
  TraceCopy copy(recording, schedule, *std::move(out));
  const auto scanned = scan_events(
      recording.path, [&](std::string_view text) { return copy.event(text); },
      [&](std::string_view key, std::string_view value) { copy.field(key, value); }, watch);
  if (!scanned) return scanned.error();
  return copy.finish();
}

}  // namespace tilecast
