// Views of models; each takes values and returns text.
#pragma once

#include <string>
#include <vector>

#include "tilecast/model.h"

namespace tilecast {

std::string models_table(const std::vector<ModelInfo>& models);
std::string model_text(const ModelInfo& model);
std::string model_classes_text(const std::vector<std::string>& stems);

}  // namespace tilecast
