// Decoder-only transformers. Most rows are traits alone; what a row does not say is as in Llama.
#include <fmt/format.h>

#include "model/families.h"

namespace tilecast {
namespace {

// The GPT-2 way: LayerNorm with a shift, biases everywhere, a plain feed-forward four times as wide, a tied head.
constexpr Traits kGpt{.norm = NormKind::layer,
                      .norm_bias = true,
                      .positions = Positions::learned,
                      .activation = "gelu_new",
                      .gated = false,
                      .inter_factor = 4,
                      .qkv_bias = true,
                      .out_bias = true,
                      .mlp_bias = true,
                      .fused_qkv = true,
                      .tied = true};

constexpr Traits with(Traits traits, auto change) {
  change(traits);
  return traits;
}

// OPT-350m alone has its norms behind the sums, none at the end, and embeddings narrower than its layers.
void prepare_opt(ConfigReader& read, Traits& traits) {
  const bool before = read.flag_or("do_layer_norm_before", true);
  if (!before) traits.place = NormPlace::after;
  traits.final_norm = before && !read.flag_or("_remove_final_layer_norm", false);
  traits.qkv_bias = traits.out_bias = traits.mlp_bias = read.flag_or("enable_bias", true);
}
ModelSpec read_opt(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec = read_decoder(read, family, head);
  if (!spec.decoder) return spec;
  const Count width = read.count_or("word_embed_proj_dim", spec.decoder->hidden, field::kHidden.most);
  if (width < 1) read.fail("word_embed_proj_dim", "must be at least 1");
  if (width != spec.decoder->hidden) spec.decoder->embedding_dim = width;
  return spec;
}

// MPT nests what concerns attention, and turns biases off by "no_bias".
void prepare_mpt(ConfigReader& read, Traits& traits) {
  const bool bias = !read.flag_or("no_bias", true);
  traits.norm_bias = traits.qkv_bias = traits.out_bias = traits.mlp_bias = bias;
  traits.inter_factor = read.count_or("expansion_ratio", 4, 1 << 6);
  if (read.flag_or("attn_config.alibi", false)) traits.positions = Positions::alibi;
  else if (read.flag_or("attn_config.rope", false)) traits.positions = Positions::rope;
  else traits.positions = read.flag_or("learned_pos_emb", true) ? Positions::learned : Positions::none;
  traits.qk_norm = traits.qk_norm_wide = read.flag_or("attn_config.qk_ln", false);
}

// Falcon-7B has one key head and one norm; 40B and 180B have grouped heads and two norms side by side.
void prepare_falcon(ConfigReader& read, Traits& traits) {
  const bool grouped = read.flag_or("new_decoder_architecture", false);
  traits.qkv_bias = traits.out_bias = traits.mlp_bias = read.flag_or("bias", false);
  if (read.flag_or("alibi", false)) traits.positions = Positions::alibi;
  if (grouped) {
    traits.place = read.count_or("num_ln_in_parallel_attn", 2) == 1 ? NormPlace::shared : NormPlace::parallel;
    return;
  }
  traits.place = read.flag_or("parallel_attn", true) ? NormPlace::shared : NormPlace::before;
  read.call(field::kKvHeads, "-");  // without groups, "num_kv_heads" says nothing
  if (read.flag_or("multi_query", true)) read.assume(field::kKvHeads, 1);
}

void prepare_neox(ConfigReader& read, Traits& traits) {
  if (!read.flag_or("use_parallel_residual", true)) traits.place = NormPlace::before;
}

// Files of Gemma 3 leave out what its class defaults to.
void prepare_gemma3(ConfigReader& read, Traits&) {
  read.assume(field::kHeads, 8);
  read.assume(field::kKvHeads, 4);
  read.assume(field::kHeadDim, 256);
  read.assume(field::kVocab, 262208);
}

// Llama 4: layers without rotation see all keys, the others chunks of them; every expert layer has a shared expert as
// wide as one of its own. `intermediate_size` is the experts' width, dense layers have another field.
void prepare_llama4(ConfigReader& read, Traits&) {
  if (read.has("intermediate_size_mlp")) read.call(field::kInter, "intermediate_size_mlp");
}
Layers llama4_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const Count chunk = read.count_or("attention_chunk_size", 0, field::kPositions.most);
  const Count expert = read.count_or("intermediate_size", sizes.mlp.inter);
  std::vector<Count> rotates = read.counts("no_rope_layers", 1);  // one where the layer does rotate
  if (!rotates.empty() && rotates.size() != layers.size())
    read.fail("no_rope_layers", fmt::format("has {} entries for {} layers", rotates.size(), layers.size()));
  if (rotates.size() != layers.size()) {
    rotates.clear();
    for (std::size_t i = 0; i < layers.size(); ++i) rotates.push_back((i + 1) % 4 != 0 ? 1 : 0);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (auto* attention = std::get_if<AttentionSpec>(&layers[i].mixer)) {
      const bool rotated = rotates[i] != 0;
      attention->qk_norm_scale = false;
      attention->qk_norm = attention->qk_norm && rotated;
      attention->rotary_dim = rotated ? attention->rotary_dim : 0;
      attention->window = rotated ? chunk : 0;
    }
    if (auto* experts = std::get_if<MoeSpec>(&layers[i].feed_forward)) experts->inter = experts->shared_inter = expert;
  }
  return layers;
}

// Phi-2's traits without its own: shared by nobody yet, but long.
constexpr Traits kPhi = with(kGpt, [](Traits& t) {
  t.place = NormPlace::shared;
  t.positions = Positions::rope;
  t.rotary = 0.5;
  t.fused_qkv = false;
  t.tied = false;
  t.head_bias = true;
});

}  // namespace

const std::vector<ModelFamily>& decoder_families() {
  static const std::vector<ModelFamily> kFamilies = {
      {{"GPT2"}, {"gpt2"}, kGpt},
      {{"OPT"},
       {"opt"},
       with(kGpt,
            [](Traits& t) {
              t.activation = "relu";
              t.position_offset = 2;
              t.fused_qkv = false;
            }),
       prepare_opt,
       read_layers,
       read_opt},
      {{"Bloom"},
       {"bloom"},
       with(kGpt,
            [](Traits& t) {
              t.positions = Positions::alibi;
              t.embedding_norm = true;
            })},
      {{"MPT"}, {"mpt"}, with(kGpt, [](Traits& t) { t.activation = "gelu"; }), prepare_mpt},
      {{"GPTJ"},
       {"gptj"},
       with(kPhi,
            [](Traits& t) {
              t.qkv_bias = t.out_bias = false;
              t.rotary = 1;
            })},
      {{"GPTNeoX"},
       {"gpt_neox"},
       with(kGpt,
            [](Traits& t) {
              t.place = NormPlace::parallel;
              t.positions = Positions::rope;
              t.rotary = 0.25;
              t.activation = "gelu";
              t.tied = false;
            }),
       prepare_neox},
      {{"Phi"}, {"phi"}, kPhi},
      {{"Falcon", "RW"},
       {"falcon", "RefinedWeb", "RefinedWebModel"},
       with(kGpt,
            [](Traits& t) {
              t.positions = Positions::rope;
              t.activation = "gelu";
            }),
       prepare_falcon},
      {{"Nemotron"},
       {"nemotron"},
       {.norm = NormKind::layer, .norm_bias = true, .rotary = 0.5, .activation = "relu2", .gated = false}},

      {{"Llama", "Aquila"}, {"llama", "aquila"}, {}},
      {{"Mistral", "Mistral3", "Ministral"}, {"mistral"}, {}},
      {{"Mixtral"}, {"mixtral"}, {}},
      {{"Llama4"}, {"llama4", "llama4_text"}, {}, prepare_llama4, llama4_layers},
      {{"Phi3"}, {"phi3"}, {.fused_qkv = true}},
      {{"Qwen2", "Qwen2VL", "Qwen2_5_VL"},
       {"qwen2", "qwen2_vl", "qwen2_5_vl"},
       {.qkv_bias = true, .out_follows = false}},
      {{"Qwen2Moe"}, {"qwen2_moe"}, {.qkv_bias = true, .out_follows = false, .shared_gate = true}},
      {{"Qwen3", "Qwen3Moe", "Qwen3VL", "Qwen3VLMoe"},
       {"qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe"},
       {.qk_norm = true}},
      {{"Gemma"}, {"gemma"}, {.activation = "gelu_pytorch_tanh", .tied = true}},
      {{"Gemma2"},
       {"gemma2"},
       {.place = NormPlace::both, .activation = "gelu_pytorch_tanh", .tied = true, .full_every = 2}},
      {{"Gemma3"},
       {"gemma3", "gemma3_text"},
       {.place = NormPlace::both, .activation = "gelu_pytorch_tanh", .qk_norm = true, .tied = true, .full_every = 6},
       prepare_gemma3},
      {{"Olmo2"}, {"olmo2"}, {.place = NormPlace::after_only, .qk_norm = true, .qk_norm_wide = true}},
      {{"DeepseekV2"}, {"deepseek_v2"}, {}},
      {{"DeepseekV3", "DeepseekV32", "KimiK2", "KimiK25"},
       {"deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25"},
       {.router_bias = true}},
      {{"Glm4Moe"}, {"glm4_moe"}, {.rotary = 0.5, .out_follows = false, .router_bias = true}},
      {{"GlmMoeDsa", "Glm4MoeLite"}, {"glm_moe_dsa", "glm4_moe_lite"}, {.router_bias = true}},
      {{"MiniMaxM2"}, {"minimax_m2"}, {.qk_norm = true, .qk_norm_wide = true, .router_bias = true}},
      {{"GptOss"},
       {"gpt_oss"},
       {.qkv_bias = true, .out_bias = true, .sinks = true, .full_every = 2, .router_bias = true, .expert_bias = true}},
  };
  return kFamilies;
}

}  // namespace tilecast
