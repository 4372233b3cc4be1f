// A recording whose pieces of work take other times: when does each start, and when does the host go on?
//
// A piece of work starts when it has been launched, when what stands before it on its stream has ended, and when what
// it waited for on another stream has ended. What is left of its recorded start after that stays: the way to the GPU,
// and whatever the file does not tell. The host's own work keeps its length; where the host waited for the GPU it goes
// on when the GPU is done, and everything it did later moves with it. Where nothing changes, nothing moves: times are
// whole nanoseconds, and the recorded ones come out exactly.
//
// All of it is sums and maxima of durations: work that takes no longer never makes anything later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnose/recording.h"

namespace tilecast {

// From the host's recorded times to new ones, in order and without gaps: straight lines between points.
class HostClock {
 public:
  std::int64_t operator()(std::int64_t recorded) const;
  // The host had waited from `start` until the GPU was done at `done`, and went on at `end`; it is done at `now` now.
  // Calls come in the order of their ends.
  void waited(std::int64_t start, std::int64_t done, std::int64_t end, std::int64_t now);

 private:
  struct Point {
    std::int64_t recorded, now;
  };
  std::vector<Point> points_;
};

struct NewTime {
  std::int64_t start = 0, duration = 0;  // ns
};
struct Schedule {
  std::vector<NewTime> events;  // of Recording::events, in the same order
  HostClock host;
};

// Whether the recording's times lie close enough together to be counted with.
Status check_window(const Recording& recording);

// `ratio` of each kind's new duration to its recorded one.
Schedule reschedule(const Recording& recording, std::span<const double> ratio_of_kind);

}  // namespace tilecast
