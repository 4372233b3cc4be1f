// The models Tilecast knows by name (data/models, embedded in the binary), and resolving a MODEL argument to a spec.
//
// A file is a Hugging Face config.json with what a forecast needs, plus "_source" (where its figures come from),
// "_aliases" (other names for it), "_checkpoints" (names of the same weights in other formats) and, if it differs little
// from another, "_like" (that one's name).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"
#include "tilecast/result.h"

namespace tilecast {

struct ModelEntry {
  std::string name;  // as its file is called: "Llama-3.1-8B"
  std::vector<std::string> aliases;
  std::string source;
  ModelSpec spec;
  std::map<std::string, std::string> checkpoints = {};  // published in another format: "fp8", and its name
};

// Every bundled model, by name. Parsed at each call.
std::vector<ModelEntry> list_models();

// The bundled model that a name means, if any.
std::optional<ModelEntry> find_entry(const std::string& name);

// Its configuration as JSON, merged over the one it is like.
std::optional<std::string> bundled_config(const std::string& name);

// Whether a text means one of them and cannot be anything else, such as an odd path.
bool is_bundled_model(const std::string& name);
// The error for any other name: the nearest names.
Error no_such_model(std::string_view name, const std::string& otherwise);

// What a MODEL argument means: a path (to a config.json, or a directory that contains one), or a bundled model by name,
// alias or Hugging Face id; case, punctuation and suffixes that change no size ("-Instruct") do not matter. A miss
// suggests the nearest names.
Result<ModelSpec> find_model(const std::string& name_or_path);

}  // namespace tilecast
