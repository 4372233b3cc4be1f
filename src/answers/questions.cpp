#include "answers/questions.h"

#include "answers/ask.h"
#include "answers/documents.h"
#include "answers/question_forms.h"
#include "support/text.h"

namespace tilecast {
namespace {

template <class Query>
std::vector<Argument> arguments_for() {
  Query query;
  std::vector<Argument> all;
  for (const BoundArgument& argument : arguments_of(query)) all.push_back(argument.about);
  return all;
}
std::vector<Argument> no_arguments() { return {}; }

// Questions that take more here than their queries say, or can do without what those need.
std::vector<Argument> gpu_arguments() {
  std::vector<Argument> all = arguments_for<GpuQuery>();
  all.push_back({.name = "constants",
                 .kind = ArgumentKind::yes_no,
                 .help = "the constants of the physics that its forecasts use"});
  return all;
}
std::vector<Argument> calibrate_arguments() {
  std::vector<Argument> all = arguments_for<CalibrateQuery>();
  all.push_back(
      {.name = "out", .help = "the description to write", .example = "mine.json", .touches = Touches::output});
  return all;
}
std::vector<Argument> models_arguments() {
  std::vector<Argument> all = arguments_for<ModelQuery>();
  for (Argument& argument : all) argument.required = false;  // none: all of them
  all.push_back({.name = "classes",
                 .kind = ArgumentKind::yes_no,
                 .help = "the classes whose config.json is understood, instead"});
  return all;
}

const std::vector<std::string> kStepLists = {"gpu", "dtype", "engine", "cluster"};

}  // namespace

const std::vector<QuestionEntry>& all_questions() {
  static const std::vector<QuestionEntry> all = {
      {"kernel", kernel_question(), &ask_kernel, &arguments_for<KernelQuery>, true, {"gpu", "dtype"}},
      {"predict", step_question(), &ask_predict, &arguments_for<StepQuery>, true, kStepLists},
      {"memory", memory_question(), &ask_memory, &arguments_for<MemoryQuery>, true, kStepLists},
      {"collective",
       collective_question(),
       &ask_collective,
       &arguments_for<CollectiveQuery>,
       true,
       {"cluster", "bytes", "tokens"}},
      {"simulate", simulate_question(), &ask_simulate, &arguments_for<SimulateQuery>, true},
      {"plan serve", plan_serve_question(), &ask_plan_serve, &arguments_for<PlanServeQuery>, true},
      {"plan train", plan_train_question(), &ask_plan_train, &arguments_for<PlanTrainQuery>, true},
      {"diagnose", diagnose_question(), &ask_diagnose, &arguments_for<DiagnoseQuery>},
      {"retime", retime_question(), &ask_retime, &arguments_for<RetimeQuery>},
      {"tune fused-moe", tune_moe_question(), &ask_tune_moe, &arguments_for<MoeTuneQuery>},
      {"tune gemm", tune_gemm_question(), &ask_tune_gemm, &arguments_for<GemmTuneQuery>, true},
      {"calibrate", calibrate_question(), &ask_calibrate, &calibrate_arguments},
      {"gpus", gpus_question(), &ask_gpus, &no_arguments},
      {"gpu", gpu_question(), &ask_gpu, &gpu_arguments},
      {"models", models_question(), &ask_models, &models_arguments},
      {"clusters", clusters_question(), &ask_clusters, &no_arguments},
  };
  return all;
}

Result<const QuestionEntry*> question_named(std::string_view name) {
  std::vector<std::string> names;
  for (const QuestionEntry& one : all_questions()) {
    if (name_key(one.name) == name_key(name)) return &one;
    names.emplace_back(one.name);
  }
  return field_error("question", "'" + std::string(name) + "' is not a question",
                     suggestion(name, names, "one of " + join(names, ", ")));
}

const std::vector<QuestionForm>& question_forms() {
  static const std::vector<QuestionForm> all = [] {
    std::vector<QuestionForm> forms;
    for (const QuestionEntry& one : all_questions())
      forms.push_back({std::string(one.name), one.about.name, one.about.summary, one.about.examples, one.arguments(),
                       one.several, one.sweeps});
    return forms;
  }();
  return all;
}

const std::vector<std::string>& question_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const QuestionEntry& one : all_questions()) all.emplace_back(one.name);
    return all;
  }();
  return names;
}

}  // namespace tilecast
