// Which offsets of a family concern a row: those of its kernel source, of load that lasts with that source, of its variant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

// From the most general on. "pytorch/cublas|graph|cold|sustained": also "pytorch/cublas|sustained", so that what a cold
// kernel showed under load is known of a warm one.
std::vector<std::string> variant_levels(std::string_view variant);
bool is_sustained(std::string_view variant);

}  // namespace tilecast
