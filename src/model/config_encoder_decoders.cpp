// Encoder-decoder models: T5 and Switch, BART and its descendants, Whisper.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/families.h"

namespace tilecast {
namespace {

// "gated-gelu" and the like: whether the feed-forward is gated, and by what.
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

ModelSpec read_t5_stacks(ConfigReader& read, const ModelFamily& family, HeadKind head, bool decoder) {
  ModelSpec spec;
  Traits traits = family.traits;
  read_feed_forward(read, traits);
  spec.vocab = read.count(field::kVocab);
  read.call(field::kLayers, "num_layers");
  spec.encoder = read_t5_stack(read, traits, false);
  if (decoder) {
    if (read.has("num_decoder_layers")) read.call(field::kLayers, "num_decoder_layers");
    spec.decoder = read_t5_stack(read, traits, true);
  }
  read_head(read, traits, head, spec);
  return spec;
}
ModelSpec read_t5(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  return read_t5_stacks(read, family, head, true);
}
// Its encoder alone, as image generators use it.
ModelSpec read_t5_encoder(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  return read_t5_stacks(read, family, head, false);
}

// Files of BART and Whisper name the sizes of their two stacks separately.
void call_by_stack(ConfigReader& read, bool decoder) {
  read.call(field::kLayers, decoder ? "decoder_layers" : "encoder_layers");
  read.call(field::kHeads, decoder ? "decoder_attention_heads" : "encoder_attention_heads");
  read.call(field::kInter, decoder ? "decoder_ffn_dim" : "encoder_ffn_dim");
}

// Both stacks look up their tokens in one table, and have separate positions.
ModelSpec read_bart(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  spec.vocab = read.count(field::kVocab);
  for (const bool decoder : {false, true}) {
    call_by_stack(read, decoder);
    Traits traits = family.traits;
    traits.causal = decoder;
    const StackSizes sizes = read_sizes(read, traits);
    LayerSpec layer{.mixer = sizes.attention, .cross = std::nullopt, .feed_forward = sizes.mlp};
    if (decoder) layer.cross = cross_of(sizes.attention);
    (decoder ? spec.decoder : spec.encoder) = stack_of(sizes, Layers(static_cast<std::size_t>(sizes.layers), layer));
  }
  read_head(read, family.traits, head, spec);
  spec.pooler = head == HeadKind::classes;
  return spec;
}

// Whisper's keys have no bias; its encoder's positions are a table too, though it is not trained.
StackSpec read_whisper_stack(ConfigReader& read, const ModelFamily& family, bool decoder) {
  call_by_stack(read, decoder);
  read.call(field::kPositions, decoder ? "max_target_positions" : "max_source_positions");
  Traits traits = family.traits;
  traits.causal = decoder;
  StackSizes sizes = read_sizes(read, traits);
  sizes.attention.key_bias = false;
  LayerSpec layer{.mixer = sizes.attention, .cross = std::nullopt, .feed_forward = sizes.mlp};
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

const std::vector<ModelFamily>& encoder_decoder_families() {
  static constexpr Traits kT5{
      .positions = Positions::relative, .causal = false, .activation = "relu", .gated = false, .tied = true};
  static constexpr Traits kBehind = with(kEncoderTraits, [](Traits& t) {
    t.place = NormPlace::after;
    t.final_norm = false;
  });
  const auto embeds_as_bart = [](Traits& t) {
    t.embedding_norm = true;
    t.position_offset = 2;
  };
  static const std::vector<ModelFamily> kFamilies = {
      {.stems = {"T5", "MT5", "SwitchTransformers"},
       .model_types = {"t5", "mt5", "switch_transformers"},
       .traits = kT5,
       .model = read_t5},
      {.stems = {"T5Encoder", "MT5Encoder"}, .model_types = {}, .traits = kT5, .model = read_t5_encoder},
      {.stems = {"Bart"}, .model_types = {"bart"}, .traits = with(kBehind, embeds_as_bart), .model = read_bart},
      {.stems = {"MBart"},
       .model_types = {"mbart"},
       .traits = with(kEncoderTraits, embeds_as_bart),
       .model = read_bart},
      // Pegasus' and Marian's positions are sines, but still stored as tables; M2M-100 (NLLB) computes them.
      {.stems = {"Pegasus", "Blenderbot"},
       .model_types = {"pegasus", "blenderbot"},
       .traits = kEncoderTraits,
       .model = read_bart},
      {.stems = {"Marian"}, .model_types = {"marian"}, .traits = kBehind, .model = read_bart},
      {.stems = {"M2M100"},
       .model_types = {"m2m_100"},
       .traits = with(kEncoderTraits, [](Traits& t) { t.positions = Positions::none; }),
       .model = read_bart},
      {.stems = {"Whisper"}, .model_types = {"whisper"}, .traits = kEncoderTraits, .model = read_whisper},
  };
  return kFamilies;
}

}  // namespace tilecast
