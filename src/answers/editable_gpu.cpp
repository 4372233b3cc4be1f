#include <nlohmann/json.hpp>

#include "answers/documents.h"
#include "api/declare.h"
#include "support/json.h"
#include "tilecast/gpu.h"

namespace tilecast {

// Published peaks check the other figures, so that a changed one would contradict them.
Result<std::string> editable_gpu_json(const std::string& name) {
  const auto text = gpu_description({.name = name});
  if (!text) return in_field(text.error(), "gpu");
  auto card = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (card.is_object()) card.erase("published_peak_tflops");
  return json_text(card);
}

}  // namespace tilecast
