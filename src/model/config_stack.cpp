// A stack of layers from the fields most architectures share.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/families.h"
#include "support/text.h"

namespace tilecast {
namespace {

struct ActivationName {
  std::string_view name;
  ActivationKind kind;
};
// gelu_new and the like are written as many pointwise kernels; gelu_pytorch_tanh is one, and quick_gelu nearly so.
constexpr ActivationName kActivations[] = {{"silu", ActivationKind::silu},
                                           {"swish", ActivationKind::silu},
                                           {"relu", ActivationKind::relu},
                                           {"relu2", ActivationKind::relu_squared},
                                           {"gelu", ActivationKind::gelu},
                                           {"gelu_python", ActivationKind::gelu},
                                           {"gelu_pytorch_tanh", ActivationKind::gelu},
                                           {"quick_gelu", ActivationKind::gelu},
                                           {"gelu_new", ActivationKind::gelu_tanh},
                                           {"gelu_fast", ActivationKind::gelu_tanh},
                                           {"swiglu", ActivationKind::silu}};
constexpr std::string_view kActivationFields[] = {"hidden_act",     "hidden_activation", "activation_function",
                                                  "mlp_hidden_act", "dense_act_fn",      "activation"};

// How much of each head is rotated.
Count read_rotary(ConfigReader& read, const Traits& traits, Count head_dim) {
  if (traits.positions != Positions::rope) return 0;
  if (read.has("rotary_dim")) {
    const Count dim = read.count_or("rotary_dim", 0);
    if (dim > head_dim) read.fail("rotary_dim", fmt::format("is above head_dim ({} > {})", dim, head_dim));
    return dim;
  }
  double part = traits.rotary;
  for (const std::string_view name :
       {"rope_parameters.partial_rotary_factor", "rotary_pct", "partial_rotary_factor", "rope_pct"})
    part = read.number_or(name, part, 0, 1);
  return static_cast<Count>(part * static_cast<double>(head_dim));
}

void read_biases(ConfigReader& read, const Traits& traits, AttentionSpec& a) {
  a.q_bias = a.kv_bias = read.flag_or("attention_bias", traits.qkv_bias);
  a.out_bias = traits.out_follows ? read.flag_or("attention_bias", traits.out_bias) : traits.out_bias;
}

AttentionSpec read_attention(ConfigReader& read, const Traits& traits, Count hidden) {
  AttentionSpec a;
  a.heads = read.count(field::kHeads);
  a.kv_heads = read.count_or(field::kKvHeads, a.heads);
  if (a.kv_heads < 1 || a.heads % a.kv_heads != 0)
    read.fail("num_key_value_heads", fmt::format("{} does not divide the {} attention heads", a.kv_heads, a.heads),
              "give a divisor of num_attention_heads");
  a.head_dim = read.count_or(field::kHeadDim, 0);
  if (a.head_dim == 0) {
    if (hidden % a.heads != 0 && !read.has("kv_lora_rank"))  // latent attention has widths of its own
      read.fail("num_attention_heads",
                fmt::format("{} heads do not divide the hidden size {}, and there is no head_dim", a.heads, hidden),
                "correct one of them or give head_dim");
    a.head_dim = std::max<Count>(hidden / a.heads, 1);
  }
  a.causal = traits.causal;
  a.qk_norm = read.flag_or("use_qk_norm", traits.qk_norm);
  a.qk_norm_wide = traits.qk_norm_wide;
  a.qk_norm_each = traits.qk_norm_each;
  a.qk_norm_kind = traits.qk_norm_kind;
  a.qk_norm_bias = traits.qk_norm_bias;
  a.gate = read.flag_or("attn_output_gate", traits.gate);
  a.sinks = traits.sinks;
  a.fused_qkv = traits.fused_qkv;
  a.rotary_dim = read_rotary(read, traits, a.head_dim);
  read_biases(read, traits, a);
  return a;
}

std::optional<MlaSpec> read_latent(ConfigReader& read, const AttentionSpec& attention) {
  if (!read.has("kv_lora_rank")) return std::nullopt;
  const auto part = [&](const char* name) {
    const Count value = read.count_or(name, 0, 1 << 14);
    if (value == 0) read.fail(name, "is missing", "latent attention (kv_lora_rank) needs it");
    return value;
  };
  MlaSpec m;
  m.heads = attention.heads;
  m.q_rank = read.count_or("q_lora_rank", 0, 1 << 16);
  m.kv_rank = part("kv_lora_rank");
  m.nope_dim = part("qk_nope_head_dim");
  m.rope_dim = part("qk_rope_head_dim");
  m.v_dim = part("v_head_dim");
  if (read.has("index_topk")) {
    m.index_topk = part("index_topk");
    m.index_heads = part("index_n_heads");
    m.index_dim = part("index_head_dim");
  }
  return m;
}

// Gated delta nets (Qwen3-Next, Qwen 3.5).
std::optional<ScanSpec> read_linear_attention(ConfigReader& read, bool apart) {
  if (!read.has("linear_num_value_heads")) return std::nullopt;
  const auto part = [&](const char* name) {
    const Count value = read.count_or(name, 0, 1 << 14);
    if (value == 0) read.fail(name, "is missing", "linear attention (linear_num_value_heads) needs it");
    return value;
  };
  ScanSpec s;
  s.heads = part("linear_num_value_heads");
  s.head_dim = part("linear_value_head_dim");
  s.key_heads = part("linear_num_key_heads");
  s.key_dim = part("linear_key_head_dim");
  s.conv_width = part("linear_conv_kernel_dim");
  s.apart = apart;
  if (s.key_heads > 0 && s.heads % s.key_heads != 0)
    read.fail("linear_num_key_heads", fmt::format("{} does not divide the {} value heads", s.key_heads, s.heads));
  return s;
}

enum class LayerKind : std::uint8_t { full, windowed, linear };

std::vector<LayerKind> listed_kinds(ConfigReader& read, Count layers) {
  std::vector<LayerKind> kinds;
  const std::vector<std::string> names = read.texts("layer_types");
  for (const std::string& name : names) {
    if (name == "full_attention" || name == "attention") kinds.push_back(LayerKind::full);
    else if (name == "sliding_attention" || name == "chunked_attention") kinds.push_back(LayerKind::windowed);
    else if (name == "linear_attention") kinds.push_back(LayerKind::linear);
    else
      read.fail("layer_types", "unknown kind '" + name.substr(0, 40) + "'",
                "known: full_attention, sliding_attention, chunked_attention, linear_attention");
  }
  if (!names.empty() && names.size() != static_cast<std::size_t>(layers))
    read.fail("layer_types", fmt::format("has {} entries for {} layers", names.size(), layers));
  kinds.resize(static_cast<std::size_t>(layers), LayerKind::full);
  return kinds;
}

// By the list in the file, or by the rule of the architecture.
std::vector<LayerKind> read_kinds(ConfigReader& read, const Traits& traits, Count layers, bool linear) {
  if (read.has("layer_types")) return listed_kinds(read, layers);
  const Count full_every =
      linear ? read.count_or("full_attention_interval", 4) : read.count_or("sliding_window_pattern", traits.full_every);
  // Qwen 2 and 3: the first of them see all keys.
  const Count full_first = read.flag_or("use_sliding_window", false) ? read.count_or("max_window_layers", 0) : 0;
  std::vector<LayerKind> kinds;
  for (Count i = 0; i < layers; ++i) {
    const bool full = i < full_first || (full_every > 0 && (i + 1) % full_every == 0);
    kinds.push_back(full ? LayerKind::full : linear ? LayerKind::linear : LayerKind::windowed);
  }
  return kinds;
}

// Which layers have experts: a list says so, or DeepSeek counts the dense ones at the start, Qwen and Llama 4 take
// every nth.
std::vector<bool> read_expert_layers(ConfigReader& read, Count layers) {
  std::vector<bool> sparse;
  const std::vector<std::string> kinds = read.texts("mlp_layer_types");
  if (!kinds.empty()) {
    if (kinds.size() != static_cast<std::size_t>(layers))
      read.fail("mlp_layer_types", fmt::format("has {} entries for {} layers", kinds.size(), layers));
    for (const std::string& kind : kinds) sparse.push_back(kind == "sparse");
    sparse.resize(static_cast<std::size_t>(layers));
    return sparse;
  }
  // Some write the frequency as a list of zeros and ones, beside the count of dense layers that says the same.
  const auto step_of = [&](std::string_view name) {
    const nlohmann::json* value = read.find(name);
    return value && value->is_array() ? 1 : std::max<Count>(read.count_or(name, 1), 1);
  };
  const Count dense_first = read.count_or("first_k_dense_replace", 0), frequency = step_of("moe_layer_freq");
  const Count step =
      step_of(read.has("interleave_moe_layer_step") ? "interleave_moe_layer_step" : "decoder_sparse_step");
  for (Count i = 0; i < layers; ++i) sparse.push_back(i >= dense_first && i % frequency == 0 && (i + 1) % step == 0);
  for (const Count dense : read.counts("mlp_only_layers", field::kLayers.most))
    if (dense < layers) sparse[static_cast<std::size_t>(dense)] = false;
  return sparse;
}

}  // namespace

ActivationKind read_activation(ConfigReader& read, const Traits& traits) {
  std::string name(traits.activation);
  std::string_view place = kActivationFields[0];
  for (const std::string_view field : kActivationFields)
    if (read.has(field)) {
      name = read.text_or(field, name);
      place = field;
      break;
    }
  std::vector<std::string> known;
  for (const ActivationName& a : kActivations) {
    if (a.name == name) return a.kind;
    known.emplace_back(a.name);
  }
  read.fail(place, "unknown activation '" + name.substr(0, 40) + "'", "known: " + join(known, ", "));
  return ActivationKind::silu;
}

StackSizes read_sizes(ConfigReader& read, const Traits& traits) {
  StackSizes sizes;
  sizes.layers = read.count(field::kLayers);
  StackSpec& stack = sizes.stack;
  stack.hidden = read.count(field::kHidden);
  stack.norm = traits.norm;
  stack.norm_bias = traits.norm_bias;
  stack.norm_scale = traits.norm_scale;
  stack.layer_scale = traits.layer_scale;
  stack.place = traits.place;
  stack.final_norm = traits.final_norm;
  stack.embedding_norm = traits.embedding_norm;
  stack.positions = traits.positions;
  if (traits.positions == Positions::learned)
    stack.max_positions = read.count(field::kPositions) + traits.position_offset;
  sizes.attention = read_attention(read, traits, stack.hidden);
  // Where every layer has experts, the width of dense ones may be left out.
  const bool optional = traits.inter_factor > 0 || read.has(field::kExpertInter);
  const Count inter =
      optional ? read.count_or(field::kInter, traits.inter_factor * stack.hidden) : read.count(field::kInter);
  sizes.mlp = {inter, traits.gated, read_activation(read, traits), read.flag_or("mlp_bias", traits.mlp_bias)};
  return sizes;
}

MoeSpec read_experts(ConfigReader& read, const Traits& traits, Count dense_inter) {
  MoeSpec m;
  m.experts = read.count(field::kExperts);
  m.topk = read.count(field::kTopk);
  if (m.topk > m.experts)
    read.fail("num_experts_per_tok", fmt::format("a token cannot visit {} of {} experts", m.topk, m.experts));
  m.groups = read.count_or("n_group", 1), m.topk_groups = read.count_or("topk_group", m.groups);
  if (m.groups > m.experts) read.fail("n_group", fmt::format("{} are more than the {} experts", m.groups, m.experts));
  if (m.topk_groups > m.groups)
    read.fail("topk_group", fmt::format("a token cannot visit {} of {} groups", m.topk_groups, m.groups));
  m.inter = read.count_or(field::kExpertInter, dense_inter);
  if (m.inter < 1) read.fail("moe_intermediate_size", "must be at least 1");
  if (read.has("moe_latent_size"))  // Nemotron 3 Super: experts narrower than the model
    read.fail("moe_latent_size", "is not supported", "experts must work at the model's own width");
  m.gated = traits.gated;
  m.activation = read_activation(read, traits);
  m.bias = traits.expert_bias;
  m.router_bias = traits.router_bias || read.text_or("topk_method", "") == "noaux_tc";
  const Count shared =
      read.count_or(read.has("n_shared_experts") ? "n_shared_experts" : "num_shared_experts", 0, 1 << 8);
  m.shared_inter = shared * read.count_or("moe_shared_expert_intermediate_size", m.inter);
  m.shared_inter = read.count_or("shared_expert_intermediate_size", m.shared_inter);
  m.shared_gate = traits.shared_gate && m.shared_inter > 0;
  return m;
}

Layers read_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  const bool windows_used = read.flag_or("use_sliding_window", true);
  const Count window = windows_used ? read.count_or("sliding_window", 0, field::kPositions.most) : 0;
  const auto latent = read_latent(read, sizes.attention);
  const auto linear = read_linear_attention(read, traits.scan_apart);
  std::vector<LayerKind> kinds(static_cast<std::size_t>(sizes.layers), LayerKind::full);
  if (window > 0 || linear) kinds = read_kinds(read, traits, sizes.layers, linear.has_value());

  const bool sparse = read.count_or(field::kExperts, 0) > 0;
  std::optional<MoeSpec> experts;
  if (sparse) experts = read_experts(read, traits, sizes.mlp.inter);
  const std::vector<bool> with_experts = read_expert_layers(read, sizes.layers);

  Layers layers;
  for (Count i = 0; i < sizes.layers; ++i) {
    LayerSpec layer;
    const LayerKind kind = kinds[static_cast<std::size_t>(i)];
    AttentionSpec attention = sizes.attention;
    attention.window = kind == LayerKind::windowed ? window : 0;
    if (kind == LayerKind::linear && linear) layer.mixer = *linear;
    else if (latent) layer.mixer = *latent;
    else layer.mixer = attention;
    if (experts && with_experts[static_cast<std::size_t>(i)]) layer.feed_forward = *experts;
    else layer.feed_forward = sizes.mlp;
    if (sizes.mlp.inter < 1 && std::holds_alternative<MlpSpec>(layer.feed_forward))
      read.fail("intermediate_size", "is missing", fmt::format("layer {} has no experts and needs it", i));
    layers.push_back(layer);
  }
  return layers;
}

StackSpec stack_of(const StackSizes& sizes, const Layers& layers) {
  StackSpec stack = sizes.stack;
  for (const LayerSpec& layer : layers)
    if (!stack.layers.empty() && stack.layers.back().layer == layer) ++stack.layers.back().repeats;
    else stack.layers.push_back({layer, 1});
  return stack;
}

void read_head(ConfigReader& read, const Traits& traits, HeadKind head, ModelSpec& spec) {
  spec.lm_head = head == HeadKind::language || head == HeadKind::masked || head == HeadKind::pretraining;
  spec.tied_head = spec.lm_head && read.flag_or("tie_word_embeddings", traits.tied);
  spec.head_bias = spec.lm_head && traits.head_bias;
  spec.max_context = read.count_or(field::kPositions, 0);
  if (head == HeadKind::span) spec.classes = 2;
  spec.token_classes = head == HeadKind::token_classes || head == HeadKind::span;
  if (head != HeadKind::classes && head != HeadKind::taught && head != HeadKind::token_classes) return;
  const nlohmann::json* labels = read.find("id2label");
  const Count named = labels && labels->is_object() ? static_cast<Count>(labels->size()) : 0;
  spec.classes = read.count_or("num_labels", named > 0 ? named : 2);
}

ModelSpec read_decoder(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  Traits traits = family.traits;
  if (family.prepare) family.prepare(read, traits);
  ModelSpec spec;
  spec.vocab = read.count(field::kVocab);
  const StackSizes sizes = read_sizes(read, traits);
  if (read.failure()) return spec;
  spec.decoder = stack_of(sizes, family.layers(read, traits, sizes));
  read_head(read, traits, head, spec);
  return spec;
}

}  // namespace tilecast
