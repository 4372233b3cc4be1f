#include "estimate/width.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "constants/intervals.h"

namespace tilecast {

using namespace constants;

Width width_of(const Interval& interval, Seconds forecast) {
  if (!(forecast > seconds(0)) || !(interval.low > seconds(0))) return {};
  return {std::max(0.0, std::log(forecast / interval.low)), std::max(0.0, std::log(interval.high / forecast))};
}

Interval around(Seconds forecast, const Width& width) {
  return {forecast * std::exp(-width.down), forecast * std::exp(width.up)};
}

Width joined(const Width& a, const Width& b) { return {std::hypot(a.down, b.down), std::hypot(a.up, b.up)}; }

Width wider(const Width& a, const Width& b) { return {std::max(a.down, b.down), std::max(a.up, b.up)}; }

Width narrower(const Width& a, const Width& b) { return {std::min(a.down, b.down), std::min(a.up, b.up)}; }

namespace {

Width of(const WidthConstants& c) { return {c.down, c.up}; }

}  // namespace

MainLoop loop_of(std::string_view family) {
  for (const std::string_view product : {"gemm", "bmm", "moe", "conv2d"})
    if (family == product) return MainLoop::product;
  for (const std::string_view attention : {"attention", "mla", "encoder", "scan"})
    if (family.starts_with(attention)) return MainLoop::attention;
  return MainLoop::stream;
}

namespace {

Width of(const LoopWidths& c, MainLoop loop) {
  switch (loop) {
    case MainLoop::product: return of(c.products);
    case MainLoop::attention: return of(c.attention);
    case MainLoop::stream: return of(c.streams);
  }
  return {};
}
constexpr Width kNoise{kNoiseWidth, kNoiseWidth};

}  // namespace

Width unknown_kernel_width(MainLoop loop) { return of(kKernelWidth, loop); }

namespace {

// The width for a card and a kernel that the model's rows do not cover, measured in the same way.
Width stranger_width(MainLoop loop, Doubt doubt, const Width& nearest, bool kernel_known) {
  Width width = nearest;
  if (doubt >= Doubt::card) width = wider(width, of(kCardWidth, loop));
  if (doubt >= Doubt::architecture) width = wider(width, of(kArchitectureWidth, loop));
  if (!kernel_known) width = joined(width, unknown_kernel_width(loop));
  if (doubt == Doubt::vendor) width.down += kStrangerSpread, width.up += kStrangerSpread;
  return width;
}

}  // namespace

Width shared_width(MainLoop loop, Doubt doubt, bool kernel_known) {
  // Every forecast asks, and there are only thirty answers.
  using Answers = std::array<std::array<std::array<Width, 2>, kDoubtNames.size()>, kLoopNames.size()>;
  static const Answers answers = [] {
    Answers all;
    for (std::size_t l = 0; l < all.size(); ++l)
      for (std::size_t d = 0; d < all[l].size(); ++d)
        for (const bool known : {false, true}) {
          const auto of_loop = static_cast<MainLoop>(l);
          const Width nearest = wider(of(kProtocolWidth, of_loop), kNoise);
          all[l][d][known ? 1 : 0] = stranger_width(of_loop, static_cast<Doubt>(d), nearest, known);
        }
    return all;
  }();
  return answers[static_cast<std::size_t>(loop)][static_cast<std::size_t>(doubt)][kernel_known ? 1 : 0];
}

Width kernel_width(const Width& own, MainLoop loop, Doubt doubt, bool kernel_known) {
  const Width nearest = doubt == Doubt::protocol && kernel_known ? of(kProtocolWidth, loop) : Width{};
  return wider(joined(own, stranger_width(loop, doubt, nearest, kernel_known)), kNoise);
}

}  // namespace tilecast
