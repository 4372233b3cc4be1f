// Questions about what is known: cards, models, clusters.
#include "answers/answering.h"
#include "answers/documents.h"

namespace tilecast {

AnswerDocument ask_gpus(GivenArguments& given) {
  if (auto fine = given.check_all_taken(); !fine) return fine.error();
  return gpus_json(known_gpus());
}

AnswerDocument ask_gpu(GivenArguments& given) {
  GpuQuery query;
  const auto constants = given.take_yes_no("constants");
  if (!constants) return constants.error();
  // Named as in every other question, so that a description may stand there.
  const auto gpu = given.take_text("gpu");
  if (!gpu) return gpu.error();
  if (!gpu->empty()) query.name = *gpu;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  if (*constants) {
    const auto card = gpu_constants(query);
    return card ? AnswerDocument(constants_json(*card)) : AnswerDocument(card.error());
  }
  const auto card = describe_gpu(query);
  return card ? AnswerDocument(gpu_json(*card)) : AnswerDocument(card.error());
}

AnswerDocument ask_models(GivenArguments& given) {
  ModelQuery query;
  const auto classes = given.take_yes_no("classes");
  if (!classes) return classes.error();
  if (auto fine = read_query(given, query); !fine) return fine.error();
  if (*classes) return model_classes_json(model_classes());
  if (query.model.empty()) return models_json(known_models());
  const auto model = describe_model(query);
  return model ? AnswerDocument(model_json(*model)) : AnswerDocument(model.error());
}

AnswerDocument ask_clusters(GivenArguments& given) {
  if (auto fine = given.check_all_taken(); !fine) return fine.error();
  return clusters_json(known_clusters());
}

}  // namespace tilecast
