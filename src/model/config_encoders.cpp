// Models with an encoder: BERT, T5 and Switch, ViT, CLIP, Whisper.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/families.h"

namespace tilecast {
namespace {

// The BERT way: all tokens see each other, LayerNorm with a shift, biases everywhere, a plain feed-forward.
constexpr Traits kEncoder{.norm = NormKind::layer,
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

ModelSpec read_bert(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  spec.vocab = read.count(field::kVocab);
  const StackSizes sizes = read_sizes(read, family.traits);
  if (read.failure()) return spec;
  spec.encoder = stack_of(sizes, read_layers(read, family.traits, sizes));
  spec.encoder->token_types = read.count_or("type_vocab_size", 2);
  read_head(read, family.traits, head, spec);
  spec.head_transform = spec.head_bias = spec.lm_head;
  spec.pooler = !spec.lm_head || head == HeadKind::pretraining;
  if (head == HeadKind::pretraining) spec.classes = 2;  // does the second sentence follow the first?
  return spec;
}

// The patches in front of an image tower, and how many positions its table has.
PatchFrontend read_patches(ConfigReader& read, bool bias, StackSpec& stack) {
  PatchFrontend p;
  p.image = read.count_or("image_size", 224, 1 << 16);
  p.patch = read.count_or("patch_size", 16, 1 << 12);
  p.channels = read.count_or("num_channels", 3, 1 << 10);
  p.bias = bias;
  if (p.image < 1 || p.channels < 1 || p.patch < 1 || p.image % p.patch != 0) {
    read.fail("patch_size", fmt::format("{} does not divide the image's size {}", p.patch, p.image));
    return PatchFrontend{};
  }
  stack.max_positions = p.tokens();
  return p;
}

// An image's positions are its patches: the file has no field for them.
StackSpec read_image_stack(ConfigReader& read, const Traits& traits, bool patch_bias,
                           std::optional<PatchFrontend>& patches) {
  read.assume(field::kPositions, 1);
  const StackSizes sizes = read_sizes(read, traits);
  StackSpec stack = stack_of(sizes, read.failure() ? Layers{} : read_layers(read, traits, sizes));
  patches = read_patches(read, patch_bias, stack);
  return stack;
}

ModelSpec read_vit(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  Traits traits = family.traits;
  traits.qkv_bias = read.flag_or("qkv_bias", true);
  spec.encoder = read_image_stack(read, traits, true, spec.patches);
  read_head(read, traits, head, spec);
  spec.pooler = head == HeadKind::none;
  spec.lm_head = spec.tied_head = false;
  spec.max_context = 0;
  return spec;
}

// Two towers side by side: images in the encoder's place, text (causal) in the decoder's.
ModelSpec read_clip(ConfigReader& read, const ModelFamily& family, HeadKind) {
  ModelSpec spec;
  ConfigReader images = read.inside("vision_config"), text = read.inside("text_config");
  for (ConfigReader* tower : {&images, &text}) {  // what CLIP's classes default to
    const bool of_images = tower == &images;
    tower->assume(field::kHidden, of_images ? 768 : 512);
    tower->assume(field::kLayers, 12);
    tower->assume(field::kHeads, of_images ? 12 : 8);
    tower->assume(field::kInter, of_images ? 3072 : 2048);
    if (!of_images) tower->assume(field::kPositions, 77);
  }
  text.assume(field::kVocab, 49408);
  spec.encoder = read_image_stack(images, family.traits, false, spec.patches);
  Traits of_text = family.traits;
  of_text.causal = true;
  of_text.embedding_norm = false;
  const StackSizes sizes = read_sizes(text, of_text);
  if (!text.failure()) spec.decoder = stack_of(sizes, read_layers(text, of_text, sizes));
  spec.vocab = text.count(field::kVocab);
  spec.max_context = text.count(field::kPositions);
  spec.projection = read.count_or("projection_dim", 512, field::kHidden.most);
  spec.lm_head = false;
  read.adopt(images);
  read.adopt(text);
  return spec;
}

// "gated-gelu" and its like: whether the feed-forward is gated, and by what.
void read_feed_forward(ConfigReader& read, Traits& traits) {
  const std::string way = read.text_or("feed_forward_proj", "relu");
  traits.gated = way.starts_with("gated-");
  const std::string activation = traits.gated ? way.substr(6) : way;
  if (activation == "gelu") traits.activation = traits.gated ? "gelu_new" : "gelu";
  else if (activation == "silu" || activation == "swish") traits.activation = "silu";
  else if (activation == "relu") traits.activation = "relu";
  else read.fail("feed_forward_proj", "unknown way '" + way.substr(0, 40) + "'", "known: relu, gated-gelu, gated-silu");
}

AttentionSpec cross_of(AttentionSpec own) {
  own.causal = false;
  own.relative_buckets = 0;
  own.fused_qkv = false;
  return own;
}

// Switch: every nth layer has experts, the second of each group first.
void place_switch_experts(ConfigReader& read, const Traits& traits, Layers& layers, const char* sparse_field) {
  if (!read.has(field::kExperts)) return;
  read.assume(field::kTopk, 1);
  const auto dense = std::get<MlpSpec>(layers.front().feed_forward);
  MoeSpec experts = read_experts(read, traits, dense.inter);
  experts.capacity = read.count_or("expert_capacity", 0);
  const Count sparse = read.count_or(sparse_field, 0), count = static_cast<Count>(layers.size());
  if (sparse > count) read.fail(sparse_field, fmt::format("{} of {} layers", sparse, count));
  if (sparse == 0 || read.failure()) return;
  const Count step = count / sparse;
  for (Count i = 0; i < count; ++i)
    if (i % step == 1 || step == 1) layers[static_cast<std::size_t>(i)].feed_forward = experts;
}

StackSpec read_t5_stack(ConfigReader& read, Traits traits, bool decoder) {
  traits.causal = decoder;
  const StackSizes sizes = read_sizes(read, traits);
  Layers layers(static_cast<std::size_t>(sizes.layers));
  AttentionSpec attention = sizes.attention;
  attention.relative_buckets = read.count_or("relative_attention_num_buckets", 32);
  for (LayerSpec& layer : layers) {
    layer.mixer = attention;
    if (decoder) layer.cross = cross_of(attention);
    layer.feed_forward = sizes.mlp;
  }
  place_switch_experts(read, traits, layers, decoder ? "num_sparse_decoder_layers" : "num_sparse_encoder_layers");
  return stack_of(sizes, layers);
}

ModelSpec read_t5(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  Traits traits = family.traits;
  read_feed_forward(read, traits);
  spec.vocab = read.count(field::kVocab);
  read.call(field::kLayers, "num_layers");
  spec.encoder = read_t5_stack(read, traits, false);
  if (read.has("num_decoder_layers")) read.call(field::kLayers, "num_decoder_layers");
  spec.decoder = read_t5_stack(read, traits, true);
  read_head(read, traits, head, spec);
  return spec;
}

// Whisper's keys have no bias; its encoder's positions are a table too, though nobody trains it.
StackSpec read_whisper_stack(ConfigReader& read, const ModelFamily& family, bool decoder) {
  const auto call = [&](const ConfigField& field, const char* encoder_name, const char* decoder_name) {
    read.call(field, decoder ? decoder_name : encoder_name);
  };
  call(field::kLayers, "encoder_layers", "decoder_layers");
  call(field::kHeads, "encoder_attention_heads", "decoder_attention_heads");
  call(field::kInter, "encoder_ffn_dim", "decoder_ffn_dim");
  call(field::kPositions, "max_source_positions", "max_target_positions");
  Traits traits = family.traits;
  traits.causal = decoder;
  StackSizes sizes = read_sizes(read, traits);
  sizes.attention.key_bias = false;
  LayerSpec layer{sizes.attention, std::nullopt, sizes.mlp};
  if (decoder) layer.cross = cross_of(sizes.attention);
  return stack_of(sizes, Layers(static_cast<std::size_t>(sizes.layers), layer));
}

ModelSpec read_whisper(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  spec.vocab = read.count(field::kVocab);
  spec.encoder = read_whisper_stack(read, family, false);
  spec.audio = AudioFrontend{read.count_or("num_mel_bins", 80, 1 << 12), 2 * spec.encoder->max_positions};
  spec.decoder = read_whisper_stack(read, family, true);
  read_head(read, family.traits, head, spec);
  return spec;
}

}  // namespace

const std::vector<ModelFamily>& encoder_families() {
  static constexpr Traits kT5{
      .positions = Positions::relative, .causal = false, .activation = "relu", .gated = false, .tied = true};
  static const std::vector<ModelFamily> kFamilies = {
      {.stems = {"Bert"},
       .model_types = {"bert"},
       .traits = with(kEncoder,
                      [](Traits& t) {
                        t.place = NormPlace::after;
                        t.final_norm = false;
                        t.embedding_norm = true;
                      }),
       .model = read_bert},
      {.stems = {"ViT"}, .model_types = {"vit"}, .traits = kEncoder, .model = read_vit},
      {.stems = {"CLIP"},
       .model_types = {"clip"},
       .traits = with(kEncoder,
                      [](Traits& t) {
                        t.embedding_norm = true;
                        t.activation = "quick_gelu";
                      }),
       .model = read_clip,
       .two_towers = true},
      {.stems = {"T5", "MT5", "SwitchTransformers"},
       .model_types = {"t5", "mt5", "switch_transformers"},
       .traits = kT5,
       .model = read_t5},
      {.stems = {"Whisper"}, .model_types = {"whisper"}, .traits = kEncoder, .model = read_whisper},
  };
  return kFamilies;
}

}  // namespace tilecast
