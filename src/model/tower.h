// What a model makes of an image or audio in a prompt: the tokens it becomes, by the model's own rule, and the tower
// that encodes it, as a separate model. Read from the parts of a config.json that a text forecast leaves out
// (vision_config, audio_config).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "model/spec.h"
#include "tilecast/result.h"

namespace tilecast {

struct MediaTower {
  ModelSpec encoder;  // one pass of it: an image, a tile of one, or a window of sound
  Count passes = 1;   // of one image or clip
  Count tokens = 0;   // in the prompt, of one image or clip
};

// For an image of this size in pixels. `config`: the whole config.json.
Result<MediaTower> image_tower(const std::string& config, const std::string& place, Count width, Count height);
// For the largest image the model accepts; empty if the file describes no tower, or one of an unknown kind.
std::optional<TowerSpec> largest_tower(const nlohmann::json& config, const std::string& place);
// For this many seconds of audio.
Result<MediaTower> audio_tower(const std::string& config, const std::string& place, double seconds);

// The text of the config.json that a MODEL argument means: a path's, or a bundled model's own, most of which describe
// the text part alone.
Result<std::string> config_text(const std::string& name_or_path);

}  // namespace tilecast
