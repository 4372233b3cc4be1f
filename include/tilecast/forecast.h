// What every forecast says besides its time: how certain it is, what it rests on, and what limits the work.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tilecast/units.h"

namespace tilecast {

// How a time is forecast.
enum class Method : std::uint8_t {
  roofline,  // operations over peak rate or bytes over DRAM bandwidth, whichever is longer: the textbook method
  analytic,  // plan, schedule, caches and sustained rates, never below the bound; nothing learned
  tilecast,  // the analytic forecast, corrected by what was learned from measurements
  neusight,  // tiles, waves and a learned utilisation (Lee, Phanishayee, Mahajan, ASPLOS 2025); needs weights
  synperf,   // pipeline demands and a learned efficiency; needs weights
};
inline constexpr std::array<std::string_view, 5> kMethodNames = {"roofline", "analytic", "tilecast", "neusight",
                                                                 "synperf"};
constexpr std::string_view name_of(Method m) { return kMethodNames[static_cast<std::size_t>(m)]; }
constexpr const auto& enum_names(Method) { return kMethodNames; }

// The resources a kernel occupies.
enum class Resource : std::uint8_t { tensor, vector, xu, shared, l2, dram, launch, latency };
inline constexpr int kResourceCount = 8;
inline constexpr std::array<std::string_view, kResourceCount> kResourceNames = {
    "tensor", "vector", "xu", "shared_memory", "l2", "dram", "launch", "latency"};
constexpr std::string_view name_of(Resource r) { return kResourceNames[static_cast<std::size_t>(r)]; }

// The time each resource alone would need.
using ResourceTimes = std::array<Seconds, kResourceCount>;

// Four out of five measured times are expected to lie inside.
struct Interval {
  Seconds low, high;
};

// What the learned part rests on, for this family of kernels and this number format.
enum class Seen : std::uint8_t {
  no,         // measurements of other architectures only
  sibling,    // measurements of a card of the same architecture
  yes,        // measurements of this card (other shapes)
  calibrated  // measurements of the caller's own card
};
inline constexpr std::array<std::string_view, 4> kSeenNames = {"no", "sibling", "yes", "calibrated"};
constexpr std::string_view name_of(Seen s) { return kSeenNames[static_cast<std::size_t>(s)]; }

// How launches reach the GPU.
enum class Runtime : std::uint8_t { graph, eager };
inline constexpr std::array<std::string_view, 2> kRuntimeNames = {"graph", "eager"};
constexpr std::string_view name_of(Runtime r) { return kRuntimeNames[static_cast<std::size_t>(r)]; }
constexpr const auto& enum_names(Runtime) { return kRuntimeNames; }

// Which operands may already be in the last cache before DRAM when a kernel starts.
enum class Warmth : std::uint8_t {
  model,  // inside a model: weights come cold from DRAM, activations are warm as far as they fit
  warm,   // a benchmark that reuses its buffers: whatever fits is warm
  cold,   // caches flushed: everything comes from DRAM
};
inline constexpr std::array<std::string_view, 3> kWarmthNames = {"model", "warm", "cold"};
constexpr std::string_view name_of(Warmth w) { return kWarmthNames[static_cast<std::size_t>(w)]; }
constexpr const auto& enum_names(Warmth) { return kWarmthNames; }

// How long the load lasts, which determines power and clocks (docs/method.md, power and clocks).
enum class RunLength : std::uint8_t {
  burst,      // some milliseconds after a pause, as micro-benchmarks do
  sustained,  // 80 ms and longer, as models do: the clock is what the power limit allows
};
inline constexpr std::array<std::string_view, 2> kRunLengthNames = {"burst", "sustained"};
constexpr std::string_view name_of(RunLength r) { return kRunLengthNames[static_cast<std::size_t>(r)]; }
constexpr const auto& enum_names(RunLength) { return kRunLengthNames; }

// What the numbers of an operand are: bits that never change draw less power, so a card that its power limit holds back
// runs faster (docs/method.md, power and clocks).
enum class OperandData : std::uint8_t {
  normal,    // normally distributed, close to what models multiply
  bits,      // random signs, mantissas and exponents
  constant,  // one number everywhere
  zeros,     // as torch.zeros leaves it
};
inline constexpr std::array<std::string_view, 4> kOperandDataNames = {"normal", "bits", "constant", "zeros"};
constexpr std::string_view name_of(OperandData d) { return kOperandDataNames[static_cast<std::size_t>(d)]; }
constexpr const auto& enum_names(OperandData) { return kOperandDataNames; }

}  // namespace tilecast
