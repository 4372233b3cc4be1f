#include "api/chosen_method.h"

#include "estimate/estimate.h"
#include "estimate/shipped_weights.h"

namespace tilecast {

const ModelSource* ChosenMethod::weights() const {
  if (method != Method::tilecast) return nullptr;
  return own ? static_cast<const ModelSource*>(&*own) : &shipped_models();
}

Result<ChosenMethod> chosen_method(Method method, const std::string& weights_file) {
  if (needs_weights(method))
    return field_error("method", "forecasts kernels only: '" + std::string(name_of(method)) + "'",
                       "tilecast, analytic or roofline");
  ChosenMethod chosen{method, {}};
  if (weights_file.empty()) return chosen;
  auto loaded = load_weights(weights_file);
  if (!loaded) return std::move(loaded).error();
  chosen.own = *std::move(loaded);
  return chosen;
}

}  // namespace tilecast
