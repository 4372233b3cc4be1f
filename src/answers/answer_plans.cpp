// Questions that choose: deployments, layouts of a training, configurations of kernels.
#include <string>
#include <utility>
#include <vector>

#include "answers/answer_files.h"
#include "answers/answering.h"
#include "answers/documents.h"
#include "answers/drawings.h"

namespace tilecast {
namespace {

// plan-1 is the best; each has all it takes to start it.
std::vector<AnswerFile> launch_files_of(const ServingPlan& plan) {
  std::vector<AnswerFile> files;
  Count number = 0;
  for (const PlannedServing& one : plan.finalists) {
    if (!one.meets || number == kSavedPlans) continue;
    const std::string folder = "plan-" + std::to_string(++number) + "/";
    for (const LaunchFile& file : one.files) files.push_back({folder + file.name, "text/plain", file.text});
  }
  return files;
}

}  // namespace

// Where nothing meets, the document has no "best", and says what comes nearest.
AnswerDocument ask_plan_serve(GivenArguments& given) {
  PlanServeQuery query;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  query.pictures = query.pictures || given.drawings();
  const auto plan = plan_serve(query, given.progress());
  if (!plan) return plan.error();
  std::string document = plan_serve_json(query, *plan);
  if (!given.wants_files()) return document;
  std::vector<AnswerFile> files = launch_files_of(*plan);
  if (given.drawings() && plan->best)
    for (AnswerFile& file : given.drawings()->serving_plan(query, *plan)) files.push_back(std::move(file));
  return with_files(std::move(document), files);
}

AnswerDocument ask_plan_train(GivenArguments& given) {
  PlanTrainQuery query;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  query.scaling = query.scaling || given.drawings();
  const auto plan = plan_train(query, given.progress());
  if (!plan) return plan.error();
  if (plan->ranked.empty())
    return field_error("gpus", "none of " + std::to_string(plan->tried) + " layouts fits",
                       "use more GPUs, a smaller global batch or shorter sequences");
  return given.drawings() ? with_files(plan_train_json(*plan), given.drawings()->training_plan(*plan))
                          : plan_train_json(*plan);
}

AnswerDocument ask_tune_moe(GivenArguments& given) {
  MoeTuneQuery query;
  Measuring measuring;
  if (auto filled = given.fill(arguments_of(measuring)); !filled) return filled.error();
  const auto files_asked = given.take_yes_no("files");  // in place of the command line's folder to write them to
  if (!files_asked) return files_asked.error();
  if (auto fine = read_query(given, query); !fine) return fine.error();
  const auto tuning = tune(query, measuring, given.progress());
  if (!tuning) return tuning.error();
  if (!given.wants_files() && !*files_asked) return moe_tuning_json(*tuning, {});
  const auto made = engine_files(query, *tuning);
  if (!made) return made.error();
  std::vector<AnswerFile> files;
  for (const EngineFile& file : *made) files.push_back({file.path, "application/json", file.text});
  return with_files(moe_tuning_json(*tuning, {}), files);
}

AnswerDocument ask_tune_gemm(GivenArguments& given) {
  GemmTuneQuery query;
  Measuring measuring;
  if (auto filled = given.fill(arguments_of(measuring)); !filled) return filled.error();
  if (auto fine = read_query(given, query); !fine) return fine.error();
  const auto tuning = tune(query, measuring, given.progress());
  return tuning ? AnswerDocument(gemm_tuning_json(*tuning)) : AnswerDocument(tuning.error());
}

}  // namespace tilecast
