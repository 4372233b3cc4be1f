// Numeric formats of kernels: what `--dtype` and the dtype column of a measurement table name.
//
// A format says how numbers are stored (bits per weight and activation, scales included), what the pipe multiplies and
// accumulates in, and whether a separate kernel first quantises the activations.
#pragma once

#include <span>
#include <string_view>

#include "gpu/gpu.h"
#include "tilecast/result.h"

namespace tilecast {

enum class Quantise : std::uint8_t {
  none,     // operands are stored as they are multiplied
  dynamic,  // a kernel quantises the activations before the product (and finds their scale)
};

enum class FormatId : std::uint8_t {
  unnamed,
  bf16,
  fp16,
  tf32,
  fp32,
  fp64,
  fp8,
  fp8_static,
  fp8_token,
  fp8_block,
  fp8_block_static,
  nvfp4,
  mxfp6,
  mxfp4,
  w4a16_mxfp4,
  w4a8_mxfp4_mxfp8,
  int8,
  int8_static,
  int8_wo,
  int4_wo,
};

struct Format {
  std::string_view name;            // at the interfaces: what users and tables write
  FormatId id = FormatId::unnamed;  // what the library compares
  DType math = DType::bf16;         // type the multiplier sees
  DType accumulate = DType::fp32;   // type it accumulates in
  double weight_bits = 16;          // per weight in memory, scales included
  double activation_bits = 16;      // per activation as the product reads it, scales included
  DType output = DType::bf16;       // type of the result, and of activations before quantising
  Quantise quantise = Quantise::none;
  // Weights are unpacked to `math` in registers (weight-only quantisation): costs vector operations per weight.
  bool unpack_weights = false;

  Bytes weight_bytes(double elements) const { return bytes(elements * weight_bits / 8); }
  Bytes activation_bytes(double elements) const { return bytes(elements * activation_bits / 8); }
  Bytes output_bytes(double elements) const { return size_of(output) * elements; }
};

// All of them: plain, scaled (fp8 to fp4, int8) and weight-only.
std::span<const Format> formats();
Result<Format> format_from(std::string_view name);

// The pipe a format's products run on.
enum class Pipe : std::uint8_t { tensor, vector };
struct MathPath {
  Pipe pipe = Pipe::tensor;
  DType input = DType::bf16, accumulate = DType::fp32;
  double ops_per_clock = 0;  // per SM; a fused multiply-add is two
};
// The path this GPU has for the format's products, or why it has none.
Result<MathPath> math_path(const Format& format, const Gpu& gpu);
// Whether its operands are widened to fp32 as they are read, since no pipe of the card multiplies them into fp32: bf16
// before Ampere, fp16 on Pascal, tf32 before Ampere.
bool widens_to_fp32(const Format& format, const Gpu& gpu);

}  // namespace tilecast
