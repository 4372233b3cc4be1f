#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "diagnose/diagnose.h"
#include "diagnose/retime.h"
#include "gpu/registry.h"
#include "targets.h"

namespace tilecast {
namespace {

std::string wrong_with(const Diagnosis& d) {
  Seconds families;
  for (const FamilyTotal& f : d.families) families += f.total;
  const double least = -1e-9 * in_seconds(d.total) - 1e-12;
  if (std::abs(in_seconds(families - d.total)) > -least) return "families do not add up to the whole";
  if (in_seconds(d.total - d.recognised) < least) return "more recognised than there is";
  for (const DeviceTimeline& t : d.timelines)
    if (in_seconds(t.idle) < -1e-9 * in_seconds(t.window) - 1e-12) return "busy for longer than the window";
  for (const WorkGroup& g : d.groups) {
    if (g.calls < 1) return "a group without calls";
    if (!g.comparison) continue;
    if (!(g.comparison->ceiling >= g.comparison->bound)) return "a ceiling below the bound";
    if (!(g.comparison->forecast >= g.comparison->ceiling)) return "a forecast below the ceiling";
  }
  return "";
}

// At its own times a recording is itself; at others, what can be read is written, and reads back with as much work.
std::string wrong_when_retimed(const Recording& recording) {
  const GroupedWork work = group_work(recording);
  std::vector<RetimedGroup> groups(work.groups.size());
  const auto same = retime(recording, work, groups);
  if (!same) return same.error().line().empty() ? "an error without a text" : "";
  for (std::size_t i = 0; i < same->schedule.events.size(); ++i)
    if (same->schedule.events[i].start != recording.events[i].start ||
        same->schedule.events[i].duration != recording.events[i].duration)
      return "re-timed for its own card it is not itself";
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].ratio = 0.25 + static_cast<double>(i % 8);
  const auto other = retime(recording, work, groups);
  if (!other) return "only its own times can be counted with";
  if (!recording.kineto || recording.events.empty()) return "";
  const int copy = memfd_create("retimed", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(copy);
  const bool written = write_retimed(recording, other->schedule, path).ok();
  const auto again = written ? read_recording(path) : Result<Recording>(Error{"", "", "not written", ""});
  close(copy);
  if (!written) return "cannot be written";
  const bool far = std::abs(recording.events.front().start) > kMostTime / 2;  // later times may be none any more
  if (!again) return far ? "" : "cannot be read again: " + again.error().line();
  return far || again->events.size() == recording.events.size() ? "" : "lost work on the way";
}

}  // namespace

std::string fuzz_profile_file(std::string_view input) {
  // SQLite wants a file with a path of its own.
  const bool database = input.starts_with("SQLite");
  std::string path = "/dev/shm/tilecast-fuzz-" + std::to_string(getpid());
  int descriptor = -1;
  if (database) {
    std::ofstream(path, std::ios::binary) << input;
  } else {
    descriptor = memfd_create("profile", 0);
    path = "/proc/self/fd/" + std::to_string(descriptor);
    if (write(descriptor, input.data(), input.size()) != static_cast<ssize_t>(input.size()))
      return close(descriptor), "";
  }
  const auto recording = read_recording(path);
  const std::string retimed = recording ? wrong_when_retimed(*recording) : "";
  if (database) unlink(path.c_str());
  else close(descriptor);
  if (!retimed.empty()) return retimed;
  if (!recording) {
    const std::string line = recording.error().line();
    return line.empty()                           ? "an error without a text"
           : line.find('\n') != std::string::npos ? "an error of two lines"
                                                  : "";
  }
  return wrong_with(*diagnose(*recording, *built_in_gpu("H200-SXM"), nullptr));
}

}  // namespace tilecast
