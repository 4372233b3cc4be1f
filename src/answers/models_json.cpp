// Models for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json object_of(const ModelInfo& m) {
  return Json{{"name", m.name},
              {"architecture", m.architecture},
              {"parameters", m.parameters},
              {"active_parameters", m.active_parameters},
              {"layers", m.layers},
              {"cache_elements_per_token", m.cache_elements_per_token},
              {"cache_bytes_per_token", in_bytes(m.cache_per_token)},
              {"dtype", m.dtype},
              {"aliases", m.aliases},
              {"source", m.source}};
}

Json object_of(const ModelLayers& l) {
  return Json{{"stack", l.stack},
              {"layers", l.layers},
              {"mixer", l.mixer},
              {"heads", l.heads},
              {"kv_heads", l.kv_heads},
              {"head_dim", l.head_dim},
              {"window", l.window},
              {"feed_forward", l.feed_forward},
              {"width", l.width},
              {"experts", l.experts},
              {"experts_per_token", l.experts_per_token},
              {"shared_width", l.shared_width}};
}

}  // namespace

std::string models_json(const std::vector<ModelInfo>& models) {
  Json list = Json::array();
  for (const ModelInfo& m : models) list.push_back(object_of(m));
  return json_text(list);
}

std::string model_json(const ModelInfo& m) {
  Json object = object_of(m);
  object["formats"] = m.formats, object["context"] = m.context;
  object["hidden"] = m.hidden, object["vocabulary"] = m.vocabulary;
  object["generates"] = m.generates, object["left_out"] = m.left_out;
  object["layer_kinds"] = Json::array();
  for (const ModelLayers& kind : m.kinds) object["layer_kinds"].push_back(object_of(kind));
  return json_text(object);
}

std::string model_classes_json(const std::vector<std::string>& stems) {
  Json json = Json::object();
  json["classes"] = stems;
  return json_text(json);
}

}  // namespace tilecast
