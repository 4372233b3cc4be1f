// Decoder-only transformers. Most rows are traits alone; what a row does not say is as in Llama.
#include <fmt/format.h>

#include "model/families.h"

namespace tilecast {
namespace {

// Only OPT-350m has its norms after the sums, none at the end, and embeddings narrower than its layers.
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

// MPT nests its attention fields, and turns biases off with "no_bias".
void prepare_mpt(ConfigReader& read, Traits& traits) {
  const bool bias = !read.flag_or("no_bias", true);
  traits.norm_bias = traits.qkv_bias = traits.out_bias = traits.mlp_bias = bias;
  traits.inter_factor = read.count_or("expansion_ratio", 4, 1 << 6);
  if (read.flag_or("attn_config.alibi", false)) traits.positions = Positions::alibi;
  else if (read.flag_or("attn_config.rope", false)) traits.positions = Positions::rope;
  else traits.positions = read.flag_or("learned_pos_emb", true) ? Positions::learned : Positions::none;
  traits.qk_norm = traits.qk_norm_wide = read.flag_or("attn_config.qk_ln", false);
}

// Falcon-7B has one key head and one norm; 40B and 180B have grouped heads and two parallel norms.
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
constexpr Traits kPhi = with(kGptTraits, [](Traits& t) {
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
      {{"GPT2"}, {"gpt2"}, kGptTraits},
      {{"OPT"},
       {"opt"},
       with(kGptTraits,
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
       with(kGptTraits,
            [](Traits& t) {
              t.positions = Positions::alibi;
              t.embedding_norm = true;
            })},
      {{"MPT"}, {"mpt"}, with(kGptTraits, [](Traits& t) { t.activation = "gelu"; }), prepare_mpt},
      {{"GPTJ"},
       {"gptj"},
       with(kPhi,
            [](Traits& t) {
              t.qkv_bias = t.out_bias = false;
              t.rotary = 1;
            })},
      {{"GPTNeoX"},
       {"gpt_neox"},
       with(kGptTraits,
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
       with(kGptTraits,
            [](Traits& t) {
              t.positions = Positions::rope;
              t.activation = "gelu";
            }),
       prepare_falcon},
      {{"Nemotron"},
       {"nemotron"},
       {.norm = NormKind::layer, .norm_bias = true, .rotary = 0.5, .activation = "relu2", .gated = false}},

      {.stems = {"Llama", "Aquila", "Granite", "Exaone", "Xverse", "Yi"},
       .model_types = {"llama", "aquila", "granite", "exaone", "xverse", "yi"},
       .nested = {{field::kVocab, 32000},
                  {field::kHidden, 4096},
                  {field::kLayers, 32},
                  {field::kHeads, 32},
                  {field::kInter, 11008}}},
      {.stems = {"Mistral", "Mistral3", "Ministral"},
       .model_types = {"mistral", "ministral"},
       .nested = {{field::kVocab, 32000},
                  {field::kHidden, 4096},
                  {field::kLayers, 32},
                  {field::kHeads, 32},
                  {field::kKvHeads, 8},
                  {field::kInter, 14336}}},
      {{"MiniCPM"}, {"minicpm"}, {.tied = true}},
      {{"InternLM2"}, {"internlm2"}, {.fused_qkv = true}},
      {{"Arcee"}, {"arcee"}, {.activation = "relu2", .gated = false}},
      {{"Orion"}, {"orion"}, {.norm = NormKind::layer, .norm_bias = true}},
      {{"Olmo"}, {"olmo"}, {.norm = NormKind::layer, .norm_scale = false}},
      {{"Olmoe"}, {"olmoe"}, {.qk_norm = true, .qk_norm_wide = true}},
      {{"Mixtral"}, {"mixtral"}, {}},
      {{"Llama4"}, {"llama4", "llama4_text"}, {}, prepare_llama4, llama4_layers},
      {{"Phi3", "Phi3V", "Phi4MM"}, {"phi3", "phi3_v", "phi4mm"}, {.fused_qkv = true}},
      {.stems = {"Qwen2", "Qwen2VL", "Qwen2_5_VL", "MiMo", "SeedOss"},
       .model_types = {"qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text",
                       "mimo", "seed_oss"},
       .traits = {.qkv_bias = true, .out_follows = false},
       .nested = {{field::kVocab, 151936},
                  {field::kHidden, 4096},
                  {field::kLayers, 32},
                  {field::kHeads, 32},
                  {field::kKvHeads, 32},
                  {field::kInter, 22016}}},
      {{"Qwen2Moe"}, {"qwen2_moe"}, {.qkv_bias = true, .out_follows = false, .shared_gate = true}},
      {{"Qwen3", "Qwen3Moe", "Qwen3VL", "Qwen3VLMoe"},
       {"qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe", "qwen3_vl_text", "qwen3_vl_moe_text"},
       {.qk_norm = true}},
      {{"HunYuanDenseV1"}, {"hunyuan_v1_dense"}, {.qk_norm = true}},
      {{"Dots1"}, {"dots1"}, {.out_follows = true, .qk_norm = true, .router_bias = true}},
      {.stems = {"Gemma"},
       .model_types = {"gemma"},
       .traits = {.activation = "gelu_pytorch_tanh", .tied = true},
       .nested = {{field::kVocab, 256000},
                  {field::kHidden, 3072},
                  {field::kLayers, 28},
                  {field::kHeads, 16},
                  {field::kKvHeads, 16},
                  {field::kHeadDim, 256},
                  {field::kInter, 24576}}},
      {.stems = {"Gemma2"},
       .model_types = {"gemma2"},
       .traits = {.place = NormPlace::both, .activation = "gelu_pytorch_tanh", .tied = true, .full_every = 2},
       .nested = {{field::kVocab, 256000},
                  {field::kHidden, 2304},
                  {field::kLayers, 26},
                  {field::kHeads, 8},
                  {field::kKvHeads, 4},
                  {field::kHeadDim, 256},
                  {field::kInter, 9216}}},
      {{"Gemma3"},
       {"gemma3", "gemma3_text"},
       {.place = NormPlace::both, .activation = "gelu_pytorch_tanh", .qk_norm = true, .tied = true, .full_every = 6},
       prepare_gemma3},
      {{"Olmo2", "Olmo3"},
       {"olmo2", "olmo3"},
       {.place = NormPlace::after_only, .qk_norm = true, .qk_norm_wide = true, .full_every = 4}},
      {{"DeepseekV2"}, {"deepseek_v2"}, {}},
      {{"DeepseekV3", "DeepseekV32", "KimiK2", "KimiK25"},
       {"deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25"},
       {.router_bias = true}},
      {{"Glm"}, {"glm"}, {.rotary = 0.5, .qkv_bias = true, .out_follows = false}},
      {{"Glm4", "Glm4v"},
       {"glm4", "glm4v", "glm4v_text"},
       {.place = NormPlace::both, .rotary = 0.5, .out_follows = false}},
      {{"Glm4Moe", "Glm4vMoe"},
       {"glm4_moe", "glm4v_moe", "glm4v_moe_text"},
       {.rotary = 0.5, .out_follows = false, .router_bias = true}},
      {{"GlmMoeDsa", "Glm4MoeLite"}, {"glm_moe_dsa", "glm4_moe_lite"}, {.router_bias = true}},
      {{"MiniMaxM2"}, {"minimax_m2"}, {.qk_norm = true, .qk_norm_wide = true, .router_bias = true}},
      {{"GptOss"},
       {"gpt_oss"},
       {.qkv_bias = true, .out_bias = true, .sinks = true, .full_every = 2, .router_bias = true, .expert_bias = true}},
  };
  return kFamilies;
}

}  // namespace tilecast
