#include "cli/views/models_view.h"

#include <fmt/format.h>

#include "cli/terminal/units_text.h"
#include "support/json_value.h"
#include "support/table.h"
#include "support/text.h"

namespace tilecast {

std::string models_table(const std::vector<ModelInfo>& models) {
  Table table({{"model", Align::left},
               {"architecture", Align::left},
               {"parameters"},
               {"active"},
               {"layers"},
               {"KV cache a token"},
               {"dtype", Align::left}});
  for (const ModelInfo& m : models)
    table.add({m.name, m.architecture, text_of(ops(static_cast<double>(m.parameters))),
               text_of(ops(static_cast<double>(m.active_parameters))), fmt::format("{}", m.layers),
               m.cache_elements_per_token > 0 ? text_of(m.cache_per_token) : "–", m.dtype});
  return table.text();
}

std::string models_json(const std::vector<ModelInfo>& models) {
  Json list = Json::array();
  for (const ModelInfo& m : models)
    list.push_back(Json{{"name", m.name},
                        {"architecture", m.architecture},
                        {"parameters", m.parameters},
                        {"active_parameters", m.active_parameters},
                        {"layers", m.layers},
                        {"cache_elements_per_token", m.cache_elements_per_token},
                        {"cache_bytes_per_token", in_bytes(m.cache_per_token)},
                        {"dtype", m.dtype},
                        {"aliases", m.aliases},
                        {"source", m.source}});
  return json_text(list);
}

std::string model_classes_text(const std::vector<std::string>& stems) {
  return "Classes whose config.json is understood, by their stems (Llama of LlamaForCausalLM):\n\n" + join(stems, "\n") +
         "\n\nModels with images or sound count where the text_config in their file names one of these.\n";
}

std::string model_classes_json(const std::vector<std::string>& stems) {
  Json json = Json::object();
  json["classes"] = stems;
  return json_text(json);
}

}  // namespace tilecast
