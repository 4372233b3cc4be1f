// What `--method` and `--weights` ask for, where whole models are forecast.
#pragma once

#include <optional>
#include <string>

#include "estimate/price.h"
#include "estimate/weights.h"
#include "support/result.h"

namespace tilecast {

struct ChosenMethod {
  Method method = Method::tilecast;
  std::optional<Weights> own;  // read from a file, in place of the shipped ones
  // What was learned; null for methods without.
  const ModelSource* weights() const;
};
// `weights_file` may be empty.
Result<ChosenMethod> chosen_method(const std::string& method, const std::string& weights_file);

}  // namespace tilecast
