// How far an 80 % interval reaches to either side of its forecast, as logarithms: widths of parts that err apart are
// joined by squares, those of parts that err together are added.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tilecast/forecast.h"
#include "tilecast/units.h"

namespace tilecast {

struct Width {
  double down = 0, up = 0;  // log of forecast / low end and of high end / forecast; never negative
};

// Of an interval about a forecast that it holds; none where the forecast is not positive.
Width width_of(const Interval& interval, Seconds forecast);
Interval around(Seconds forecast, const Width& width);

// Two causes that have nothing to do with each other.
Width joined(const Width& a, const Width& b);
// The wider and the narrower of both, end by end.
Width wider(const Width& a, const Width& b);
Width narrower(const Width& a, const Width& b);

// How near a model's rows come to a card, nearest first.
enum class Doubt : std::uint8_t {
  none,          // rows of the card itself, of an engine that its table's authors timed
  protocol,      // ... of PyTorch's operators, which everybody times in another way
  card,          // ... of cards of its architecture
  architecture,  // ... of others of its vendor
  vendor         // none of its vendor
};
inline constexpr std::array<std::string_view, 5> kDoubtNames = {"none", "protocol", "card", "architecture", "vendor"};
constexpr std::string_view name_of(Doubt d) { return kDoubtNames[static_cast<std::size_t>(d)]; }

// Kinds of main loop that err alike from one source to the next.
enum class MainLoop : std::uint8_t { product, attention, stream };
inline constexpr std::array<std::string_view, 3> kLoopNames = {"products", "attention", "streams"};
constexpr std::string_view name_of(MainLoop loop) { return kLoopNames[static_cast<std::size_t>(loop)]; }
MainLoop loop_of(std::string_view family);  // "gemm"

// What all kernels of a family share on a card, of sums of them: never less than what is nearer, nor than the noise of
// measuring. `kernel_known`: rows of this engine's kernel were among the model's.
Width shared_width(MainLoop loop, Doubt doubt, bool kernel_known);
// Of a single kernel's interval, `own` being what its model's rows leave over, noise included. A known kernel of an
// engine is spoken of as its rows were measured; whoever sums kernels of a program measures in another way.
Width kernel_width(const Width& own, MainLoop loop, Doubt doubt, bool kernel_known);
// Of another kernel or engine alone, which joins the rest.
Width unknown_kernel_width(MainLoop loop);

}  // namespace tilecast
