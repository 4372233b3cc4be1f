// Models from Hugging Face's config.json (docs/models.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/spec.h"
#include "tilecast/result.h"

namespace tilecast {

// Parses and checks one configuration; `place` names it in errors.
Result<ModelSpec> spec_from_json(std::string_view text, const std::string& place);

// The same from a file, or from the config.json of a directory.
Result<ModelSpec> load_model_config(const std::string& path);

// Stems of the classes that are understood: "Llama" for LlamaForCausalLM.
std::vector<std::string> supported_architectures();

}  // namespace tilecast
