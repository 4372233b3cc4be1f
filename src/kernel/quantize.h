// Quantising activations to the type a low-precision product reads.
#pragma once

#include <array>

#include "kernel/context.h"
#include "kernel/fields.h"
#include "kernel/plan.h"
#include "tilecast/result.h"

namespace tilecast {

// What shares a scale: the whole tensor, a row (token), or a block of 128 (16 for nvfp4, 32 for mxfp4) within a row.
enum class ScaleOf : std::uint8_t { tensor, token, block };
inline constexpr std::array<std::string_view, 3> kScaleOfNames = {"tensor", "token", "block"};
constexpr const auto& enum_names(ScaleOf) { return kScaleOfNames; }

// Which part of the work: finding the scale from the data (dynamic), applying a known one (static), or both. The
// quantize table of aiconfigurator splits them: its scale_matrix rows are `apply` with scale tensor; its compute_scale
// rows are the difference of two timings, which `find` resembles, but not a kernel with a bound.
enum class QuantizePart : std::uint8_t { all, find, apply };
inline constexpr std::array<std::string_view, 3> kQuantizePartNames = {"all", "find", "apply"};
constexpr const auto& enum_names(QuantizePart) { return kQuantizePartNames; }

struct Quantize {
  static constexpr FamilyInfo kFamily{"quantize", "activations to fp8, int8 or fp4, with their scales",
                                      "--rows 4096 --cols 8192 --scale token --dtype fp8"};
  Count rows = 0;
  Count cols = 0;
  ScaleOf scale = ScaleOf::tensor;
  QuantizePart part = QuantizePart::all;

  template <class Self, class Visit>
  static void fields(Self& s, Visit&& visit) {
    visit("rows", s.rows, "tokens", Need::required);
    visit("cols", s.cols, "elements of a token", Need::required);
    visit("scale", s.scale, "what shares a scale (default tensor, or what the type prescribes)");
    visit("part", s.part, "find the scale, apply a known one, or all (default)");
  }
  Status check() const;
};

Result<Plan> plan(const Quantize& shape, const Format& format, const Gpu& gpu, const Context& context);

}  // namespace tilecast
