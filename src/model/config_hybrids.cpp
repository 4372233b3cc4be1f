// Models whose layers differ from each other: linear attention, state-space layers, layers pruned one by one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/families.h"
#include "support/text.h"

namespace tilecast {
namespace {

// What files call the sizes of a Mamba-2 layer.
struct MambaNames {
  const char *heads, *head_dim, *groups, *state, *conv, *conv_bias, *bias;
};
constexpr MambaNames kNemotronNames{"mamba_num_heads", "mamba_head_dim", "n_groups",       "ssm_state_size",
                                    "conv_kernel",     "use_conv_bias",  "mamba_proj_bias"};
constexpr MambaNames kMamba2Names{"num_heads",   "head_dim",      "n_groups", "state_size",
                                  "conv_kernel", "use_conv_bias", "use_bias"};
constexpr MambaNames kBambaNames{"mamba_n_heads", "mamba_d_head",    "mamba_n_groups", "mamba_d_state",
                                 "mamba_d_conv",  "mamba_conv_bias", "mamba_proj_bias"};

ScanSpec read_mamba(ConfigReader& read, const MambaNames& names, Count hidden) {
  const auto part = [&](const char* name) {
    const Count value = read.count_or(name, 0, 1 << 14);
    if (value == 0) read.fail(name, "is missing", "Mamba-2 layers need it");
    return value;
  };
  ScanSpec s;
  s.rule = ScanRule::mamba2;
  s.heads = part(names.heads);
  const nlohmann::json* head_dim = read.find(names.head_dim);
  if (head_dim && *head_dim == "auto")  // what is left of twice the model's width, or as many times as the file says
    s.head_dim = read.count_or("mamba_expand", 2, 1 << 6) * hidden / std::max<Count>(s.heads, 1);
  else s.head_dim = part(names.head_dim);
  if (s.head_dim < 1) read.fail(names.head_dim, "must be at least 1");
  s.key_heads = part(names.groups);
  s.key_dim = part(names.state);
  s.conv_width = part(names.conv);
  s.conv_bias = read.flag_or(names.conv_bias, true);
  s.bias = read.flag_or(names.bias, false);
  return s;
}

// Mamba-2: nothing but such layers.
ModelSpec read_mamba2(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  spec.vocab = read.count(field::kVocab);
  StackSizes sizes;
  sizes.stack.hidden = read.count(field::kHidden);
  sizes.stack.positions = Positions::none;
  sizes.layers = read.count(field::kLayers);
  LayerSpec layer;
  layer.mixer = read_mamba(read, kMamba2Names, sizes.stack.hidden);
  if (read.failure()) return spec;
  spec.decoder = stack_of(sizes, Layers(static_cast<std::size_t>(sizes.layers), layer));
  read_head(read, family.traits, head, spec);
  return spec;
}

// Bamba: attention in the layers it lists (from zero), Mamba-2 in the others.
Layers bamba_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const std::vector<Count> attends = read.counts("attn_layer_indices", field::kLayers.most);
  const ScanSpec scan = read_mamba(read, kBambaNames, sizes.stack.hidden);
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (std::find(attends.begin(), attends.end(), static_cast<Count>(i)) == attends.end()) layers[i].mixer = scan;
  return layers;
}

// Granite 4: Mamba-2 or attention by a list of words; beside the experts, or alone, a feed-forward of its own width.
void prepare_granite_hybrid(ConfigReader& read, Traits& traits) {
  if (read.text_or("position_embedding_type", "") != "rope") traits.positions = Positions::none;
}
Layers granite_hybrid_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  std::vector<std::string> kinds = read.texts("layer_types");
  if (kinds.empty()) kinds.resize(layers.size(), "mamba");
  if (kinds.size() != layers.size()) {
    read.fail("layer_types", fmt::format("has {} entries for {} layers", kinds.size(), layers.size()));
    return layers;
  }
  const bool scans = std::find(kinds.begin(), kinds.end(), "mamba") != kinds.end();
  const ScanSpec scan = scans ? read_mamba(read, kBambaNames, sizes.stack.hidden) : ScanSpec{};
  const Count shared = read.count_or("shared_intermediate_size", 1024);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (kinds[i] == "mamba") layers[i].mixer = scan;
    else if (kinds[i] != "attention")
      read.fail("layer_types", "unknown kind '" + kinds[i].substr(0, 40) + "'", "known: mamba, attention");
    if (auto* experts = std::get_if<MoeSpec>(&layers[i].feed_forward)) experts->shared_inter = shared;
    else std::get<MlpSpec>(layers[i].feed_forward).inter = shared;
  }
  if (shared < 1) read.fail("shared_intermediate_size", "must be at least 1");
  return layers;
}

// Nemotron-H: every layer is one part alone, as a letter says.

// The letters: given as such, or as a list of words by later files.
std::string read_letters(ConfigReader& read) {
  std::string letters = read.text_or("hybrid_override_pattern", "");
  if (!letters.empty()) return letters;
  for (const std::string& word : read.texts("layers_block_type")) {
    if (word == "mamba") letters += 'M';
    else if (word == "attention") letters += '*';
    else if (word == "mlp") letters += '-';
    else if (word == "moe") letters += 'E';
    else
      read.fail("layers_block_type", "unknown kind '" + word.substr(0, 40) + "'", "known: mamba, attention, mlp, moe");
  }
  return letters;
}

Layers nemotron_h_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  constexpr const char* kPattern = "hybrid_override_pattern";
  const std::string letters = read_letters(read);
  if (letters.size() != static_cast<std::size_t>(sizes.layers))
    read.fail(kPattern, fmt::format("has {} letters for {} layers", letters.size(), sizes.layers));
  Layers layers;
  for (const char letter : letters) {
    if (read.failure()) break;
    LayerSpec layer;
    if (letter == 'M') layer.mixer = read_mamba(read, kNemotronNames, sizes.stack.hidden);
    else if (letter == '*') layer.mixer = sizes.attention;
    else if (letter == '-') layer.feed_forward = sizes.mlp;
    else if (letter == 'E') layer.feed_forward = read_experts(read, traits, sizes.mlp.inter);
    else
      read.fail(kPattern, fmt::format("unknown letter '{}'", letter),
                "known: M (Mamba-2), * (attention), - (feed-forward), E (experts)");
    layers.push_back(layer);
  }
  return layers;
}

// Kimi Linear: latent attention in the layers it lists (from one), Kimi delta attention in the others.
Layers kimi_linear_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  if (!read.has("linear_attn_config")) return layers;
  ConfigReader linear = read.inside("linear_attn_config");
  constexpr ConfigField kHeads{{"num_heads"}, 1 << 14}, kHeadDim{{"head_dim"}, 1 << 14};
  ScanSpec scan;
  scan.rule = ScanRule::kda;
  scan.heads = scan.key_heads = linear.count(kHeads);
  scan.head_dim = scan.key_dim = linear.count(kHeadDim);
  scan.conv_width = std::max<Count>(linear.count_or("short_conv_kernel_size", 4, 1 << 6), 1);
  for (const Count layer : linear.counts("kda_layers", field::kLayers.most)) {
    if (layer >= 1 && layer <= sizes.layers) layers[static_cast<std::size_t>(layer - 1)].mixer = scan;
    else
      linear.fail("kda_layers", fmt::format("{} is not one of the {} layers, counted from one", layer, sizes.layers));
  }
  read.adopt(linear);
  return layers;
}

// DeciLM-7B lists each layer's key heads.
void place_key_heads(ConfigReader& read, Layers& layers) {
  constexpr const char* kField = "num_key_value_heads_per_layer";
  const std::vector<Count> heads = read.counts(kField, field::kKvHeads.most);
  if (heads.empty()) return;
  if (heads.size() != layers.size())
    return read.fail(kField, fmt::format("has {} entries for {} layers", heads.size(), layers.size()));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto& attention = std::get<AttentionSpec>(layers[i].mixer);
    if (heads[i] < 1 || attention.heads % heads[i] != 0)
      return read.fail(kField, fmt::format("{} does not divide the {} attention heads", heads[i], attention.heads));
    attention.kv_heads = heads[i];
  }
}

// As DeciLM's modelling code widens: two thirds of the factor, up to the next multiple of 256.
Count deci_width(double factor, Count hidden) {
  return round_up(static_cast<Count>(2 * factor * static_cast<double>(hidden) / 3), 256);
}

// Llama-Nemotron: a search left out some attention and some feed-forward parts, and narrowed others.
LayerSpec deci_layer(ConfigReader& block, LayerSpec layer, Count hidden) {
  for (const char* part : {"attention", "ffn"})
    if (block.flag_or(std::string(part) + ".replace_with_linear", false))
      block.fail(std::string(part) + ".replace_with_linear", "is not supported",
                 "layers may be full, narrowed or left out");
  auto& attention = std::get<AttentionSpec>(layer.mixer);
  const Count group = block.count_or("attention.n_heads_in_group", 1, field::kHeads.most);
  if (group < 1 || attention.heads % group != 0)
    block.fail("attention.n_heads_in_group", fmt::format("{} does not divide the {} heads", group, attention.heads));
  else attention.kv_heads = attention.heads / group;
  if (block.flag_or("attention.no_op", false)) layer.mixer = std::monostate{};

  auto& mlp = std::get<MlpSpec>(layer.feed_forward);
  if (block.has("ffn.ffn_mult")) mlp.inter = deci_width(block.number_or("ffn.ffn_mult", 1, 1e-3, 64), hidden);
  if (block.flag_or("ffn.no_op", false)) layer.feed_forward = std::monostate{};
  return layer;
}

Layers deci_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  for (const LayerSpec& layer : layers)
    if (!std::holds_alternative<AttentionSpec>(layer.mixer) || !std::holds_alternative<MlpSpec>(layer.feed_forward)) {
      read.fail("architectures", "DeciLM with experts, latent or linear attention is not known");
      return layers;
    }
  place_key_heads(read, layers);
  const nlohmann::json* blocks = read.find("block_configs");
  if (!blocks) return layers;
  if (!blocks->is_array() || blocks->size() != layers.size()) {
    read.fail("block_configs", fmt::format("must be a list of {} objects, one a layer", layers.size()));
    return layers;
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    ConfigReader block = read.item("block_configs", i);
    layers[i] = deci_layer(block, layers[i], sizes.stack.hidden);
    read.adopt(block);
  }
  return layers;
}
// With per-layer lists the overall widths may be null; what stands in for them is replaced in every layer.
void prepare_deci(ConfigReader& read, Traits& traits) {
  if (read.has("block_configs")) traits.inter_factor = 4;
}

}  // namespace

const std::vector<ModelFamily>& hybrid_families() {
  constexpr Traits kGatedDelta{.rotary = 0.25, .qk_norm = true, .gate = true, .shared_gate = true};
  constexpr Traits kGatedDeltaApart{
      .rotary = 0.25, .qk_norm = true, .gate = true, .scan_apart = true, .shared_gate = true};
  static const std::vector<ModelFamily> kFamilies = {
      {{"Qwen3Next"}, {"qwen3_next"}, kGatedDelta},
      {{"Qwen3_5", "Qwen3_5Moe"}, {"qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"}, kGatedDeltaApart},
      {{"KimiLinear"}, {"kimi_linear"}, {.router_bias = true}, nullptr, kimi_linear_layers},
      {{"NemotronH"},
       {"nemotron_h"},
       {.positions = Positions::none, .activation = "relu2", .gated = false, .router_bias = true},
       nullptr,
       nemotron_h_layers},
      {.stems = {"Mamba2"}, .model_types = {"mamba2"}, .model = read_mamba2},
      {{"Bamba"}, {"bamba"}, {.rotary = 0.5}, nullptr, bamba_layers},
      {{"GraniteMoeHybrid"}, {"granitemoehybrid"}, {}, prepare_granite_hybrid, granite_hybrid_layers},
      {{"DeciLM", "Deci"}, {"deci", "nemotron-nas"}, {}, prepare_deci, deci_layers},
  };
  return kFamilies;
}

}  // namespace tilecast
