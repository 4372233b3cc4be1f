// A line on the terminal that rewrites itself while something long runs, with the time left; silent elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace tilecast {

class Countdown {
 public:
  // `what` is done for this share of it: "planning".
  explicit Countdown(std::string what) : what_(std::move(what)) {}
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;
  ~Countdown();
  void operator()(double share);

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), shown_ = start_;
  bool printed_ = false;
};

}  // namespace tilecast
