// What a query's `model` means, and what is known of it.
#pragma once

#include <string>
#include <vector>

#include "engine/run.h"
#include "tilecast/model.h"

namespace tilecast {

Result<Model> model_of(const ModelQuery& query);

// The format that a checkpoint's weights are in.
std::string checkpoint_dtype(const Model& model);

// Whether it makes text token by token.
bool generates(const Model& model);

// A whole number between 0 and 2^30, for parts of texts; errors name the field.
Result<Count> part_count(std::string_view text, const std::string& field);

}  // namespace tilecast
