// How everything here is timed: several launches in one CUDA graph, replayed, between two events.
//
// The fixed time of a replay is measured once and subtracted. While the first replays wait behind a sleeping kernel the
// host queues the rest, so no replay waits for its launch. Clocks and power are read while the replays run.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <vector>

#include "sensors.h"

struct Sample {
  double us = 0;      // median over the repeats, of one launch
  double spread = 0;  // interquartile range over the median
  double lowest_us = 0, highest_us = 0;
  int repeats = 0, copies = 0;
  Reading sensors;
};

using Launch = std::function<void(int copy)>;  // the copy-th launch of a graph

struct Limits {
  double seconds = 13e-3;  // aimed length of all repeats
  int fewest = 5, most = 15;
};

class Timer {
 public:
  explicit Timer(const Sensors& sensors);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // `before` runs outside the timed part of each repeat (a cache flush, for example).
  Sample graph(int copies, const Launch& launch, const Limits& limits = {}, const std::function<void()>& before = {});
  // Plain launches one after the other: short ones show the host's launch time.
  Sample eager(int copies, const Launch& launch, const Limits& limits = {});
  // One launch, roughly, to size the rest with.
  double guess_us(const Launch& launch);
  // Replays for `seconds` and samples the last quarter, or what follows `from` of it: what the card holds under load.
  Sample steady(int copies, const Launch& launch, double seconds, double from = 0.75);

  cudaStream_t stream() const { return stream_; }
  double replay_us() const { return replay_us_; }

 private:
  cudaGraphExec_t capture(int copies, const Launch& launch);
  std::vector<double> lengths(int repeats, const std::function<void()>& run, const std::function<void()>& before,
                              bool head_start, Reading* reading);
  Sample repeat(int copies, double overhead_us, const std::function<void()>& run, const std::function<void()>& before,
                bool head_start, const Limits& limits);

  const Sensors& sensors_;
  cudaStream_t stream_ = nullptr;
  std::vector<cudaEvent_t> starts_, ends_;
  double replay_us_ = 0;
};

// Median, spread and extremes of samples; the rest of Sample is left as it is.
void summarise(std::vector<double> samples, Sample& out);
