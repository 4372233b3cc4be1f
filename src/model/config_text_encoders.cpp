// Text encoders: BERT and its descendants.
#include <algorithm>

#include "model/families.h"

namespace tilecast {
namespace {

// Norms after the sums and after the embeddings, none at the end.
constexpr Traits kBert = with(kEncoderTraits, [](Traits& t) {
  t.place = NormPlace::after;
  t.final_norm = false;
  t.embedding_norm = true;
});

ModelSpec read_bert(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec;
  Traits traits = family.traits;
  if (family.prepare) family.prepare(read, traits);
  spec.vocab = read.count(field::kVocab);
  const StackSizes sizes = read_sizes(read, traits);
  if (read.failure()) return spec;
  spec.encoder = stack_of(sizes, family.layers(read, traits, sizes));
  if (traits.token_types) spec.encoder->token_types = read.count_or("type_vocab_size", 2);
  read_head(read, traits, head, spec);
  spec.head_transform = spec.head_bias = spec.lm_head;
  const bool pools = head == HeadKind::none && traits.pooler;
  spec.pooler = pools || head == HeadKind::classes || head == HeadKind::pretraining;
  if (head == HeadKind::pretraining) spec.classes = 2;  // does the second sentence follow the first?
  return spec;
}

void prepare_distilbert(ConfigReader& read, Traits&) {
  read.call(field::kHidden, "dim");
  read.call(field::kInter, "hidden_dim");
}

// Tables narrower than the layers, widened by a product.
void factor(ConfigReader& read, ModelSpec& spec) {
  if (!spec.encoder) return;
  const Count width = read.count_or("embedding_size", 128, field::kHidden.most);
  if (width < 1) read.fail("embedding_size", "must be at least 1");
  if (width == spec.encoder->hidden) return;
  spec.encoder->embedding_dim = std::max<Count>(width, 1);
  spec.encoder->factored = true;
}

// ELECTRA's discriminator asks of every token whether it was replaced; its generator is a BERT.
ModelSpec read_electra(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  const bool discriminator = head == HeadKind::pretraining;
  ModelSpec spec = read_bert(read, family, discriminator ? HeadKind::token_classes : head);
  factor(read, spec);
  if (!discriminator) return spec;
  spec.pooler = true;
  spec.classes = 1;
  return spec;
}

// ALBERT: one layer again and again, with a product into it even where the tables are as wide.
Layers albert_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  for (const char* name : {"num_hidden_groups", "inner_group_num"})
    if (read.count_or(name, 1) != 1)
      read.fail(name, "is not supported unless 1", "layers must all share one's weights");
  for (std::size_t i = 1; i < layers.size(); ++i) layers[i].borrowed = true;
  return layers;
}
ModelSpec read_albert(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec = read_bert(read, family, head);
  factor(read, spec);
  if (spec.encoder && !spec.encoder->factored) {
    spec.encoder->embedding_dim = spec.encoder->hidden;
    spec.encoder->factored = true;
  }
  return spec;
}

// MPNet: beside its positions a table of biases by distance, as T5 has.
Layers mpnet_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  StackSizes own = sizes;
  own.attention.relative_buckets = read.count_or("relative_attention_num_buckets", 32);
  return read_layers(read, traits, own);
}

// ModernBERT: every third layer sees all tokens, the first of them included; the others as many to both sides.
void prepare_modernbert(ConfigReader& read, Traits& traits) { traits.norm_bias = read.flag_or("norm_bias", false); }
Layers modernbert_layers(ConfigReader& read, const Traits& traits, const StackSizes& sizes) {
  Layers layers = read_layers(read, traits, sizes);
  const Count every = std::max<Count>(read.count_or("global_attn_every_n_layers", 3), 1);
  const Count side = read.count_or("local_attention", 128, field::kPositions.most) / 2;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (auto* a = std::get_if<AttentionSpec>(&layers[i].mixer))
      a->window = static_cast<Count>(i) % every == 0 ? 0 : 2 * side + 1;
  layers.front().mixer_norm = false;
  return layers;
}
ModelSpec read_modernbert(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  // Its head before classes of tokens is what others have before classes of a sequence; a norm without a shift stands
  // where their product has its bias.
  ModelSpec spec = read_bert(read, family, head);
  spec.pooler = spec.pooler || head == HeadKind::token_classes || head == HeadKind::span;
  spec.transform_bias = read.flag_or("classifier_bias", false);
  spec.head_bias = spec.lm_head && read.flag_or("decoder_bias", true);
  return spec;
}

// Nomic's BERT: as its fields say, rotated and gated.
void prepare_nomic(ConfigReader& read, Traits& traits) {
  const bool before = read.flag_or("prenorm", false);
  traits.place = before ? NormPlace::before : NormPlace::after;
  traits.final_norm = before;
  traits.gated = read.text_or("activation_function", "swiglu") == "swiglu";
  traits.qkv_bias = traits.out_bias = read.flag_or("qkv_proj_bias", true);
  traits.mlp_bias = read.flag_or("mlp_fc1_bias", true);
  traits.rotary = read.number_or("rotary_emb_fraction", 0, 0, 1);
  traits.positions = traits.rotary > 0 ? Positions::rope : Positions::learned;
}

}  // namespace

const std::vector<ModelFamily>& text_encoder_families() {
  static constexpr Traits kBare = with(kBert, [](Traits& t) { t.token_types = t.pooler = false; });
  static const std::vector<ModelFamily> kFamilies = {
      {.stems = {"Bert", "Roberta", "XLMRoberta", "Camembert"},
       .model_types = {"bert", "roberta", "xlm-roberta", "camembert"},
       .traits = kBert,
       .model = read_bert},
      {.stems = {"DistilBert"},
       .model_types = {"distilbert"},
       .traits = kBare,
       .prepare = prepare_distilbert,
       .model = read_bert},
      {.stems = {"Electra"},
       .model_types = {"electra"},
       .traits = with(kBert, [](Traits& t) { t.pooler = false; }),
       .model = read_electra},
      {.stems = {"Albert"},
       .model_types = {"albert"},
       .traits = with(kBert, [](Traits& t) { t.activation = "gelu_new"; }),
       .layers = albert_layers,
       .model = read_albert},
      {.stems = {"MPNet"},
       .model_types = {"mpnet"},
       .traits = with(kBert, [](Traits& t) { t.token_types = false; }),
       .layers = mpnet_layers,
       .model = read_bert},
      {.stems = {"ModernBert"},
       .model_types = {"modernbert"},
       .traits = with(kBare,
                      [](Traits& t) {
                        t.place = NormPlace::before;
                        t.final_norm = t.gated = t.fused_qkv = true;
                        t.positions = Positions::rope;
                        t.qkv_bias = t.out_bias = t.mlp_bias = false;
                      }),
       .prepare = prepare_modernbert,
       .layers = modernbert_layers,
       .model = read_modernbert},
      {.stems = {"NomicBert"},
       .model_types = {"nomic_bert"},
       .traits = with(kBert, [](Traits& t) { t.pooler = false, t.fused_qkv = true; }),
       .prepare = prepare_nomic,
       .model = read_bert},
  };
  return kFamilies;
}

}  // namespace tilecast
