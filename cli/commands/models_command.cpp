// `tilecast models`: what the bundled library holds, and which classes are understood besides.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/predict_command.h"
#include "cli/terminal/units_text.h"
#include "model/config.h"
#include "model/library.h"
#include "support/json.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {

Result<std::string> run_models(bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  Table table({{"model", Align::left},
               {"architecture", Align::left},
               {"parameters"},
               {"active"},
               {"layers"},
               {"KV cache a token"},
               {"dtype", Align::left}});
  for (const ModelEntry& m : list_models()) {
    const Count all = parameters(m.spec), active = active_parameters(m.spec);
    const StackSpec& stack = m.spec.decoder ? *m.spec.decoder : *m.spec.encoder;
    Count cache = 0;
    if (m.spec.decoder && m.spec.lm_head)
      for (const CachePart& part : cache_need(m.spec).parts) cache += part.per_token;
    const std::string& dtype = m.spec.quantization.empty() ? m.spec.dtype : m.spec.quantization;
    const auto precision = precision_from(dtype, "");
    const double element = precision ? precision->activation.activation_bits / 8 : 2;
    table.add({m.name, m.spec.architecture, text_of(ops(static_cast<double>(all))),
               text_of(ops(static_cast<double>(active))), fmt::format("{}", stack.layer_count()),
               cache > 0 ? text_of(bytes(element * static_cast<double>(cache))) : "–", dtype});
    list.push_back({{"name", m.name},
                    {"architecture", m.spec.architecture},
                    {"parameters", all},
                    {"active_parameters", active},
                    {"layers", stack.layer_count()},
                    {"cache_elements_per_token", cache},
                    {"cache_bytes_per_token", element * static_cast<double>(cache)},
                    {"dtype", dtype},
                    {"aliases", m.aliases},
                    {"source", m.source}});
  }
  return json ? json_text(list) : table.text();
}

Result<std::string> run_model_classes(bool json) {
  const std::vector<std::string> stems = supported_architectures();
  if (json) return nlohmann::ordered_json{{"classes", stems}}.dump(2) + "\n";
  return "Classes whose config.json is understood, by their stems (Llama of LlamaForCausalLM):\n\n" + join(stems, "\n") +
         "\n\nModels with images or sound count where the text_config in their file names one of these.\n";
}

}  // namespace tilecast
