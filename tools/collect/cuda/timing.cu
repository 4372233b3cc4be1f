#include <algorithm>
#include <chrono>

#include "check.h"
#include "timing.h"

namespace {

constexpr int kMostRepeats = 64;
constexpr long long kHeadStartCycles = 400000;  // 0.2 ms: longer than the host needs to queue a few replays

__global__ void nothing() {}

__global__ void sleep_kernel(long long cycles) {
  const long long began = clock64();
  while (clock64() - began < cycles) {
  }
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void summarise(std::vector<double> samples, Sample& out) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  out.us = at(0.5);
  out.spread = out.us > 0 ? (at(0.75) - at(0.25)) / out.us : 0;
  out.lowest_us = samples.front();
  out.highest_us = samples.back();
  out.repeats = static_cast<int>(samples.size());
}

Timer::Timer(const Sensors& sensors) : sensors_(sensors), starts_(kMostRepeats), ends_(kMostRepeats) {
  must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  for (auto* events : {&starts_, &ends_})
    for (cudaEvent_t& event : *events) must(cudaEventCreate(&event), "event");
  // What no kernel at all would take, from 64 and from 256 empty ones.
  const auto empty = [&](int) { nothing<<<1, 32, 0, stream_>>>(); };
  const Limits limits{.seconds = 5e-3, .fewest = 15, .most = 15};
  const double few = 64 * graph(64, empty, limits).us, many = 256 * graph(256, empty, limits).us;
  replay_us_ = std::clamp(few - 64 * (many - few) / 192, 0.0, 10.0);
}

Timer::~Timer() {
  for (auto* events : {&starts_, &ends_})
    for (cudaEvent_t event : *events) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
}

cudaGraphExec_t Timer::capture(int copies, const Launch& launch) {
  must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin of a capture");
  for (int copy = 0; copy < copies; ++copy) launch(copy);
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(stream_, &graph), "end of a capture");
  cudaGraphExec_t ready = nullptr;
  must(cudaGraphInstantiate(&ready, graph, 0), "graph");
  must(cudaGraphDestroy(graph), "graph");
  return ready;
}

std::vector<double> Timer::lengths(int repeats, const std::function<void()>& run, const std::function<void()>& before,
                                   bool head_start, Reading* reading) {
  if (head_start) sleep_kernel<<<1, 1, 0, stream_>>>(kHeadStartCycles);
  for (int index = 0; index < repeats; ++index) {
    if (before) before();
    must(cudaEventRecord(starts_[static_cast<std::size_t>(index)], stream_), "event");
    run();
    must(cudaEventRecord(ends_[static_cast<std::size_t>(index)], stream_), "event");
  }
  if (reading != nullptr) *reading = sensors_.read();
  must(cudaStreamSynchronize(stream_), "kernels");
  must(cudaGetLastError(), "kernels");
  std::vector<double> us;
  for (int index = 0; index < repeats; ++index) {
    float ms = 0;
    const auto at = static_cast<std::size_t>(index);
    must(cudaEventElapsedTime(&ms, starts_[at], ends_[at]), "time between events");
    us.push_back(1e3 * ms);
  }
  return us;
}

Sample Timer::repeat(int copies, double overhead_us, const std::function<void()>& run,
                     const std::function<void()>& before, bool head_start, const Limits& limits) {
  const double single = lengths(1, run, before, head_start, nullptr)[0];
  const int repeats =
      std::clamp(static_cast<int>(limits.seconds * 1e6 / std::max(1.0, single)), limits.fewest, limits.most);
  Sample sample;
  std::vector<double> us = lengths(repeats, run, before, head_start, &sample.sensors);
  for (double& length : us) length = std::max(1e-3, (length - overhead_us) / copies);
  summarise(std::move(us), sample);
  sample.copies = copies;
  return sample;
}

Sample Timer::graph(int copies, const Launch& launch, const Limits& limits, const std::function<void()>& before) {
  const cudaGraphExec_t ready = capture(copies, launch);
  const auto run = [&] { must(cudaGraphLaunch(ready, stream_), "replay"); };
  const Sample sample = repeat(copies, replay_us_, run, before, true, limits);
  must(cudaGraphExecDestroy(ready), "graph");
  return sample;
}

Sample Timer::eager(int copies, const Launch& launch, const Limits& limits) {
  const auto run = [&] {
    for (int copy = 0; copy < copies; ++copy) launch(copy);
  };
  return repeat(copies, 0, run, {}, false, limits);
}

double Timer::guess_us(const Launch& launch) {
  const auto run = [&] { launch(0); };
  lengths(1, run, {}, true, nullptr);  // loads the kernel
  return std::max(1.0, lengths(1, run, {}, true, nullptr)[0] - replay_us_);
}

Sample Timer::steady(int copies, const Launch& launch, double seconds, double from) {
  const cudaGraphExec_t ready = capture(copies, launch);
  const auto run = [&] { must(cudaGraphLaunch(ready, stream_), "replay"); };
  const double began = now_s();
  Sample sample;
  std::vector<double> kept;
  while (now_s() - began < seconds) {
    const auto us = lengths(4, run, {}, false, &sample.sensors);
    if (now_s() - began > from * seconds)
      for (const double length : us) kept.push_back((length - replay_us_) / copies);
  }
  if (kept.empty()) kept.push_back((lengths(1, run, {}, false, &sample.sensors)[0] - replay_us_) / copies);
  must(cudaGraphExecDestroy(ready), "graph");
  summarise(std::move(kept), sample);
  sample.copies = copies;
  return sample;
}
