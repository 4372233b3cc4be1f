// A question: where did the time of a recorded run go, what fell short of what it could be, and what is worth trying?
//
//   auto report = tilecast::diagnose({.trace = "trace.json.gz", .gpu = "H200-SXM"});
//   if (report) for (const auto& work : report->work) use(work.name, work.total, work.above_ceiling);
//
// Reads PyTorch profiler traces (plain or compressed), SQLite exports of Nsight Systems, CSV of nsys stats and ncu, and
// tables with the columns name and duration_us. Any number of threads may ask at once.
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

struct DiagnoseQuery {
  std::string trace = {};    // a file
  std::string gpu = {};      // a name (tilecast/gpu.h), file or description; empty: the one the trace names
  std::string weights = {};  // a weight file instead of the shipped one
};

// How the shape is known: from the operator's arguments, the kernel's grid (padded to whole tiles), or a table.
enum class ShapeOrigin : std::uint8_t { operator_dims, launch, table };
inline constexpr std::array<std::string_view, 3> kShapeOriginNames = {"operator", "launch", "table"};
constexpr std::string_view name_of(ShapeOrigin o) { return kShapeOriginNames[static_cast<std::size_t>(o)]; }

// Whose speed a ceiling is: that of the fastest comparable kernels; of this Triton kernel in its best configuration;
// the forecast's, if nothing comparable was measured; or the recorded kernel's own, if it beats all of these.
enum class CeilingOrigin : std::uint8_t { kernels, tuner, forecast, recorded };
inline constexpr std::array<std::string_view, 4> kCeilingOriginNames = {"kernels", "tuner", "forecast", "recorded"};
constexpr std::string_view name_of(CeilingOrigin o) { return kCeilingOriginNames[static_cast<std::size_t>(o)]; }

// The forecast for one call of recorded work. bound <= ceiling <= forecast.
struct WorkForecast {
  std::string family;  // a kernel family
  Dims dims;
  std::string dtype;
  ShapeOrigin shape_from = ShapeOrigin::operator_dims;
  Seconds forecast;
  Interval interval;  // 80 %
  Seconds ceiling;    // what well-tuned kernels of its kind reach
  CeilingOrigin ceiling_from = CeilingOrigin::kernels;
  Seconds bound;
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
};

// Work compared as a unit: all kernels of one operator's calls with the same shapes, or all of one name.
struct RecordedWork {
  std::string name, full_name;  // of the kernel that takes most of the time: shortened, and as recorded
  std::string family;           // "gemm", "attention" ..., "unknown"
  std::string library;          // "cuBLAS"; empty if the name does not reveal it
  std::string op;               // "aten::mm([512, 4096], [4096, 6144])"; may be empty
  Count calls = 0, launches = 0;
  Seconds total, per_call;
  Bytes bytes;  // moved by copies
  struct Counters {
    double memory_share = 0, compute_share = 0;  // of peak
    Bytes dram;
  };
  std::optional<Counters> counters;      // from Nsight Compute
  std::optional<WorkForecast> forecast;  // if its shape is known
  Seconds above_ceiling;                 // over all calls
  bool underperforms = false;            // slower than its ceiling by more than neighbouring runs differ

  bool recognised() const { return family != "unknown"; }
};

struct FamilyTime {
  std::string family, words;  // "gemm", "matrix products"
  Count launches = 0;
  Seconds total, compared, above_ceiling;  // compared: with a forecast
  bool recognised() const { return family != "unknown"; }
};

// A stretch in which the GPU had nothing to do.
struct IdleGap {
  Seconds start, length;      // start: since the first work
  std::string before, after;  // the kernels around it
  std::string op;             // the operator that launched what follows
  bool host_late = false;     // the next work had not been launched when the GPU fell idle
};

// A stretch in which the GPU waited for every piece of work: the host is the limit.
struct HostBoundSpan {
  Seconds start, length, busy;
  Count launches = 0;
};

struct DeviceTimeline {
  Count device = 0;
  Seconds window;  // from the first work's start to the last one's end
  Seconds busy;    // anything ran
  Seconds idle;
  // Idle time: the host had not launched the next work; it had (latency, a wait for another stream); unknown.
  Seconds idle_host_late, idle_launched, idle_unexplained;
  Count gaps = 0, launches = 0;
  Seconds exposed_collectives, exposed_copies;  // ran alone
  std::vector<IdleGap> longest_gaps;            // longest first, like the next
  std::vector<HostBoundSpan> host_bound_spans;
  Seconds host_bound;           // time in such spans
  std::vector<float> activity;  // busy share in equal parts of the window
};

struct HostCallTime {
  std::string name;  // "cudaStreamSynchronize"
  Count count = 0;
  Seconds total;
};

struct Suggestion {
  std::string title, reason, action;
  Seconds at_stake;  // the most wall time this could save
};

struct DiagnosisReport {
  std::string trace, format;
  std::string recorded_on;  // the card as the file names it; may be empty
  std::string gpu;          // the card that forecasts are for
  Seconds total;            // all GPU work, concurrent or not
  Seconds recognised;       // the part of it in a known family
  Seconds compared;         // the part of it with a forecast
  Seconds above_ceiling;
  std::vector<FamilyTime> families;  // longest first, like the rest
  std::vector<RecordedWork> work;
  std::vector<DeviceTimeline> devices;  // empty if the file has no timestamps
  std::vector<HostCallTime> host;
  std::vector<Suggestion> advice;
  std::vector<std::string> notes;
};

// The report, or what is wrong: errors name the query's field or the file.
Result<DiagnosisReport> diagnose(const DiagnoseQuery& query, const Watch& watch = {});

const Question& diagnose_question();
std::vector<BoundArgument> arguments_of(DiagnoseQuery& query);

}  // namespace tilecast
