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

Width of_unknown(const Width& known, MainLoop loop, Doubt doubt, bool kernel_known) {
  const Width width = kernel_known ? known : joined(known, unknown_kernel_width(loop));
  return doubt == Doubt::vendor ? joined(width, {kStrangerSpread, kStrangerSpread}) : width;
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
          const auto doubt = static_cast<Doubt>(d);
          Width width = wider(of(kProtocolWidth, of_loop), kNoise);
          if (doubt >= Doubt::card) width = wider(width, of(kCardWidth, of_loop));
          if (doubt >= Doubt::architecture) width = wider(width, of(kArchitectureWidth, of_loop));
          all[l][d][known ? 1 : 0] = of_unknown(width, of_loop, doubt, known);
        }
    return all;
  }();
  return answers[static_cast<std::size_t>(loop)][static_cast<std::size_t>(doubt)][kernel_known ? 1 : 0];
}

Width kernel_width(const Width& own, const Footing& on) {
  Width width = wider(own, kNoise);
  if (on.of_pytorch && on.kernel_known) {
    const Width scale = of(kProtocolScale, on.loop);
    width = {width.down * scale.down, width.up * scale.up};
  }
  return of_unknown(width, on.loop, on.doubt, on.kernel_known);
}

}  // namespace tilecast
