#include "targets.h"
#include "tune/measure.h"

namespace tilecast {

std::string fuzz_measured_configs(std::string_view input) {
  const std::vector<TritonConfig> asked = {{16, 64, 128, 1, 4, 4}, {32, 64, 128, 1, 4, 3}};
  const MeasuredConfigs found = read_measured(input, asked);
  if (found.size() != asked.size()) return "a configuration nobody asked for";
  for (const auto& [config, one] : found) {
    if (one.time && !(in_seconds(*one.time) > 0 && in_seconds(*one.time) < 1e4)) return "a time that cannot be";
    if (one.time.has_value() != one.problem.empty()) return "neither a time nor a problem, or both";
  }
  return "";
}

}  // namespace tilecast
