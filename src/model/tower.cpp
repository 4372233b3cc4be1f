#include "model/tower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/library.h"
#include "support/file.h"
#include "support/json.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

constexpr Count kMostPixels = 1 << 20;  // of a side
constexpr double kMostAudio = 86400;    // seconds

// Fields with one meaning, under the names that families give them.
Count tower_field(const Json& json, std::initializer_list<const char*> names, Count otherwise) {
  for (const char* name : names)
    if (const auto found = json.find(name);
        found != json.end() && found->is_number_integer() && *found > 0 && *found < 1 << 20)
      return found->get<Count>();
  return otherwise;
}
double share_of(const Json& json, const char* name, double otherwise) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number()) return otherwise;
  const auto value = found->get<double>();
  return value > 0 && value <= 1 ? value : otherwise;
}

// Empty if it is not a string.
std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<Json> described_part(const std::string& text, const std::string& place, const char* name, Json& root) {
  auto parsed = parse_json_object(text, place, "a Hugging Face config.json");
  if (!parsed) return std::move(parsed).error();
  root = *std::move(parsed);
  const Json& outer =
      root.contains("thinker_config") && root["thinker_config"].is_object() ? root["thinker_config"] : root;
  if (!outer.contains(name) || !outer[name].is_object())
    return Error{place, name, "is not there: the file describes no tower for this",
                 "the config.json of a model that takes it, or its tokens as part of the input"};
  return outer[name];
}

struct TowerSizes {
  Count hidden = 0, layers = 0, heads = 0, inter = 0, patch = 0;
};

// A ViT of these sizes over a square of as many patches.
Result<ModelSpec> vit_of(const TowerSizes& s, Count patches, const std::string& place) {
  if (s.hidden < 1 || s.layers < 1 || s.heads < 1 || s.inter < 1)
    return Error{place, "", "the tower's sizes are not all there (width, layers, heads, feed-forward width)",
                 "a config.json that says them"};
  const auto side = static_cast<Count>(std::llround(std::sqrt(static_cast<double>(patches))));
  const Json config = {{"architectures", {"ViTModel"}},  {"torch_dtype", "bfloat16"},
                       {"hidden_size", s.hidden},        {"num_hidden_layers", s.layers},
                       {"num_attention_heads", s.heads}, {"intermediate_size", s.inter},
                       {"patch_size", s.patch},          {"image_size", s.patch * std::max<Count>(1, side)}};
  return spec_from_json(config.dump(), place);
}

TowerSizes vision_sizes(const Json& v) {
  TowerSizes s;
  s.hidden = tower_field(v, {"embed_dim", "hidden_size", "width"}, 0);
  s.layers = tower_field(v, {"depth", "num_hidden_layers", "layers"}, 0);
  s.heads = tower_field(v, {"num_heads", "num_attention_heads", "heads"}, 0);
  s.inter = tower_field(v, {"intermediate_size"}, tower_field(v, {"mlp_ratio"}, 4) * s.hidden);
  s.patch = tower_field(v, {"patch_size", "spatial_patch_size"}, 14);
  // Qwen2-VL's first files leave all of them to the class.
  if (s.layers == 0 && text_of(v, "model_type") == "qwen2_vl")
    s.hidden = 1280, s.layers = 32, s.heads = 16, s.inter = 5120;
  return s;
}

struct ImageTokens {
  Count tokens = 0, patches = 0;  // patches of one pass
  Count passes = 1;
};

// Sides to multiples of patch x merge, at most 12,845,056 pixels (Qwen2VLImageProcessor's smart_resize and max_pixels).
ImageTokens qwen_tokens(const Json& v, const TowerSizes& s, double width, double height) {
  constexpr double kMostArea = 12845056;
  const Count merge = tower_field(v, {"spatial_merge_size"}, 2);
  const auto unit = static_cast<double>(s.patch * merge);
  const double shrink = std::min(1.0, std::sqrt(kMostArea / (width * height)));
  const auto sides = [&](double side) { return std::max<Count>(1, std::llround(side * shrink / unit)); };
  const Count tokens = sides(width) * sides(height);
  return {tokens, tokens * merge * merge};
}

// The longer side at most image_size, a token after every row (PixtralProcessor's [IMG_BREAK] and [IMG_END]).
ImageTokens pixtral_tokens(const Json& root, const Json& v, const TowerSizes& s, double width, double height) {
  const Count merge = tower_field(root, {"spatial_merge_size"}, 1);
  const auto most = static_cast<double>(tower_field(v, {"image_size"}, 1024));
  const double shrink = std::min(1.0, most / std::max(width, height));
  const auto unit = static_cast<double>(s.patch * merge);
  const auto sides = [&](double side) {
    return std::max<Count>(1, static_cast<Count>(std::ceil(side * shrink / unit)));
  };
  const Count rows = sides(height), columns = sides(width);
  return {rows * columns + rows, rows * columns * merge * merge};
}

// Tiles of the tower's own size and, beside several, one of the whole (Llama4ImageProcessor, max_patches 16); a tile's
// patches are joined by the pixel shuffle's ratio.
ImageTokens llama4_tokens(const Json& v, const TowerSizes& s, double width, double height) {
  constexpr Count kMostTiles = 16;
  const Count side = tower_field(v, {"image_size"}, 336);
  const double ratio = share_of(v, "pixel_shuffle_ratio", 0.5);
  const auto along = [&](double pixels) {
    return std::max<Count>(1, static_cast<Count>(std::ceil(pixels / static_cast<double>(side))));
  };
  const Count tiles = std::min(kMostTiles, along(width) * along(height));
  const Count patches = (side / s.patch) * (side / s.patch), passes = tiles > 1 ? tiles + 1 : 1;
  return {passes * static_cast<Count>(static_cast<double>(patches) * ratio * ratio), patches, passes};
}

// One size for all: as many tokens as patches, or as the file says (Gemma 3's mm_tokens_per_image).
ImageTokens fixed_tokens(const Json& root, const Json& v, const TowerSizes& s) {
  const Count side = tower_field(v, {"image_size"}, 224), patches = (side / s.patch) * (side / s.patch);
  return {tower_field(root, {"mm_tokens_per_image"}, patches), patches};
}

}  // namespace

std::optional<TowerSpec> largest_tower(const Json& config, const std::string& place) {
  if (!config.contains("vision_config") || !config["vision_config"].is_object()) return std::nullopt;
  // The sides at which every rule above makes most of an image: sixteen of Llama 4's tiles, Qwen's most pixels.
  constexpr Count kSide = 3584, kMostPatches = 1 << 20;
  const auto tower = image_tower(config.dump(), place, kSide, kSide);
  if (!tower || tower->tokens < 1 || tower->encoder.patches->tokens() > kMostPatches) return std::nullopt;
  return TowerSpec{std::make_shared<const ModelSpec>(tower->encoder), tower->passes, tower->tokens};
}

Result<MediaTower> image_tower(const std::string& config, const std::string& place, Count width, Count height) {
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels)
    return field_error("image-size", fmt::format("sides lie between 1 and {} pixels", kMostPixels));
  Json root;
  const auto part = described_part(config, place, "vision_config", root);
  if (!part) return part.error();
  const Json& v = *part;
  const TowerSizes sizes = vision_sizes(v);
  const std::string own = text_of(v, "model_type"), type = own.empty() ? text_of(root, "model_type") : own;
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  ImageTokens image;
  if (type.starts_with("qwen") || v.contains("spatial_merge_size")) image = qwen_tokens(v, sizes, w, h);
  else if (type == "pixtral") image = pixtral_tokens(root, v, sizes, w, h);
  else if (type.starts_with("llama4")) image = llama4_tokens(v, sizes, w, h);
  else if (type.starts_with("clip") || type.starts_with("siglip")) image = fixed_tokens(root, v, sizes);
  else
    return Error{place, "vision_config", "no rule is known for the tokens of '" + type.substr(0, 40) + "'",
                 "known: qwen2_vl and later, pixtral, llama4, clip, siglip; or its tokens as part of the input"};
  auto encoder = vit_of(sizes, image.patches, place);
  if (!encoder) return std::move(encoder).error();
  return MediaTower{*std::move(encoder), image.passes, image.tokens};
}

// Whisper's encoder: 100 frames per second, halved by its second convolution, in windows of 30 s; two positions then
// make a token (Qwen2-Audio and Qwen2.5-Omni).
Result<MediaTower> audio_tower(const std::string& config, const std::string& place, double seconds) {
  if (!(seconds > 0) || seconds > kMostAudio)
    return field_error("audio", fmt::format("lies between 0 and {:g} s", kMostAudio));
  constexpr double kWindow = 30, kPositions = 50, kJoined = 2;
  Json root;
  const auto part = described_part(config, place, "audio_config", root);
  if (!part) return part.error();
  const Json& a = *part;
  const std::string type = text_of(a, "model_type");
  if (!type.starts_with("qwen2") && !type.starts_with("whisper"))
    return Error{place, "audio_config", "no rule is known for the tokens of '" + type.substr(0, 40) + "'",
                 "known: qwen2_audio_encoder, qwen2_5_omni_audio_encoder; or its tokens as part of the input"};
  TowerSizes s;
  s.hidden = tower_field(a, {"d_model"}, 0), s.layers = tower_field(a, {"encoder_layers"}, 0);
  s.heads = tower_field(a, {"encoder_attention_heads"}, 0), s.inter = tower_field(a, {"encoder_ffn_dim"}, 0);
  s.patch = 1;
  auto encoder = vit_of(s, static_cast<Count>(kWindow * kPositions), place);
  if (!encoder) return std::move(encoder).error();
  return MediaTower{*std::move(encoder), static_cast<Count>(std::ceil(seconds / kWindow)),
                    std::max<Count>(1, std::llround(seconds * kPositions / kJoined))};
}

Result<std::string> config_text(const std::string& path) {
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  if (!directory && !path.ends_with(".json")) {
    auto bundled = bundled_config(path);
    if (bundled && bundled->find("\"vision_config\"") != std::string::npos) return *std::move(bundled);
    return field_error("model", path + " is known here without a tower for images or sound, if it has one",
                       "the path of its own config.json, where that describes one");
  }
  constexpr std::size_t kMostConfig = std::size_t{1} << 26;
  return read_text_file(directory ? (std::filesystem::path(path) / "config.json").string() : path, kMostConfig);
}

}  // namespace tilecast
