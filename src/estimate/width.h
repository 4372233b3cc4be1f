// How far an 80 % interval reaches to either side of its forecast, as logarithms: widths of independent errors are
// added in quadrature, those of common errors are added.
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

// The width of an interval around the forecast it contains; zero if the forecast is not positive.
Width width_of(const Interval& interval, Seconds forecast);
Interval around(Seconds forecast, const Width& width);

// Two independent causes.
Width joined(const Width& a, const Width& b);
// The wider and the narrower of both, end by end.
Width wider(const Width& a, const Width& b);
Width narrower(const Width& a, const Width& b);

// How close a model's rows come to a card, closest first.
enum class Doubt : std::uint8_t {
  none,          // rows of the card itself, of an engine that its table's authors timed
  protocol,      // ... of PyTorch's operators, which everyone times differently
  card,          // ... of cards of its architecture
  architecture,  // ... of others of its vendor
  vendor         // none of its vendor
};
inline constexpr std::array<std::string_view, 5> kDoubtNames = {"none", "protocol", "card", "architecture", "vendor"};
constexpr std::string_view name_of(Doubt d) { return kDoubtNames[static_cast<std::size_t>(d)]; }

// Kinds of main loop whose errors are similar from one source to the next.
enum class MainLoop : std::uint8_t { product, attention, stream };
inline constexpr std::array<std::string_view, 3> kLoopNames = {"products", "attention", "streams"};
constexpr std::string_view name_of(MainLoop loop) { return kLoopNames[static_cast<std::size_t>(loop)]; }
MainLoop loop_of(std::string_view family);  // "gemm"

// What a forecast of a single kernel stands on.
struct Footing {
  MainLoop loop = MainLoop::product;
  Doubt doubt = Doubt::none;
  bool kernel_known = true;  // rows of this engine's kernel, on any generation of the vendor, were among the model's
  bool of_pytorch = false;   // timed by many, everyone in their own way
};

// For sums: the width that all kernels of a family share on a card, never less than that of a closer level, nor than
// measurement noise.
Width shared_width(MainLoop loop, Doubt doubt, bool kernel_known);
// Of a single kernel's interval, `own` being what its model's rows leave over, noise included: for a card that was not
// measured, what trainings without a card left over of it, so that nothing is added for the card. Added is what no
// training without a card shows: PyTorch's kernels timed by somebody else, a kernel that nobody timed, a vendor.
Width kernel_width(const Width& own, const Footing& on);
// The extra width for an unknown kernel or engine alone, to be added to the rest.
Width unknown_kernel_width(MainLoop loop);

}  // namespace tilecast
