#include "kernel/quantize.h"

#include <algorithm>
#include <string>

#include "constants/streaming.h"
#include "kernel/checks.h"
#include "kernel/streaming.h"

namespace tilecast {

using namespace constants;

namespace {

// vLLM csrc/quantization/w8a8/fp8/common.cu: one CTA of 256 threads per row in the per-tensor and per-token kernels,
// with vectors of 16 elements per thread.
constexpr int kThreads = 256;
constexpr Count kVector = 16;
// vLLM and SGLang per_token_group_quant: 16 threads per block of 128 elements, 16 blocks per CTA.
constexpr Count kBlocksPerCta = 16;
constexpr Count kBlock = 128;

constexpr double kAbsmaxSlots = 2;   // |x|, max
constexpr double kConvertSlots = 4;  // multiply, two clamps, convert

struct Sizes {
  double input, values, scales;  // bytes
};

// Scale granularity, as far as the type prescribes it: block-scaled types have no other, fp8_token is per token.
Result<ScaleOf> resolve_scale(const Quantize& s, const Format& format) {
  if (bits_of(format.math) >= 16)
    return field_error("dtype", "'" + std::string(format.name) + "' is no quantised type",
                       "one of fp8, fp8_token, fp8_block, nvfp4, mxfp4, int8");
  if (format.activation_bits > bits_of(format.math)) {
    if (s.scale == ScaleOf::token)
      return field_error("scale", "'" + std::string(format.name) + "' carries a scale per block", "leave it out");
    return ScaleOf::block;
  }
  if (format.id == FormatId::fp8_token && s.scale == ScaleOf::tensor) return ScaleOf::token;
  return s.scale;
}

Sizes sizes_of(const Quantize& s, const Format& format, ScaleOf scale) {
  const double rows = static_cast<double>(s.rows), n = rows * static_cast<double>(s.cols);
  Sizes sizes{n * in_bytes(size_of(format.output)), n * bits_of(format.math) / 8, 4};
  if (scale == ScaleOf::token) sizes.scales = 4 * rows;
  if (scale == ScaleOf::block)
    sizes.scales = format.activation_bits > bits_of(format.math)
                       ? n * (format.activation_bits - bits_of(format.math)) / 8
                       : 4 * rows * static_cast<double>(ceil_div(s.cols, kBlock));
  return sizes;
}

Stream row_stream(const Quantize& s, std::string_view name, double slots) {
  Stream stream;
  stream.name = name;
  stream.ctas = s.rows;
  stream.cta = {kThreads, 32, bytes(0)};
  stream.elements = static_cast<double>(s.rows) * static_cast<double>(s.cols);
  stream.slots = slots;
  stream.steps = static_cast<double>(ceil_div(s.cols, kThreads * kVector));
  return stream;
}

// Every CTA of the absmax kernel ends in an atomic maximum on the one scale, and these queue in L2, whatever the
// columns and wherever the rows lie.
double atomic_clocks(const Quantize& s, const Context& context) {
  if (context.engine == Launcher::trtllm) return 0;  // no such growth in its rows
  return kAtomicClocks * static_cast<double>(s.rows);
}

Plan per_tensor(const Quantize& s, const Sizes& sizes, const Context& context) {
  Plan plan;
  if (s.part != QuantizePart::apply) {
    plan.launches.push_back(
        streaming_launch(row_stream(s, "absmax", kAbsmaxSlots), {reads("input", sizes.input), writes("scale", 4)}));
    plan.launches.back().joining_clocks = atomic_clocks(s, context);
  }
  if (s.part != QuantizePart::find) {
    const bool again = s.part == QuantizePart::all;
    plan.launches.push_back(streaming_launch(
        row_stream(s, "quantize", kConvertSlots),
        {again ? rereads("input", sizes.input) : reads("input", sizes.input), writes("output", sizes.values)}));
  }
  return plan;
}

Plan within_rows(const Quantize& s, const Sizes& sizes, ScaleOf scale) {
  const bool finds = s.part != QuantizePart::apply, applies = s.part != QuantizePart::find;
  Stream stream =
      row_stream(s, applies ? "quantize" : "absmax", (finds ? kAbsmaxSlots : 0) + (applies ? kConvertSlots : 0));
  const double row_bytes = sizes.input / static_cast<double>(s.rows);
  if (scale == ScaleOf::block) {
    stream.ctas = ceil_div(s.rows * ceil_div(s.cols, kBlock), kBlocksPerCta);
    stream.steps = 1;
  } else if (finds && applies && row_bytes > kL1Row) {
    stream.passes = 2;
  }
  const Operand scales = finds ? writes("scales", sizes.scales) : reads("scales", sizes.scales);
  if (!applies) return Plan{{streaming_launch(stream, {reads("input", sizes.input), scales})}};
  return Plan{{streaming_launch(stream, {reads("input", sizes.input), scales, writes("output", sizes.values)})}};
}

}  // namespace

Status Quantize::check() const {
  if (auto positive = require_positive({{"rows", rows}, {"cols", cols}}); !positive) return positive;
  return require_reasonable(static_cast<double>(rows) * static_cast<double>(cols));
}

Result<Plan> plan(const Quantize& shape, const Format& format, const Gpu&, const Context& context) {
  auto scale = resolve_scale(shape, format);
  if (!scale) return std::move(scale).error();
  const Sizes sizes = sizes_of(shape, format, *scale);
  return *scale == ScaleOf::tensor ? per_tensor(shape, sizes, context) : within_rows(shape, sizes, *scale);
}

}  // namespace tilecast
