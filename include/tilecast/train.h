// How a model is trained: in which precision its products run, which of its weights are trained, and on what.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tilecast/units.h"

namespace tilecast {

// Products narrower than the parameters: recipes of Transformer Engine and torchao. docs/training.md says what each of
// them casts, and what stays in 16 bits.
enum class TrainPrecision : std::uint8_t {
  none,         // products run in the type of the activations
  fp8_delayed,  // one scale per tensor, from the absolute maxima of earlier steps
  fp8_current,  // one scale per tensor, from its own absolute maximum
  fp8_row,      // one scale per row of either operand
  fp8_block,    // 1 x 128 against 128 x 128
  mxfp8,        // 32 in a row, powers of two
  nvfp4,        // 16 in a row, and one scale per tensor
};
inline constexpr std::array<std::string_view, 7> kTrainPrecisionNames = {
    "none", "fp8-delayed", "fp8-current", "fp8-row", "fp8-block", "mxfp8", "nvfp4"};
constexpr std::string_view name_of(TrainPrecision p) { return kTrainPrecisionNames[static_cast<std::size_t>(p)]; }
constexpr const auto& enum_names(TrainPrecision) { return kTrainPrecisionNames; }

// Which weights are trained.
enum class FineTune : std::uint8_t {
  full,   // all of them: pre-training, supervised fine-tuning
  lora,   // low-rank adapters beside frozen products
  qlora,  // ... whose weights are kept in four bits (NF4) and unpacked for every product
};
inline constexpr std::array<std::string_view, 3> kFineTuneNames = {"full", "lora", "qlora"};
constexpr std::string_view name_of(FineTune f) { return kFineTuneNames[static_cast<std::size_t>(f)]; }
constexpr const auto& enum_names(FineTune) { return kFineTuneNames; }

// Which products have adapters.
enum class AdapterTargets : std::uint8_t {
  qv,         // queries and values, as in the first paper
  attention,  // all projections into and out of attention
  all,        // those and the feed-forward block's
};
inline constexpr std::array<std::string_view, 3> kAdapterTargetNames = {"qv", "attention", "all"};
constexpr std::string_view name_of(AdapterTargets t) { return kAdapterTargetNames[static_cast<std::size_t>(t)]; }
constexpr const auto& enum_names(AdapterTargets) { return kAdapterTargetNames; }

enum class Objective : std::uint8_t {
  next_token,  // pre-training and supervised fine-tuning
  dpo,         // pairs of a chosen and a rejected sequence, each also seen by a frozen reference
};
inline constexpr std::array<std::string_view, 2> kObjectiveNames = {"next-token", "dpo"};
constexpr std::string_view name_of(Objective o) { return kObjectiveNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(Objective) { return kObjectiveNames; }

// How tokens reach experts on other ranks.
enum class TokenDispatch : std::uint8_t {
  all_to_all,  // once for each of their experts
  deepep,      // once for each rank that has some of them (DeepEP, hybrid-EP)
  deepep_fp8,  // ... out in fp8 with scales, back in 16 bits (DeepSeek-V3)
};
inline constexpr std::array<std::string_view, 3> kTokenDispatchNames = {"all-to-all", "deepep", "deepep-fp8"};
constexpr std::string_view name_of(TokenDispatch d) { return kTokenDispatchNames[static_cast<std::size_t>(d)]; }
constexpr const auto& enum_names(TokenDispatch) { return kTokenDispatchNames; }

// What a query says about a training step besides its batch.
struct TrainMethod {
  TrainPrecision precision = TrainPrecision::none;
  bool fp8_attention = false;  // attention itself reads fp8 (Transformer Engine's fp8_dot_product_attention)
  Count wide_layers = 0;       // layers at the model's end whose products stay in 16 bits
  FineTune tune = FineTune::full;
  Count rank = 16;  // of adapters
  AdapterTargets targets = AdapterTargets::all;
  Objective objective = Objective::next_token;
  TokenDispatch dispatch = TokenDispatch::all_to_all;
  bool dispatch_overlap = false;  // tokens travel while another micro-batch computes
  Count mtp_heads = 0;  // multi-token prediction: further tokens beyond the next, each predicted by its own layer
};

}  // namespace tilecast
