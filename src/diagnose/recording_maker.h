// Recordings made by hand, for tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "diagnose/recording.h"

namespace tilecast {

// Recordings as tests need them: times in microseconds.
class RecordingMaker {
 public:
  RecordingMaker() : builder_("made", "made") {}
  RecordingMaker& op(std::uint64_t external, const std::string& name, std::vector<std::vector<Count>> dims,
            const std::string& type = "c10::BFloat16") {
    builder_.operator_call(external, fmt::format("{} {}", name, external), [&] {
      OperatorCall call;
      call.name = name;
      call.types.assign(dims.size(), type);
      call.dims = dims;
      return call;
    });
    return *this;
  }
  // The same operator as an earlier call.
  RecordingMaker& again(std::uint64_t external, const std::string& key, const OperatorCall& call) {
    builder_.operator_call(external, key, [&] { return call; });
    return *this;
  }
  RecordingMaker& kernel(const std::string& name, double start, double duration, std::uint64_t external = 0, Count stream = 7,
                Activity activity = Activity::kernel) {
    WorkSeen seen;
    seen.name = name;
    seen.activity = activity;
    seen.start = std::llround(start * 1000);
    seen.duration = std::llround(duration * 1000);
    seen.external = external;
    seen.stream = stream;
    seen.correlation = ++correlation_;
    builder_.work(seen);
    return *this;
  }
  // The host's call for the kernel made last.
  RecordingMaker& launched(double start, double duration) {
    builder_.host_call("cudaLaunchKernel", std::llround(start * 1000), std::llround(duration * 1000), correlation_);
    return *this;
  }
  // A collective as the profiler tells it (exchange.h).
  RecordingMaker& exchange(const std::string& name, const std::string& text, double start, double duration) {
    WorkSeen seen;
    seen.name = name, seen.exchange = text;
    seen.start = std::llround(start * 1000), seen.duration = std::llround(duration * 1000);
    seen.stream = 20, seen.correlation = ++correlation_;
    builder_.work(seen);
    return *this;
  }
  RecordingMaker& host(const std::string& call, double start, double duration) {
    builder_.host_call(call, std::llround(start * 1000), std::llround(duration * 1000), 0);
    return *this;
  }
  Recording recording() {
    auto done = std::move(builder_).finish();
    EXPECT_TRUE(done);
    return *std::move(done);
  }

 private:
  RecordingBuilder builder_;
  std::uint64_t correlation_ = 0;
};

}  // namespace tilecast
