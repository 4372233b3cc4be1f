// A recording against the forecast: where the time goes, what falls short of what it could be, and what to try.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/recognise.h"
#include "diagnose/timeline.h"
#include "estimate/estimate.h"
#include "estimate/weights.h"
#include "tilecast/watch.h"

namespace tilecast {

// What the forecaster says of a group's shape. bound <= ceiling <= forecast, and no call that respects the bound is
// faster than its ceiling. Where that is the tuner's, the forecast is for the engine's default configuration. Where
// nothing comparable was measured it is the forecast itself: the bound is no ground to call a kernel slow.
struct Comparison {
  Kernel kernel;
  ShapeOrigin from = ShapeOrigin::operator_dims;
  Seconds forecast, ceiling, bound;
  Interval interval;
  Resource limited_by = Resource::dram;
  Seen seen = Seen::no;
  CeilingOrigin ceiling_from = CeilingOrigin::kernels;
};

// Work that is compared as one: all kernels of one operator's calls with the same dims, or all of one name.
struct WorkGroup {
  WorkFamily family = WorkFamily::unknown;
  std::string_view library;
  std::string name, full_name;  // of the kernel that takes most of its time
  std::string op;               // "aten::mm([512, 4096], [4096, 6144])"; may be empty
  Count calls = 0, launches = 0;
  Seconds total;
  Bytes bytes;  // moved by copies
  std::optional<Comparison> comparison;
  std::optional<Counters> counters;
  Seconds per_call() const { return total / static_cast<double>(calls); }
  // Time above the ceiling, of all calls.
  Seconds lost() const;
  // Slower than the ceiling by more than neighbouring runs differ (kNoise).
  bool underperforms() const;
};
// Cards of one kind differ by 5 to 10 % at the same shape (docs/method.md), and the ceiling is a quantile.
inline constexpr double kNoise = 0.15;

struct FamilyTotal {
  WorkFamily family = WorkFamily::unknown;
  Count launches = 0;
  Seconds total, compared, lost;
};

struct Diagnosis {
  std::string path, format, recorded_on, gpu;
  std::string gpu_given;              // what --gpu takes for this card: a name or a file
  Seconds total;                      // of all GPU work, side by side or not
  Seconds recognised;                 // of that, of a known family
  Seconds compared;                   // of that, with a forecast
  Seconds lost;                       // above the ceilings
  std::vector<FamilyTotal> families;  // longest first, like the rest
  std::vector<WorkGroup> groups;
  std::vector<DeviceTimeline> timelines;  // one a device
  std::vector<HostCallTime> host;
  std::vector<Suggestion> advice;
  std::vector<std::string> notes;
};

// `weights` may be null: nothing learned is used then, and the forecast stands for the ceiling (but the tuner's).
// `given`: how the user named the card, for commands to try; empty: by the card's own name.
Result<Diagnosis> diagnose(const Recording& recording, const Gpu& gpu, const ModelSource* weights,
                           std::string_view given = {}, const Watch& watch = {});

// What to try, by rules over the rest of the diagnosis; `price` of other ways to run a shape on the same card.
std::vector<Suggestion> advise(const Diagnosis& diagnosis, const Gpu& gpu, const ModelSource* weights);

// The estimate of a shape as the library that ran it would.
std::optional<Comparison> compare(const ReadShape& shape, std::string_view library, const Gpu& gpu,
                                  const ModelSource* weights);

}  // namespace tilecast
