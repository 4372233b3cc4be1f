// Architectures named in config.json files, one table row each: what the architecture fixes and the file does not say,
// and a function or two for files with their own conventions. model/config.cpp picks the row.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/config_reader.h"
#include "model/spec.h"

namespace tilecast {

// What an architecture fixes. Fields in the file take precedence.
struct Traits {
  NormKind norm = NormKind::rms;
  bool norm_bias = false;
  bool norm_scale = true;
  bool layer_scale = false;
  NormPlace place = NormPlace::before;
  bool final_norm = true;
  bool embedding_norm = false;
  Positions positions = Positions::rope;
  Count position_offset = 0;  // rows of the learned table beyond the positions it is for
  double rotary = 1;          // part of a head that is rotated, where the file does not say
  bool causal = true;
  std::string_view activation = "silu";
  bool gated = true;
  Count inter_factor = 0;  // the feed-forward's width over `hidden`, where the file does not say; 0: it must
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool out_follows = true;  // the file's "attention_bias" is about the output's product too
  bool fused_qkv = false;
  bool qk_norm = false, qk_norm_wide = false, qk_norm_each = false;
  NormKind qk_norm_kind = NormKind::rms;
  bool qk_norm_bias = false;
  bool sinks = false;
  bool gate = false;
  bool scan_apart = false;  // ScanSpec::apart
  bool tied = false;        // where the file has no "tie_word_embeddings"
  bool head_bias = false;
  Count full_every = 0;  // of layers with a window each nth sees all keys; 0: none does
  bool router_bias = false;
  bool expert_bias = false;
  bool shared_gate = false;
  bool token_types = true;  // encoders: a table of kinds of token, two where the file does not say
  bool pooler = true;       // encoders: the bare class ends in one
};

// GPT-2's style: LayerNorm with a shift, biases everywhere, a plain feed-forward four times as wide, a tied head.
inline constexpr Traits kGptTraits{.norm = NormKind::layer,
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

// BERT's style, with the norms left open: all tokens see each other, LayerNorm with a shift, biases everywhere, a plain
// feed-forward.
inline constexpr Traits kEncoderTraits{.norm = NormKind::layer,
                                       .norm_bias = true,
                                       .positions = Positions::learned,
                                       .causal = false,
                                       .activation = "gelu",
                                       .gated = false,
                                       .qkv_bias = true,
                                       .out_bias = true,
                                       .mlp_bias = true,
                                       .tied = true};

constexpr Traits with(Traits traits, auto change) {
  change(traits);
  return traits;
}

// What a model ends in, by its class: LlamaForCausalLM, BertModel.
enum class HeadKind : std::uint8_t {
  none,
  language,
  masked,
  pretraining,
  classes,        // of a sequence
  taught,         // the same twice, once of what another network taught (DeiT)
  token_classes,  // of every token
  span,           // of every token: does the answer begin or end here?
  projection,     // one tower of two, with its product into the common width
};

// A stack's sizes before its layers are laid out.
struct StackSizes {
  Count layers = 0;
  StackSpec stack;
  AttentionSpec attention;
  MlpSpec mlp;
};
StackSizes read_sizes(ConfigReader& read, const Traits& traits);
ActivationKind read_activation(ConfigReader& read, const Traits& traits);

// Layers as most files describe them: windows, linear attention, latent attention and experts where fields say so.
using Layers = std::vector<LayerSpec>;
Layers read_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes);
// One mixture of experts; `dense_inter` is an expert's width if the file has no field for it.
MoeSpec read_experts(ConfigReader& read, const Traits& traits, Count dense_inter);
// Equal neighbours become one run.
StackSpec stack_of(const StackSizes& sizes, const Layers& layers);

struct ModelFamily {
  std::vector<std::string_view> stems = {};        // "Llama" of LlamaForCausalLM
  std::vector<std::string_view> model_types = {};  // "llama"
  Traits traits = {};
  // Changes the traits, and what fields are called, by what the file says.
  void (*prepare)(ConfigReader&, Traits&) = nullptr;
  Layers (*layers)(ConfigReader&, const Traits&, const StackSizes&) = read_layers;
  // Reads the whole model where it is not one causal stack.
  ModelSpec (*model)(ConfigReader&, const ModelFamily&, HeadKind) = nullptr;
  bool two_towers = false;  // "text_config" is a part of the model, not the model
  // Sizes that a "text_config" of this kind leaves out, as in its Hugging Face class: it holds only differences.
  struct Default {
    const ConfigField& field;
    Count value;
  };
  std::vector<Default> nested = {};
};
ModelSpec read_decoder(ConfigReader& read, const ModelFamily& family, HeadKind head);

// The table, in parts that have their own files.
const std::vector<ModelFamily>& decoder_families();
const std::vector<ModelFamily>& particular_decoder_families();
const std::vector<ModelFamily>& hybrid_families();
const std::vector<ModelFamily>& text_encoder_families();
const std::vector<ModelFamily>& image_families();
const std::vector<ModelFamily>& encoder_decoder_families();

// Well-known architectures that the operators here cannot express, and why; empty for others.
std::string_view why_not(std::string_view stem);

// Common to all models: vocabulary, tying, labels.
void read_head(ConfigReader& read, const Traits& traits, HeadKind head, ModelSpec& spec);

}  // namespace tilecast
