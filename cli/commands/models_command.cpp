// `tilecast models`: what the bundled library holds, and which classes are understood besides.
#include "cli/commands/predict_command.h"
#include "cli/views/models_view.h"

namespace tilecast {

Result<std::string> run_models(const ModelsOptions& options) {
  if (options.classes)
    return options.json ? model_classes_json(model_classes()) : model_classes_text(model_classes());
  return options.json ? models_json(known_models()) : models_table(known_models());
}

}  // namespace tilecast
