#include "model/config.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_model_config(std::string_view input) {
  const auto spec = spec_from_json(input, "fuzz.json");
  if (!spec) {
    const std::string line = spec.error().line();
    if (line.empty()) return "an error without a text";
    return line.find('\n') == std::string::npos ? "" : "an error of several lines";
  }
  const Count all = parameters(*spec), active = active_parameters(*spec);
  if (all < 0 || active < 0) return "the parameters overflow";
  if (active > all) return "more parameters are active than there are";
  for (const CachePart& part : cache_need(*spec).parts)
    if (part.per_token < 0 || part.window < 0) return "the cache overflows";
  return "";
}

}  // namespace tilecast
