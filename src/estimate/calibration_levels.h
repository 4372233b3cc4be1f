// Which offsets of a family apply to a row: those of its kernel source, of sustained load with that source, of its
// variant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

// From the most general on. "pytorch/cublas|graph|cold|sustained" also gives "pytorch/cublas|sustained", so what a cold
// kernel showed under load also applies to a warm one.
std::vector<std::string> variant_levels(std::string_view variant);
bool is_sustained(std::string_view variant);

}  // namespace tilecast
