// A question: how long would a recorded run take on another GPU, or over another cluster?
//
//   auto report = tilecast::retime({.trace = "trace.json.gz", .gpu = "B200"});
//   if (report) for (const auto& device : report->devices) use(device.recorded, device.retimed);
//
// Reads what tilecast::diagnose reads, for one rank. Every piece of GPU work takes its recorded time times the ratio of
// two forecasts; the host's own work keeps its length, and streams and launches keep their order. A trace re-timed for
// the card it was recorded on is unchanged. Any number of threads may ask at once.
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
  std::string from_cluster = {};  // the one the ranks were recorded on; empty: a known one with that card
  std::string cluster = {};       // the one to re-time collectives for; empty: a known one with the other card
  std::string weights = {};       // a weight file instead of the shipped one
  std::string output = {};        // also write the re-timed trace here, compressed if the name ends in .gz
};

// What a new time rests on: two forecasts of the work's shape; two of the collective; if only its kind is known, two of
// a memory stream that takes as long; or nothing, and it stays as recorded.
enum class RetimeBasis : std::uint8_t { shape, collective, stream, recorded };
inline constexpr std::array<std::string_view, 4> kRetimeBasisNames = {"shape", "collective", "stream", "recorded"};
constexpr std::string_view name_of(RetimeBasis b) { return kRetimeBasisNames[static_cast<std::size_t>(b)]; }

// Work re-timed as a unit, like RecordedWork (tilecast/diagnose.h).
struct RetimedWork {
  std::string name, full_name;  // of the kernel that takes most of the time: shortened, and as recorded
  std::string family, library, op;
  std::string shape_family, dtype;  // of the shape, if known
  Dims dims;
  Count calls = 0, launches = 0;
  Seconds recorded, retimed;  // over all calls
  Interval interval;          // of retimed, 80 %
  RetimeBasis basis = RetimeBasis::recorded;
  std::string kept_because;            // for work that stays as recorded
  std::optional<Resource> limited_by;  // on the other card
  Seen seen = Seen::no;                // on the other card
  double ratio() const { return recorded > seconds(0) ? retimed / recorded : 1; }
};

struct RetimedDevice {
  Count device = 0;
  struct Times {
    Seconds window, busy, idle, idle_host_late, exposed_collectives;  // as in DeviceTimeline
  };
  Times recorded, retimed;
};

// Re-timed GPU time limited by one resource; collectives and work that stays as recorded have their own names.
struct LimitShare {
  std::string limit;  // a resource, "collective" or "recorded"
  Seconds time;
};

struct RetimeReport {
  std::string trace, format, recorded_on;
  std::string from, gpu;                                   // cards
  std::string from_cluster, cluster;                       // empty if nothing is exchanged, or none is known
  Seconds recorded, retimed;                               // all GPU work, concurrent or not
  Interval interval;                                       // of retimed, if all kernels err in the same direction
  std::array<Seconds, kRetimeBasisNames.size()> by_basis;  // recorded time, by what its new time rests on
  Seconds not_recognised;                                  // the part in no known family
  std::vector<RetimedWork> work;                           // by recorded time
  std::vector<RetimedDevice> devices;                      // empty if the file has no timestamps
  std::vector<LimitShare> limits;                          // longest first
  std::vector<std::string> notes;
};

// The report, or what is wrong: errors name the query's field or the file. `output` is written whole or not at all.
Result<RetimeReport> retime(const RetimeQuery& query, const Watch& watch = {});

const Question& retime_question();
std::vector<BoundArgument> arguments_of(RetimeQuery& query);

}  // namespace tilecast
