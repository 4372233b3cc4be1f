// What training produces and forecasting reads: the learned models of all families, and what they were trained on.
//
// The file is a packed one (estimate/packed.h): counted strings, maps and forests in the order of the structs. A file
// made for other features is refused.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/learned.h"
#include "support/result.h"

namespace tilecast {

struct Weights {
  std::vector<FamilyModel> models;       // by key, sorted
  std::map<std::string, Count> sources;  // source of rows -> how many

  const FamilyModel* find(std::string_view key) const;
  // The model that forecasts a kernel: its own format's, or that of a format which runs alike.
  const FamilyModel* find(const Kernel& kernel) const;
};

std::string to_bytes(const Weights& weights);
// `place` names the file in errors.
Result<Weights> weights_from_bytes(std::string_view bytes, const std::string& place);

Status save_weights(const Weights& weights, const std::string& path);
Result<Weights> load_weights(const std::string& path);

}  // namespace tilecast
