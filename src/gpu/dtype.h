// Number types as the hardware's pipes know them.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "tilecast/units.h"

namespace tilecast {

enum class DType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, fp6, fp4, int8, int4, int32 };
inline constexpr int kDTypeCount = 11;

inline constexpr std::array<std::string_view, kDTypeCount> kDTypeNames = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8",
                                                                          "fp6",  "fp4",  "int8", "int4", "int32"};

constexpr std::string_view name_of(DType type) { return kDTypeNames[static_cast<std::size_t>(type)]; }

constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypeNames[static_cast<std::size_t>(i)] == name) return static_cast<DType>(i);
  return std::nullopt;
}

// Bits an element occupies in memory (tf32 is stored as fp32).
constexpr int bits_of(DType type) {
  constexpr std::array<int, kDTypeCount> bits = {64, 32, 32, 16, 16, 8, 6, 4, 8, 4, 32};
  return bits[static_cast<std::size_t>(type)];
}
constexpr Bytes size_of(DType type) { return bytes(bits_of(type) / 8.0); }

}  // namespace tilecast
