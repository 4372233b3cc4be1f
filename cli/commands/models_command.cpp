// `tilecast models`: what the bundled library holds or one model is, and which classes are understood besides.
#include "cli/commands/predict_command.h"
#include "answers/documents.h"
#include "cli/views/models_view.h"

namespace tilecast {

Result<std::string> run_models(const ModelsOptions& options) {
  if (!options.query.model.empty()) {
    if (options.classes) return field_error("classes", "has no effect with a model", "leave one of them out");
    const auto model = describe_model(options.query);
    if (!model) return model.error();
    return options.json ? model_json(*model) : model_text(*model);
  }
  if (!options.query.dims.empty() || options.query.allow_unknown)
    return field_error("model", "is missing: dim and allow-unknown are about one ONNX file", "name the file");
  if (options.classes) return options.json ? model_classes_json(model_classes()) : model_classes_text(model_classes());
  return options.json ? models_json(known_models()) : models_table(known_models());
}

}  // namespace tilecast
