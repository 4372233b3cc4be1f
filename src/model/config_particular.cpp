// Decoder-only transformers that differ from Llama or GPT-2 in more than traits: names of fields, layers that take
// turns.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/families.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

// A field the file has under no name, so that its default or what stands for it counts.
constexpr std::string_view kNowhere = "-";

// Cohere 2, EXAONE 4: where some layers have windows, those that see all keys do not rotate.
Layers rotated_windows(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const bool windows = read.count_or("sliding_window", 0, field::kPositions.most) > 0;
  for (LayerSpec& layer : layers)
    if (auto* a = std::get_if<AttentionSpec>(&layer.mixer); a && windows && a->window == 0) a->rotary_dim = 0;
  return layers;
}

// SmolLM 3: every fourth layer does not rotate, or those the file lists with a zero.
Layers smollm3_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  constexpr const char* kList = "no_rope_layers";
  Layers layers = read_layers(read, traits, sizes);
  const Count every = read.count_or("no_rope_layer_interval", 4);
  const std::vector<Count> rotates = read.counts(kList, 1);
  if (!rotates.empty() && rotates.size() != layers.size()) {
    read.fail(kList, fmt::format("has {} entries for {} layers", rotates.size(), layers.size()));
    return layers;
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool rotated = rotates.empty() ? every == 0 || (static_cast<Count>(i) + 1) % every != 0 : rotates[i] != 0;
    if (auto* a = std::get_if<AttentionSpec>(&layers[i].mixer); a && !rotated) a->rotary_dim = 0;
  }
  return layers;
}

// The first ChatGLM files have their own names, and a class without "ForCausalLM" that still generates.
void prepare_chatglm(ConfigReader& read, Traits& traits) {
  read.call(field::kVocab, "padded_vocab_size");
  read.call(field::kKvHeads, read.flag_or("multi_query_attention", false) ? "multi_query_group_num" : kNowhere);
  traits.qkv_bias = read.flag_or("add_qkv_bias", false) || read.flag_or("add_bias_linear", false);
  traits.out_bias = traits.mlp_bias = read.flag_or("add_bias_linear", false);
}
ModelSpec read_chatglm(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  return read_decoder(read, family, head == HeadKind::none ? HeadKind::language : head);
}

void prepare_starcoder2(ConfigReader& read, Traits& traits) {
  traits.qkv_bias = traits.out_bias = traits.mlp_bias = read.flag_or("use_bias", true);
}
void prepare_bigcode(ConfigReader& read, Traits&) {
  if (read.flag_or("multi_query", true)) read.assume(field::kKvHeads, 1);
}
// InternLM's "bias" is about attention alone.
void prepare_internlm(ConfigReader& read, Traits& traits) {
  traits.qkv_bias = traits.out_bias = read.flag_or("bias", true);
}
void prepare_stablelm(ConfigReader& read, Traits& traits) {
  traits.qkv_bias = read.flag_or("use_qkv_bias", false);
  traits.qk_norm = read.flag_or("qk_layernorm", false);
  if (read.flag_or("use_parallel_residual", false)) traits.place = NormPlace::shared;
}
void prepare_persimmon(ConfigReader& read, Traits& traits) { traits.qk_norm = read.flag_or("qk_layernorm", true); }
void prepare_phimoe(ConfigReader& read, Traits& traits) { traits.head_bias = read.flag_or("lm_head_bias", false); }
void prepare_xglm(ConfigReader& read, Traits&) { read.call(field::kHeads, "attention_heads"); }

// Baichuan's 7B rotates and its 13B has ALiBi; size is the only thing that distinguishes them, here and in vLLM.
void prepare_baichuan(ConfigReader& read, Traits& traits) {
  if (read.count(field::kHidden) != 4096) traits.positions = Positions::alibi;
}

// The first Qwen counts gate and up together as its feed-forward's width.
Layers qwen1_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  StackSizes halved = sizes;
  halved.mlp.inter /= 2;
  if (halved.mlp.inter < 1) read.fail("intermediate_size", "must be at least 2, since gate and up share it");
  return read_layers(read, traits, halved);
}

// GPT-Neo: [[["global", "local"], 12]] is twelve times these two.
std::vector<std::string> gpt_neo_kinds(ConfigReader& read, std::size_t layers) {
  constexpr const char* kTypes = "attention_types";
  std::vector<std::string> kinds;
  const Json* groups = read.find(kTypes);
  if (!groups) return std::vector<std::string>(layers, "global");
  const auto shaped = [](const Json& group) {
    return group.is_array() && group.size() == 2 && group[0].is_array() && group[1].is_number_integer() &&
           group[1] >= 0 && group[1] <= field::kLayers.most;
  };
  if (!groups->is_array() || !std::all_of(groups->begin(), groups->end(), shaped)) {
    read.fail(kTypes, "must be a list of [kinds, repeats]", "for example [[[\"global\", \"local\"], 12]]");
    return std::vector<std::string>(layers, "global");
  }
  for (const Json& group : *groups)
    for (Count n = group[1].get<Count>(); n > 0 && kinds.size() <= layers; --n)
      for (const Json& kind : group[0]) kinds.push_back(kind.is_string() ? kind.get<std::string>() : "?");
  if (kinds.size() != layers) read.fail(kTypes, fmt::format("has {} entries for {} layers", kinds.size(), layers));
  kinds.resize(layers);
  return kinds;
}
Layers gpt_neo_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const Count window = read.count_or("window_size", 256, field::kPositions.most);
  const std::vector<std::string> kinds = gpt_neo_kinds(read, layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (kinds[i] != "global" && kinds[i] != "local")
      read.fail("attention_types", "unknown kind '" + kinds[i].substr(0, 40) + "'", "known: global, local");
    if (auto* a = std::get_if<AttentionSpec>(&layers[i].mixer); a && kinds[i] == "local") a->window = window;
  }
  return layers;
}

// DBRX keeps attention and experts in separate objects.
void prepare_dbrx(ConfigReader& read, Traits&) {
  read.call(field::kInter, "ffn_config.ffn_hidden_size");
  read.call(field::kExperts, "ffn_config.moe_num_experts");
  read.call(field::kTopk, "ffn_config.moe_top_k");
}

// Granite's experts run beside a dense feed-forward with its own width and no gate.
Layers granite_moe_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const Count shared = read.count_or("shared_intermediate_size", 0);
  for (LayerSpec& layer : layers)
    if (auto* experts = std::get_if<MoeSpec>(&layer.feed_forward)) experts->shared_inter = shared;
  return layers;
}

// ERNIE 4.5: biases everywhere or nowhere; experts from one layer to another, every so many.
void prepare_ernie(ConfigReader& read, Traits& traits) {
  const bool bias = read.flag_or("use_bias", false);
  traits.qkv_bias = traits.out_bias = traits.mlp_bias = traits.expert_bias = traits.head_bias = bias;
  if (read.has("moe_k")) read.call(field::kTopk, "moe_k");
}
Layers ernie_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const Count first = read.count_or("moe_layer_start_index", 0);
  const Json* end = read.find("moe_layer_end_index");  // -1: the last
  const bool to_the_end = !end || (end->is_number() && *end < 0);
  const Count last = to_the_end ? sizes.layers : read.count_or("moe_layer_end_index", sizes.layers);
  const Count every = std::max<Count>(read.count_or("moe_layer_interval", 1), 1);
  const Count shared = read.count_or("moe_num_shared_experts", 0, 1 << 8);
  for (Count i = 0; i < sizes.layers; ++i) {
    LayerSpec& layer = layers[static_cast<std::size_t>(i)];
    auto* experts = std::get_if<MoeSpec>(&layer.feed_forward);
    if (!experts) continue;
    experts->shared_inter = shared * experts->inter;
    if (i < first || i > last || (i + 1) % every != 0) layer.feed_forward = sizes.mlp;
  }
  return layers;
}

// Hunyuan's lists say the same for every layer; its shared expert is as wide as the others, and all as "intermediate".
void prepare_hunyuan(ConfigReader& read, Traits&) {
  const auto alike = [&](std::string_view name, const ConfigField& field) {
    const std::vector<Count> values = read.counts(name, field.most);
    if (values.empty()) return;
    if (std::any_of(values.begin(), values.end(), [&](Count v) { return v != values.front(); }))
      read.fail(name, "differs from layer to layer, which is not supported", "give one number");
    read.call(field, kNowhere);
    read.assume(field, values.front());
  };
  alike("moe_topk", field::kTopk);
  alike("num_experts", field::kExperts);
  read.call(field::kExpertInter, kNowhere);
}
Layers hunyuan_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  for (LayerSpec& layer : layers)
    if (auto* experts = std::get_if<MoeSpec>(&layer.feed_forward)) experts->shared_inter = sizes.mlp.inter;
  return layers;
}

constexpr Traits kCohere{.norm = NormKind::layer,
                         .place = NormPlace::shared,
                         .qk_norm_each = true,
                         .qk_norm_kind = NormKind::layer,
                         .tied = true,
                         .full_every = 4};

std::vector<ModelFamily> after_gpt2() {
  return {
      {{"GPTBigCode"},
       {"gpt_bigcode"},
       with(kGptTraits, [](Traits& t) { t.activation = "gelu_pytorch_tanh"; }),
       prepare_bigcode},
      {{"GPTNeo"},
       {"gpt_neo"},
       with(kGptTraits, [](Traits& t) { t.qkv_bias = t.fused_qkv = false; }),
       nullptr,
       gpt_neo_layers},
      {{"CodeGen"},
       {"codegen"},
       with(kGptTraits,
            [](Traits& t) {
              t.place = NormPlace::shared;
              t.positions = Positions::rope;
              t.qkv_bias = t.out_bias = t.tied = false;
              t.head_bias = true;
            })},
      {{"XGLM"},
       {"xglm"},
       with(kGptTraits,
            [](Traits& t) {
              t.positions = Positions::none;  // sines that nobody keeps
              t.activation = "gelu";
              t.fused_qkv = false;
            }),
       prepare_xglm},
      {{"Persimmon"},
       {"persimmon"},
       with(kGptTraits,
            [](Traits& t) {
              t.positions = Positions::rope;
              t.rotary = 0.5;
              t.activation = "relu2";
              t.qk_norm_kind = NormKind::layer;
              t.qk_norm_bias = true;
              t.tied = false;
            }),
       prepare_persimmon},
      {{"Starcoder2"},
       {"starcoder2"},
       with(kGptTraits,
            [](Traits& t) {
              t.positions = Positions::rope;
              t.activation = "gelu_pytorch_tanh";
              t.inter_factor = 0;
              t.fused_qkv = false;
            }),
       prepare_starcoder2},
  };
}

std::vector<ModelFamily> after_llama() {
  return {
      {{"StableLm", "StableLMEpoch"},
       {"stablelm", "stablelm_epoch"},
       {.norm = NormKind::layer,
        .norm_bias = true,
        .rotary = 0.25,
        .qk_norm_each = true,
        .qk_norm_kind = NormKind::layer},
       prepare_stablelm},
      {{"Cohere"}, {"cohere"}, kCohere},
      {{"Cohere2"}, {"cohere2"}, kCohere, nullptr, rotated_windows},
      {{"SmolLM3"}, {"smollm3"}, {.tied = true}, nullptr, smollm3_layers},
      {{"Exaone4"},
       {"exaone4"},
       {.place = NormPlace::after_only, .qk_norm = true, .full_every = 4},
       nullptr,
       rotated_windows},
      {{"ChatGLM"}, {"chatglm"}, {.rotary = 0.5, .fused_qkv = true}, prepare_chatglm, read_layers, read_chatglm},
      {{"Baichuan"}, {"baichuan"}, {.fused_qkv = true}, prepare_baichuan},
      {{"InternLM"}, {"internlm"}, {}, prepare_internlm},
      {{"QWen"}, {"qwen"}, {.qkv_bias = true, .out_follows = false, .fused_qkv = true}, nullptr, qwen1_layers},
  };
}

std::vector<ModelFamily> with_experts() {
  return {
      {{"PhiMoE"}, {"phimoe"}, {.norm = NormKind::layer, .norm_bias = true}, prepare_phimoe},
      {{"Dbrx"}, {"dbrx"}, {.norm = NormKind::layer, .fused_qkv = true}, prepare_dbrx},
      {{"GraniteMoe", "GraniteMoeShared"}, {"granitemoe", "granitemoeshared"}, {}, nullptr, granite_moe_layers},
      {{"Ernie4_5", "Ernie4_5_Moe"},
       {"ernie4_5", "ernie4_5_moe"},
       {.tied = true, .router_bias = true},
       prepare_ernie,
       ernie_layers},
      {{"HunYuanMoEV1"}, {"hunyuan_v1_moe"}, {.qk_norm = true}, prepare_hunyuan, hunyuan_layers},
  };
}

}  // namespace

const std::vector<ModelFamily>& particular_decoder_families() {
  static const std::vector<ModelFamily> kFamilies = [] {
    std::vector<ModelFamily> all = after_gpt2();
    for (auto part : {after_llama(), with_experts()})
      for (ModelFamily& family : part) all.push_back(std::move(family));
    return all;
  }();
  return kFamilies;
}

}  // namespace tilecast
