#include "model/tower.h"

#include <gtest/gtest.h>

#include "model/library.h"

namespace tilecast {
namespace {

Count tokens_of(const std::string& config, Count width, Count height) {
  const auto tower = image_tower(config, "config.json", width, height);
  EXPECT_TRUE(tower) << tower.error().line();
  return tower ? tower->tokens : 0;
}

const std::string kQwen =
    R"({"model_type": "qwen2_5_vl", "vision_config": {"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280,
        "intermediate_size": 3420, "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2}})";
const std::string kLlava =
    R"({"model_type": "llava", "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336,
        "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14}})";

TEST(MediaTowers, TokensByTheModelsOwnRule) {
  EXPECT_EQ(tokens_of(kQwen, 1024, 1024), 37 * 37);  // 1024 / 28 = 36.6
  EXPECT_EQ(tokens_of(kQwen, 28, 28), 1);
  EXPECT_LE(tokens_of(kQwen, 20000, 20000), 16384 + 128);  // as many as max_pixels allows, but for rounding
  EXPECT_EQ(tokens_of(kLlava, 1024, 768), 24 * 24);
  const std::string gemma =
      R"({"mm_tokens_per_image": 256, "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152,
          "image_size": 896, "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14}})";
  EXPECT_EQ(tokens_of(gemma, 1024, 768), 256);
  const std::string llama4 =
      R"({"vision_config": {"model_type": "llama4_vision_model", "hidden_size": 1408, "image_size": 336,
          "intermediate_size": 5632, "num_attention_heads": 16, "num_hidden_layers": 34, "patch_size": 14,
          "pixel_shuffle_ratio": 0.5}})";
  EXPECT_EQ(tokens_of(llama4, 336, 336), 144);
  EXPECT_EQ(tokens_of(llama4, 1024, 768), 13 * 144);  // 4 x 3 tiles and one of the whole
  const std::string pixtral =
      R"({"vision_config": {"model_type": "pixtral", "hidden_size": 1024, "image_size": 1024, "intermediate_size": 4096,
          "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 16}})";
  EXPECT_EQ(tokens_of(pixtral, 1024, 512), 64 * 32 + 32);
}

TEST(MediaTowers, TheEncoderHasTheTowersSizes) {
  const auto tower = image_tower(kLlava, "config.json", 336, 336);
  ASSERT_TRUE(tower);
  EXPECT_EQ(tower->encoder.encoder->layer_count(), 24);
  EXPECT_EQ(tower->encoder.encoder->hidden, 1024);
  EXPECT_NEAR(static_cast<double>(parameters(tower->encoder)) / 304e6, 1, 0.02);  // CLIP's ViT-L/14
}

TEST(MediaTowers, SoundBecomes25TokensASecond) {
  const std::string audio =
      R"({"audio_config": {"model_type": "qwen2_audio_encoder", "num_mel_bins": 128, "encoder_layers": 32,
          "encoder_attention_heads": 20, "encoder_ffn_dim": 5120, "d_model": 1280}})";
  const auto tower = audio_tower(audio, "config.json", 45);
  ASSERT_TRUE(tower) << tower.error().line();
  EXPECT_EQ(tower->tokens, 1125);
  EXPECT_EQ(tower->passes, 2);
  EXPECT_FALSE(audio_tower(audio, "config.json", 0));
}

TEST(MediaTowers, RefusesWithARemedy) {
  const auto none = image_tower(R"({"model_type": "llama"})", "config.json", 100, 100);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().line().find("vision_config"), std::string::npos);
  EXPECT_FALSE(image_tower(R"({"vision_config": {"model_type": "odd"}})", "config.json", 100, 100));
  EXPECT_FALSE(image_tower(R"({"vision_config": {"model_type": "clip_vision_model"}})", "config.json", 100, 100));
  EXPECT_FALSE(image_tower(kQwen, "config.json", 0, 100));
  EXPECT_FALSE(image_tower("[]", "config.json", 100, 100));
  EXPECT_FALSE(image_tower(R"({"vision_config": {"model_type": null}})", "config.json", 100, 100));
  const auto named = config_text("Llama-3.1-8B");
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().line().find("config.json"), std::string::npos);
}

// Engines load a tower with the text part: bundled models that have one describe it, at the largest image.
TEST(MediaTowers, BundledModels) {
  const auto scout = find_model("Llama-4-Scout"), gemma = find_model("Gemma-3-27B"), plain = find_model("Llama-3.1-8B");
  ASSERT_TRUE(scout && gemma && plain);
  ASSERT_TRUE(scout->tower && gemma->tower);
  EXPECT_FALSE(plain->tower);
  EXPECT_EQ(scout->tower->passes, 17);        // sixteen tiles and the whole
  EXPECT_EQ(scout->tower->tokens, 17 * 144);  // (336 / 14)^2 patches, a quarter of them after the pixel shuffle
  EXPECT_NEAR(static_cast<double>(parameters(*scout->tower->encoder)), 34 * 12.0 * 1408 * 1408, 0.02e9);
  EXPECT_EQ(gemma->tower->tokens, 256);
  EXPECT_NEAR(static_cast<double>(parameters(*gemma->tower->encoder)), 0.41e9, 0.02e9);
  EXPECT_TRUE(config_text("Llama-4-Scout"));
  EXPECT_FALSE(config_text("Llama-3.1-8B"));
}

}  // namespace
}  // namespace tilecast
