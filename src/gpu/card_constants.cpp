#include "gpu/card_constants.h"

#include <algorithm>
#include <array>

#include "constants/registry.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 6> kGenerationNames = {"none", "mma", "wgmma", "tcgen05", "mfma", "xmx"};
constexpr std::array<std::string_view, 3> kVendorNames = {"nvidia", "amd", "intel"};

// What a constant may say about the cards it applies to.
std::array<std::string_view, 6> words_of(const Gpu& gpu) {
  const std::string_view memory = gpu.has_hbm() ? "hbm" : gpu.dram.ecc ? "gddr-ecc" : "gddr";
  const std::string_view first = gpu.architecture == Architecture::pascal ? "hbm-first" : "hbm-later";
  return {name_of(gpu.architecture),
          gpu.compute_capability,
          kGenerationNames[static_cast<std::size_t>(gpu.tensor_generation())],
          kVendorNames[static_cast<std::size_t>(gpu.vendor)],
          memory,
          gpu.has_hbm() ? first : memory};
}

}  // namespace

bool holds_for(const Constant& constant, const Gpu& gpu) {
  if (constant.cards.empty()) return true;
  const auto words = words_of(gpu);
  std::string_view rest = constant.cards;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (std::find(words.begin(), words.end(), rest.substr(0, end)) != words.end()) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::vector<const Constant*> constants_of(const Gpu& gpu) {
  std::vector<const Constant*> found;
  for (const Constant* constant : all_constants())
    if (holds_for(*constant, gpu)) found.push_back(constant);
  return found;
}

}  // namespace tilecast
