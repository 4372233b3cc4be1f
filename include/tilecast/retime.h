// A question: how long would a recorded run take on another GPU, or over another cluster?
//
//   auto report = tilecast::retime({.trace = "trace.json.gz", .gpu = "B200"});
//   if (report) for (const auto& device : report->devices) use(device.recorded, device.retimed);
//
// Reads what tilecast::diagnose reads, of one rank. Every piece of GPU work takes its recorded time times the ratio of
// two forecasts; the host's own work keeps its length, and streams and launches their order. Re-timed for the card it
// was recorded on, a trace is itself. Any number of threads may ask at once.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/kernel.h"
#include "tilecast/result.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

struct RetimeQuery {
  std::string trace = {};         // a file
  std::string from = {};          // the card it was recorded on; empty: the one the trace names
  std::string gpu = {};           // the card to re-time it for; empty: that of `cluster`
  std::string from_cluster = {};  // that joined the recorded ranks; empty: one we know of that card
  std::string cluster = {};       // to re-time collectives for; empty: one we know of the other card
  std::string weights = {};       // a weight file in place of the shipped ones
  std::string output = {};        // also write the re-timed trace here, compressed where the name ends in .gz
};

// What a new time rests on: two forecasts of the work's shape; two of the collective; where only its kind is known, two
// of a stream of memory that takes as long; or nothing, and it stays as recorded.
enum class RetimeBasis : std::uint8_t { shape, collective, stream, recorded };
inline constexpr std::array<std::string_view, 4> kRetimeBasisNames = {"shape", "collective", "stream", "recorded"};
constexpr std::string_view name_of(RetimeBasis b) { return kRetimeBasisNames[static_cast<std::size_t>(b)]; }

// Work that is re-timed as one, as RecordedWork (tilecast/diagnose.h).
struct RetimedWork {
  std::string name, full_name;  // of the kernel that takes most of its time: shortened, and as recorded
  std::string family, library, op;
  std::string shape_family, dtype;  // of the shape, where one is known
  Dims dims;
  Count calls = 0, launches = 0;
  Seconds recorded, retimed;  // of all calls
  Interval interval;          // of retimed, 80 %
  RetimeBasis basis = RetimeBasis::recorded;
  std::string kept_because;            // of what stays as recorded
  std::optional<Resource> limited_by;  // on the other card
  Seen seen = Seen::no;                // there
  double ratio() const { return recorded > seconds(0) ? retimed / recorded : 1; }
};

struct RetimedDevice {
  Count device = 0;
  struct Times {
    Seconds window, busy, idle, idle_host_late, exposed_collectives;  // as DeviceTimeline
  };
  Times recorded, retimed;
};

// Re-timed GPU time that one resource holds back; collectives and what stays as recorded have names of their own.
struct LimitShare {
  std::string limit;  // a resource, "collective" or "recorded"
  Seconds time;
};

struct RetimeReport {
  std::string trace, format, recorded_on;
  std::string from, gpu;                                   // cards
  std::string from_cluster, cluster;                       // empty where nothing is exchanged, or none is known
  Seconds recorded, retimed;                               // all GPU work, side by side or not
  Interval interval;                                       // of retimed: if all kernels err alike
  std::array<Seconds, kRetimeBasisNames.size()> by_basis;  // recorded time, by what its new time rests on
  Seconds not_recognised;                                  // of it, of no known family
  std::vector<RetimedWork> work;                           // by recorded time
  std::vector<RetimedDevice> devices;                      // empty where the file holds no times of day
  std::vector<LimitShare> limits;                          // longest first
  std::vector<std::string> notes;
};

// The report, or what is wrong: errors name the query's field or the file. `output` is written whole or not at all.
Result<RetimeReport> retime(const RetimeQuery& query, const Watch& watch = {});

const Question& retime_question();
std::vector<BoundArgument> arguments_of(RetimeQuery& query);

}  // namespace tilecast
