// Frameworks known by name: sets of defaults for training, which explicit arguments override. docs/parallel.md has the
// table, with the release and the page each default was taken from.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tilecast {

enum class Framework : std::uint8_t {
  megatron,    // Megatron-LM's own training loop over Megatron-Core
  nemo,        // NeMo 2's recipes over Megatron-Core
  bridge,      // Megatron-Bridge's recipes over Megatron-Core
  torchtitan,  // FSDP2
  deepspeed,   // ZeRO under Hugging Face's models
  nanotron,
  composer,  // MosaicML's llm-foundry over FSDP
};
inline constexpr std::array<std::string_view, 7> kFrameworkNames = {"megatron",  "nemo",     "bridge",  "torchtitan",
                                                                    "deepspeed", "nanotron", "composer"};
constexpr std::string_view name_of(Framework f) { return kFrameworkNames[static_cast<std::size_t>(f)]; }
constexpr const auto& enum_names(Framework) { return kFrameworkNames; }

}  // namespace tilecast
