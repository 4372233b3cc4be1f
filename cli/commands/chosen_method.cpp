#include "cli/commands/chosen_method.h"

#include "estimate/estimate.h"

namespace tilecast {

Result<ChosenMethod> chosen_method(const std::string& name, const std::string& weights_file) {
  const auto method = method_from(name);
  if (!method) return method.error();
  return chosen_method(*method, weights_file);
}

}  // namespace tilecast
