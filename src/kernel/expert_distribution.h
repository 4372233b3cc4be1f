// How tokens spread over experts; kernel/moe_loads.h turns it into loads. Apart from kernel/moe.h: every run of a model
// says one, few sources make the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilecast {

enum class ExpertDistribution : std::uint8_t { balanced, power_law, given };
inline constexpr std::array<std::string_view, 3> kExpertDistributionNames = {"balanced", "power_law", "given"};
constexpr const auto& enum_names(ExpertDistribution) { return kExpertDistributionNames; }

}  // namespace tilecast
