// What a query's `method` and `weights` ask for.
#pragma once

#include <optional>
#include <string>

#include "estimate/weights.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"

namespace tilecast {

struct ChosenMethod {
  Method method = Method::tilecast;
  std::optional<Weights> own;  // read from a file, in place of the shipped ones
  // What was learned; null for methods without.
  const ModelSource* weights() const;
};
// `weights_file` may be empty. Whole models are not forecast by the papers' methods.
Result<ChosenMethod> chosen_method(Method method, const std::string& weights_file);

}  // namespace tilecast
