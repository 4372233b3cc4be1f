#include "kernel/format.h"

#include <array>

#include "support/text.h"

namespace tilecast {
namespace {

// Bits include scales: fp8 blocks of 128x128 (weights) and 1x128 (activations) carry an fp32 scale; nvfp4 an fp8 scale
// per 16 elements; mxfp4 an 8-bit exponent per 32; int4 weight-only an fp16 scale per 128 (the groups AWQ and GPTQ
// default to).
constexpr std::array<Format, 19> kFormats = {{
    {"bf16", FormatId::bf16, DType::bf16, DType::fp32, 16, 16, DType::bf16},
    {"fp16", FormatId::fp16, DType::fp16, DType::fp32, 16, 16, DType::fp16},
    {"tf32", FormatId::tf32, DType::tf32, DType::fp32, 32, 32, DType::fp32},
    {"fp32", FormatId::fp32, DType::fp32, DType::fp32, 32, 32, DType::fp32},
    {"fp64", FormatId::fp64, DType::fp64, DType::fp64, 64, 64, DType::fp64},
    {"fp8", FormatId::fp8, DType::fp8, DType::fp32, 8, 8, DType::bf16, Quantise::dynamic},
    {"fp8_static", FormatId::fp8_static, DType::fp8, DType::fp32, 8, 8, DType::bf16},
    {"fp8_token", FormatId::fp8_token, DType::fp8, DType::fp32, 8, 8, DType::bf16, Quantise::dynamic},
    {"fp8_block", FormatId::fp8_block, DType::fp8, DType::fp32, 8 + 32.0 / (128 * 128), 8 + 32.0 / 128, DType::bf16,
     Quantise::dynamic},
    {"fp8_block_static", FormatId::fp8_block_static, DType::fp8, DType::fp32, 8 + 32.0 / (128 * 128), 8 + 32.0 / 128,
     DType::bf16},
    {"nvfp4", FormatId::nvfp4, DType::fp4, DType::fp32, 4 + 8.0 / 16, 4 + 8.0 / 16, DType::bf16, Quantise::dynamic},
    {"mxfp6", FormatId::mxfp6, DType::fp6, DType::fp32, 6 + 8.0 / 32, 6 + 8.0 / 32, DType::bf16, Quantise::dynamic},
    {"mxfp4", FormatId::mxfp4, DType::fp4, DType::fp32, 4 + 8.0 / 32, 4 + 8.0 / 32, DType::bf16, Quantise::dynamic},
    // mxfp4 weights against wider activations (gpt-oss): unpacked to bf16, or multiplied with mxfp8 at the fp8 rate.
    {"w4a16_mxfp4", FormatId::w4a16_mxfp4, DType::bf16, DType::fp32, 4 + 8.0 / 32, 16, DType::bf16, Quantise::none,
     true},
    {"w4a8_mxfp4_mxfp8", FormatId::w4a8_mxfp4_mxfp8, DType::fp8, DType::fp32, 4 + 8.0 / 32, 8 + 8.0 / 32, DType::bf16,
     Quantise::dynamic},
    {"int8", FormatId::int8, DType::int8, DType::int32, 8, 8, DType::bf16, Quantise::dynamic},
    {"int8_static", FormatId::int8_static, DType::int8, DType::int32, 8, 8, DType::bf16},
    {"int8_wo", FormatId::int8_wo, DType::bf16, DType::fp32, 8, 16, DType::bf16, Quantise::none, true},
    {"int4_wo", FormatId::int4_wo, DType::bf16, DType::fp32, 4 + 16.0 / 128, 16, DType::bf16, Quantise::none, true},
}};

}  // namespace

std::span<const Format> formats() { return kFormats; }

Result<Format> format_from(std::string_view name) {
  std::vector<std::string> names;
  for (const Format& format : kFormats) {
    if (name_key(format.name) == name_key(name)) return format;
    names.emplace_back(format.name);
  }
  return field_error("dtype", "unknown type '" + std::string(name) + "'",
                     suggestion(name, names, "known: " + join(names, ", ")));
}

Result<MathPath> math_path(const Format& format, const Gpu& gpu) {
  // fp32 means IEEE fp32: NVIDIA's tensor pipe only takes it as tf32, which is a format of its own; AMD's takes it as
  // is.
  if (gpu.has_tensor(format.math, format.accumulate))
    return MathPath{Pipe::tensor, format.math, format.accumulate, gpu.tensor_rate(format.math, format.accumulate)};
  // Volta and Turing have fp16 but no bf16 tensor pipe; libraries compute bf16 there on the vector pipe in fp32. The
  // vector pipe's own fp16 adds up in fp16: a product that accumulates in fp32 (cublasGemmEx with CUBLAS_COMPUTE_32F,
  // as PyTorch calls it) runs in fp32 too, at 64 times the rate on a P4 and half of it on a P100.
  const double native = gpu.vector_per_clock[static_cast<std::size_t>(format.math)];
  if (native > 0 && (format.math == format.accumulate || bits_of(format.math) < 16))
    return MathPath{Pipe::vector, format.math, format.accumulate, native};
  if (format.math == DType::bf16 || format.math == DType::fp16 || format.math == DType::tf32)
    return MathPath{Pipe::vector, DType::fp32, DType::fp32,
                    gpu.vector_per_clock[static_cast<std::size_t>(DType::fp32)]};
  return field_error(
      "dtype",
      gpu.name + " has no " + std::string(name_of(format.math)) + " pipe for '" + std::string(format.name) + "'",
      "choose bf16, fp16 or fp32, or another GPU");
}

bool widens_to_fp32(const Format& format, const Gpu& gpu) {
  const auto path = math_path(format, gpu);
  return path && path->pipe == Pipe::vector && path->input == DType::fp32 && format.math != DType::fp32;
}

}  // namespace tilecast
