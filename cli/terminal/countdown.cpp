#include "cli/terminal/countdown.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tilecast {

void Countdown::operator()(double share) {
  if (!isatty(STDERR_FILENO)) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  const double spent = std::chrono::duration<double>(now - start_).count();
  constexpr int kWidth = 24;
  const int done = std::clamp(static_cast<int>(std::lround(share * kWidth)), 0, kWidth);
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f} %, {:.0f} s left ", what_, "", done, "", kWidth - done, 100 * share,
             std::ceil(share > 0 ? spent * (1 - share) / share : 0));
  printed_ = true;
}

Countdown::~Countdown() {
  if (printed_) fmt::print(stderr, "\r{:79}\r", "");
}

}  // namespace tilecast
