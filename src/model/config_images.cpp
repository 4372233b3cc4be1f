// Images: ViT and its descendants, and CLIP's two towers, together or separately.
#include <fmt/format.h>

#include <algorithm>

#include "model/families.h"

namespace tilecast {
namespace {

// The patches before an image tower, and how many positions its table has.
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
  stack.max_positions = p.positions();
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
  if (family.prepare) family.prepare(read, traits);
  spec.encoder = read_image_stack(read, traits, true, spec.patches);
  read_head(read, traits, head, spec);
  spec.pooler = head == HeadKind::none && traits.pooler;
  spec.lm_head = spec.tied_head = false;
  spec.max_context = 0;
  return spec;
}

// DeiT: a second token learns from another network; with that teacher's class both have classifiers.
ModelSpec read_deit(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec = read_vit(read, family, head);
  spec.patches->more_tokens = 1;
  spec.encoder->max_positions = spec.patches->positions();
  if (head == HeadKind::taught) spec.classifiers = 2;
  return spec;
}

// DINOv2: blocks scaled by vectors, a token for training alone, registers perhaps; the widest has a gate, and two
// thirds of the width for it, up to a multiple of eight.
void prepare_dinov2(ConfigReader& read, Traits& traits) {
  const Count ratio = read.count_or("mlp_ratio", 4, 1 << 6);
  traits.inter_factor = std::max<Count>(ratio, 1);
  traits.gated = read.flag_or("use_swiglu_ffn", false);
  if (!traits.gated) return;
  const Count hidden = read.count(field::kHidden);
  read.assume(field::kInter, (traits.inter_factor * hidden * 2 / 3 + 7) / 8 * 8);
}
ModelSpec read_dinov2(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  ModelSpec spec = read_vit(read, family, head);
  spec.patches->mask_token = true;
  spec.patches->more_positions = false;
  spec.patches->more_tokens = read.count_or("num_register_tokens", 0, 1 << 10);
  if (spec.classes > 0) spec.class_tokens = 2;
  for (LayerRun& run : spec.encoder->layers)
    if (auto* mlp = std::get_if<MlpSpec>(&run.layer.feed_forward); mlp && mlp->gated)
      mlp->activation = ActivationKind::silu;
  return spec;
}

// What CLIP's classes default to.
void assume_clip(ConfigReader& tower, bool of_images) {
  tower.assume(field::kHidden, of_images ? 768 : 512);
  tower.assume(field::kLayers, 12);
  tower.assume(field::kHeads, of_images ? 12 : 8);
  tower.assume(field::kInter, of_images ? 3072 : 2048);
  if (of_images) return;
  tower.assume(field::kPositions, 77);
  tower.assume(field::kVocab, 49408);
}
StackSpec read_clip_text(ConfigReader& text, Traits traits) {
  traits.causal = true;
  traits.embedding_norm = false;
  const StackSizes sizes = read_sizes(text, traits);
  return stack_of(sizes, text.failure() ? Layers{} : read_layers(text, traits, sizes));
}

// Two towers side by side: images in the encoder's place, text (causal) in the decoder's.
ModelSpec read_clip(ConfigReader& read, const ModelFamily& family, HeadKind) {
  ModelSpec spec;
  ConfigReader images = read.inside("vision_config"), text = read.inside("text_config");
  assume_clip(images, true);
  assume_clip(text, false);
  spec.encoder = read_image_stack(images, family.traits, false, spec.patches);
  spec.decoder = read_clip_text(text, family.traits);
  spec.vocab = text.count(field::kVocab);
  spec.max_context = text.count(field::kPositions);
  spec.projection = read.count_or("projection_dim", 512, field::kHidden.most);
  spec.lm_head = false;
  read.adopt(images);
  read.adopt(text);
  return spec;
}

// One of them alone, its fields at the top of the file; the class says whether the product into the common width is
// its.
ModelSpec read_clip_tower(ConfigReader& read, const ModelFamily& family, HeadKind head) {
  const bool of_images = family.stems.front() == "CLIPVision";
  ModelSpec spec;
  assume_clip(read, of_images);
  if (of_images) {
    spec.encoder = read_image_stack(read, family.traits, false, spec.patches);
  } else {
    spec.decoder = read_clip_text(read, family.traits);
    spec.vocab = read.count(field::kVocab);
    spec.max_context = read.count(field::kPositions);
  }
  if (head == HeadKind::projection) spec.projection = read.count_or("projection_dim", 512, field::kHidden.most);
  spec.lm_head = false;
  return spec;
}

}  // namespace

const std::vector<ModelFamily>& image_families() {
  static constexpr Traits kClip = with(kEncoderTraits, [](Traits& t) {
    t.embedding_norm = true;
    t.activation = "quick_gelu";
  });
  static const std::vector<ModelFamily> kFamilies = {
      {.stems = {"ViT"}, .model_types = {"vit"}, .traits = kEncoderTraits, .model = read_vit},
      {.stems = {"DeiT"}, .model_types = {"deit"}, .traits = kEncoderTraits, .model = read_deit},
      {.stems = {"Dinov2", "Dinov2WithRegisters"},
       .model_types = {"dinov2", "dinov2_with_registers"},
       .traits = with(kEncoderTraits,
                      [](Traits& t) {
                        t.layer_scale = true;
                        t.pooler = false;
                      }),
       .prepare = prepare_dinov2,
       .model = read_dinov2},
      {.stems = {"CLIP"}, .model_types = {"clip"}, .traits = kClip, .model = read_clip, .two_towers = true},
      {.stems = {"CLIPVision"}, .model_types = {"clip_vision_model"}, .traits = kClip, .model = read_clip_tower},
      {.stems = {"CLIPText"}, .model_types = {"clip_text_model"}, .traits = kClip, .model = read_clip_tower},
  };
  return kFamilies;
}

}  // namespace tilecast
