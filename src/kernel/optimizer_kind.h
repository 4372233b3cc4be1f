// Which optimizer trains. Apart from kernel/optimizer.h: every run of a model says one, few sources make the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilecast {

enum class OptimizerKind : std::uint8_t { adam, adamw, sgd };
inline constexpr std::array<std::string_view, 3> kOptimizerKindNames = {"adam", "adamw", "sgd"};
constexpr const auto& enum_names(OptimizerKind) { return kOptimizerKindNames; }

}  // namespace tilecast
