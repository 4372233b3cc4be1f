#include "cli/chosen_method.h"

#include "estimate/shipped_weights.h"

namespace tilecast {

const ModelSource* ChosenMethod::weights() const {
  if (method != Method::tilecast) return nullptr;
  return own ? static_cast<const ModelSource*>(&*own) : &shipped_models();
}

Result<ChosenMethod> chosen_method(const std::string& name, const std::string& weights_file) {
  const auto method = method_from(name);
  if (!method) return method.error();
  if (needs_weights(*method))
    return Error{"--method", "", "forecasts kernels only: '" + name + "'", "tilecast, analytic or roofline"};
  ChosenMethod chosen{*method, {}};
  if (weights_file.empty()) return chosen;
  auto loaded = load_weights(weights_file);
  if (!loaded) return std::move(loaded).error();
  chosen.own = *std::move(loaded);
  return chosen;
}

}  // namespace tilecast
