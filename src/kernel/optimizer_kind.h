// Which optimizer is used. Separate from kernel/optimizer.h because every run of a model names one, but few sources
// make the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilecast {

enum class OptimizerKind : std::uint8_t { adam, adamw, sgd };
inline constexpr std::array<std::string_view, 3> kOptimizerKindNames = {"adam", "adamw", "sgd"};
constexpr const auto& enum_names(OptimizerKind) { return kOptimizerKindNames; }

}  // namespace tilecast
