#include "answers/ask.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "answers/answer_files.h"
#include "answers/ask_each.h"
#include "answers/documents.h"
#include "answers/given.h"
#include "answers/question_forms.h"
#include "answers/sweep.h"
#include "support/file.h"
#include "support/json.h"
#include "support/json_value.h"
#include "support/text.h"
#include "support/workers.h"

namespace tilecast {
namespace {

using Answer = Result<std::string>;

// A question with one query and one answer.
template <class Query>
Status read(GivenArguments& given, Query& query) {
  if (auto filled = given.fill(arguments_of(query)); !filled) return filled;
  return given.check_all_taken();
}

Result<KernelQuery> kernel_from(GivenArguments& given) {
  KernelQuery query;
  auto family = given.take_text("family");
  if (!family) return std::move(family).error();
  query.family = *std::move(family);
  if (auto filled = given.fill(arguments_of(query)); !filled) return filled.error();
  auto dims = given.take_rest();
  if (!dims) return std::move(dims).error();
  query.dims = *std::move(dims);
  return query;
}

Answer ask_kernel(GivenArguments& given) {
  const auto gpus = given.take_list("gpu");
  if (!gpus) return gpus.error();
  if (gpus->empty()) return field_error("gpu", "is missing", "for example H100-SXM");
  const auto query = kernel_from(given);
  if (!query) return query.error();
  std::vector<KernelQuery> queries = {*query};
  if (auto asked = ask_each(queries, "gpu", *gpus); !asked) return asked.error();
  std::vector<KernelForecast> forecasts;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    forecasts.push_back(*std::move(answer));
  }
  return forecast_json(forecasts);
}

Result<std::vector<StepQuery>> steps_asked(GivenArguments& given, StepQuery query) {
  StepLists lists;
  for (const auto& [name, values] : {std::pair("gpu", &lists.gpus),
                                     {"dtype", &lists.dtypes},
                                     {"engine", &lists.engines},
                                     {"cluster", &lists.clusters}}) {
    auto list = given.take_list(name);
    if (!list) return std::move(list).error();
    *values = *std::move(list);
  }
  if (auto fine = read(given, query); !fine) return fine.error();
  return step_queries(query, lists);
}

// A recorded program: of a step's arguments, those alone that a program has.
Answer ask_program(const std::vector<StepQuery>& asked) {
  std::vector<ProgramQuery> queries;
  for (const StepQuery& step : asked) {
    if (step.gpu.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
    if (auto fine = check_program_arguments(step); !fine) return fine.error();
    queries.push_back({step.model, step.gpu, step.engine.value_or(EngineKind::pytorch), step.method, step.weights});
  }
  const std::vector<Result<ProgramStep>> steps = forecast(std::span<const ProgramQuery>(queries));
  const bool any = std::any_of(steps.begin(), steps.end(), [](const auto& step) { return bool(step); });
  if (!any && !steps.empty()) return steps.front().error();
  return program_json(steps, queries);
}

Answer ask_predict(GivenArguments& given) {
  const auto queries = steps_asked(given, {});
  if (!queries) return queries.error();
  if (!queries->empty() && is_program(queries->front().model)) return ask_program(*queries);
  const auto rows = step_rows(*queries);
  if (!rows) return rows.error();
  return queries->front().over_many() ? parallel_json(*rows) : predict_json(*rows);
}

Answer ask_memory(GivenArguments& given) {
  const auto queries = steps_asked(given, {});
  if (!queries) return queries.error();
  std::vector<StepQuery> quick;
  for (const StepQuery& query : *queries) quick.push_back(quickly(query));
  return memory_document(quick);
}

Answer ask_gpus(GivenArguments& given) {
  if (auto fine = given.check_all_taken(); !fine) return fine.error();
  return gpus_json(known_gpus());
}

Answer ask_gpu(GivenArguments& given) {
  GpuQuery query;
  const auto constants = given.take_yes_no("constants");
  if (!constants) return constants.error();
  // Named as in every other question, so that a description may stand there.
  const auto gpu = given.take_text("gpu");
  if (!gpu) return gpu.error();
  if (!gpu->empty()) query.name = *gpu;
  if (auto fine = read(given, query); !fine) return fine.error();
  if (*constants) {
    const auto card = gpu_constants(query);
    return card ? Answer(constants_json(*card)) : Answer(card.error());
  }
  const auto card = describe_gpu(query);
  return card ? Answer(gpu_json(*card)) : Answer(card.error());
}

Answer ask_models(GivenArguments& given) {
  ModelQuery query;
  const auto classes = given.take_yes_no("classes");
  if (!classes) return classes.error();
  if (auto fine = read(given, query); !fine) return fine.error();
  if (*classes) return model_classes_json(model_classes());
  if (query.model.empty()) return models_json(known_models());
  const auto model = describe_model(query);
  return model ? Answer(model_json(*model)) : Answer(model.error());
}

Answer ask_clusters(GivenArguments& given) {
  if (auto fine = given.check_all_taken(); !fine) return fine.error();
  return clusters_json(known_clusters());
}

Answer ask_collective(GivenArguments& given) {
  std::vector<CollectiveQuery> queries(1);
  std::vector<std::pair<const char*, std::vector<std::string>>> lists = {{"cluster", {}}, {"bytes", {}}, {"tokens", {}}};
  for (auto& [name, values] : lists) {
    auto list = given.take_list(name);
    if (!list) return std::move(list).error();
    values = *std::move(list);
  }
  if (auto fine = read(given, queries.front()); !fine) return fine.error();
  for (const auto& [name, values] : lists)
    if (auto asked = ask_each(queries, name, values); !asked) return asked.error();
  std::vector<CollectiveAnswer> answers;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    answers.push_back(*std::move(answer));
  }
  return collective_json(answers);
}

Answer ask_simulate(GivenArguments& given) {
  SimulateQuery query;
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto run = simulate(query, given.progress());
  return run ? Answer(simulate_json(*run)) : Answer(run.error());
}

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

// Where nothing meets, the document has no "best", and says what comes nearest.
Answer ask_plan_serve(GivenArguments& given) {
  PlanServeQuery query;
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto plan = plan_serve(query, given.progress());
  if (!plan) return plan.error();
  std::string document = plan_serve_json(query, *plan);
  return given.wants_files() ? with_files(std::move(document), launch_files_of(*plan)) : document;
}

Answer ask_plan_train(GivenArguments& given) {
  PlanTrainQuery query;
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto plan = plan_train(query, given.progress());
  if (!plan) return plan.error();
  if (plan->ranked.empty())
    return field_error("gpus", "none of " + std::to_string(plan->tried) + " layouts fits",
                       "use more GPUs, a smaller global batch or shorter sequences");
  return plan_train_json(*plan);
}

Answer ask_diagnose(GivenArguments& given) {
  DiagnoseQuery query;
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto report = diagnose(query);
  return report ? Answer(diagnose_json(*report)) : Answer(report.error());
}

Answer ask_retime(GivenArguments& given) {
  RetimeQuery query;
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto report = retime(query);
  return report ? Answer(retime_json(*report)) : Answer(report.error());
}

Answer ask_tune_moe(GivenArguments& given) {
  MoeTuneQuery query;
  Measuring measuring;
  if (auto filled = given.fill(arguments_of(measuring)); !filled) return filled.error();
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto tuning = tune(query, measuring);
  if (!tuning) return tuning.error();
  if (!given.wants_files()) return moe_tuning_json(*tuning, {});
  const auto made = engine_files(query, *tuning);
  if (!made) return made.error();
  std::vector<AnswerFile> files;
  for (const EngineFile& file : *made) files.push_back({file.path, "application/json", file.text});
  return with_files(moe_tuning_json(*tuning, {}), files);
}

Answer ask_tune_gemm(GivenArguments& given) {
  GemmTuneQuery query;
  Measuring measuring;
  if (auto filled = given.fill(arguments_of(measuring)); !filled) return filled.error();
  if (auto fine = read(given, query); !fine) return fine.error();
  const auto tuning = tune(query, measuring);
  return tuning ? Answer(gemm_tuning_json(*tuning)) : Answer(tuning.error());
}

Answer ask_calibrate(GivenArguments& given) {
  const auto began = std::chrono::steady_clock::now();
  CalibrateQuery query;
  const auto out = given.take_text("out");
  if (!out) return out.error();
  if (auto fine = read(given, query); !fine) return fine.error();
  if (!out->empty())
    if (auto fine = check_writable(*out); !fine) return fine.error();
  const auto report = calibrate(query);
  if (!report) return report.error();
  if (!out->empty())
    if (auto saved = write_text_file(*out, report->description); !saved) return saved.error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return calibration_json_text(*report, {*out, query.judge, took.count()});
}

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

struct Asked {
  std::string_view name;
  const Question& about;
  Answer (*ask)(GivenArguments& given);
  std::vector<Argument> (*arguments)();
  bool sweeps = false;  // may be asked over ranges; others read long recordings or write files
  std::vector<std::string> several = {};
};
const std::vector<std::string> kStepLists = {"gpu", "dtype", "engine", "cluster"};

const std::vector<Asked>& all_questions() {
  static const std::vector<Asked> all = {
      {"kernel", kernel_question(), &ask_kernel, &arguments_for<KernelQuery>, true, {"gpu"}},
      {"predict", step_question(), &ask_predict, &arguments_for<StepQuery>, true, kStepLists},
      {"memory", memory_question(), &ask_memory, &arguments_for<MemoryQuery>, true, kStepLists},
      {"collective", collective_question(), &ask_collective, &arguments_for<CollectiveQuery>, true,
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

Result<const Asked*> question_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Asked& one : all_questions()) {
    if (name_key(one.name) == name_key(name)) return &one;
    names.emplace_back(one.name);
  }
  return field_error("question", "'" + std::string(name) + "' is no question",
                     suggestion(name, names, "one of " + join(names, ", ")));
}

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// What a query sweeps: a kernel's arguments, and those that are dimensions of its family.
Result<QuerySweep> sweep_of(const Asked& asked, nlohmann::json query) {
  if (!asked.sweeps || !may_sweep(query)) return QuerySweep::none(std::move(query));
  std::vector<Argument> arguments = asked.arguments();
  if (asked.name == "kernel" && query.contains("family") && query["family"].is_string())
    for (const KernelFamily& family : kernel_families())
      if (name_key(family.name) == name_key(query["family"].get<std::string>()))
        arguments.insert(arguments.end(), family.dims.begin(), family.dims.end());
  // Collectives have long been asked over lists of sizes, and answer them in documents of their own.
  std::vector<std::string> lists;
  if (asked.name == "collective") lists = {"bytes", "tokens"};
  return QuerySweep::from(std::move(query), arguments, lists);
}

// Asks one combination of a sweep, with files or without as `given` wants it.
AskOne asker_of(const Asked& asked, const GivenArguments& given) {
  return [&asked, &given](nlohmann::json query) -> Answer {
    if (given.watch().cancel.stop_requested()) return stopped();
    auto one = GivenArguments::from(std::move(query));
    if (!one) return std::move(one).error();
    one->set_watch({.progress = {}, .cancel = given.watch().cancel});
    one->set_files(given.wants_files());
    return asked.ask(*one);
  };
}

// A sweep is watched as a whole: shares of its combinations, one call at a time.
Result<QuerySweep::Answers> ask_all(const QuerySweep& sweep, const AskOne& ask_one, int threads, const AskWatch& watch) {
  std::mutex one_at_a_time;
  double heard = 0;
  auto answers = sweep.ask_all(ask_one, threads, [&](double share) {
    const std::lock_guard lock(one_at_a_time);
    if (watch.progress && share > heard) watch.progress(heard = share);
  });
  if (watch.cancel.stop_requested()) return stopped();
  return answers;
}

Answer answer_of(const Asked& asked, GivenArguments given, int threads) {
  if (!asked.sweeps || !may_sweep(given.members())) return asked.ask(given);
  const auto sweep = sweep_of(asked, given.members());
  if (!sweep) return sweep.error();
  const AskOne ask_one = asker_of(asked, given);
  if (sweep->axes().empty()) return ask_one(sweep->query(0));
  const auto answers = ask_all(*sweep, ask_one, threads, given.watch());
  return answers ? Answer(sweep->document(*answers)) : Answer(answers.error());
}
// A question as it was asked, and what it sweeps.
struct SweptQuestion {
  const Asked& asked;
  GivenArguments given;
  QuerySweep sweep;
};
Result<SweptQuestion> swept_question(std::string_view question, std::string_view query) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto given = GivenArguments::from(query);
  if (!given) return std::move(given).error();
  auto sweep = sweep_of(**found, given->members());
  if (!sweep) return std::move(sweep).error();
  return SweptQuestion{**found, *std::move(given), *std::move(sweep)};
}

std::string outcome_text(const Answer& answer) {
  if (answer) return "{\"answer\": " + *answer + "}";
  const Error& e = answer.error();
  const Json error{{"place", e.place}, {"field", e.field}, {"problem", e.problem}, {"remedy", e.remedy}};
  return Json{{"error", error}}.dump();
}

}  // namespace

Answer ask_given(std::string_view question, GivenArguments given) {
  const auto found = question_named(question);
  // One thread: whoever serves others has threads of its own.
  return found ? answer_of(**found, std::move(given), 1) : Answer(found.error());
}

Answer ask(std::string_view question, std::string_view query) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto given = GivenArguments::from(query);
  return given ? answer_of(**found, *std::move(given), cores()) : Answer(std::move(given).error());
}

Result<AnswerRows> ask_rows(std::string_view question, std::string_view query,
                            const std::function<void(double)>& progress) {
  const auto swept = swept_question(question, query);
  if (!swept) return swept.error();
  const auto answers = swept->sweep.ask_all(asker_of(swept->asked, swept->given), cores(), progress);
  if (!answers) return answers.error();
  return swept->sweep.rows(swept->asked.name, *answers);
}

Result<bool> is_swept(std::string_view question, std::string_view query) {
  const auto swept = swept_question(question, query);
  if (!swept) return swept.error();
  return !swept->sweep.axes().empty();
}

Answer ask_many(std::string_view question, std::string_view queries, int threads) {
  const auto found = question_named(question);
  if (!found) return found.error();
  auto list = parse_json(queries, "queries");
  if (!list) return std::move(list).error();
  if (!list->is_array()) return Error{"queries", "", "must be a JSON list", "a list of queries"};
  std::vector<std::string> answers(list->size());
  Workers workers(
      std::min(threads > 0 ? threads : cores(), static_cast<int>(std::max<std::size_t>(1, answers.size()))));
  workers.each(answers.size(), [&](std::size_t i) {
    auto given = GivenArguments::from(std::move((*list)[i]));
    answers[i] = outcome_text(given ? answer_of(**found, *std::move(given), 1) : Answer(std::move(given).error()));
  });
  return "[" + join(answers, ",\n") + "]\n";
}

const std::vector<QuestionForm>& question_forms() {
  static const std::vector<QuestionForm> all = [] {
    std::vector<QuestionForm> forms;
    for (const Asked& one : all_questions())
      forms.push_back({std::string(one.name), one.about.name, one.about.summary, one.about.examples, one.arguments(),
                       one.several, one.sweeps});
    return forms;
  }();
  return all;
}

const std::vector<std::string>& question_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Asked& one : all_questions()) all.emplace_back(one.name);
    return all;
  }();
  return names;
}

Result<KernelQuery> kernel_query(std::string_view text) {
  auto given = GivenArguments::from(text);
  if (!given) return std::move(given).error();
  return kernel_from(*given);
}

Result<StepQuery> step_query(std::string_view text) {
  auto given = GivenArguments::from(text);
  if (!given) return std::move(given).error();
  StepQuery query;
  if (auto fine = read(*given, query); !fine) return fine.error();
  return query;
}

}  // namespace tilecast
