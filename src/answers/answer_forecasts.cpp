// Questions that forecast: kernels, steps, memory, collectives, served requests.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "answers/answer_files.h"
#include "answers/answering.h"
#include "answers/ask_each.h"
#include "answers/documents.h"
#include "answers/drawings.h"

namespace tilecast {
namespace {

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
  if (auto fine = read_query(given, query); !fine) return fine.error();
  return step_queries(query, lists);
}

// A recorded program: of a step's arguments, those alone that a program has.
AnswerDocument ask_program(const std::vector<StepQuery>& asked) {
  std::vector<ProgramQuery> queries;
  for (const StepQuery& step : asked) {
    if (step.gpu.empty() && step.cluster.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
    if (auto fine = check_program_arguments(step); !fine) return fine.error();
    queries.push_back({step.model, step.gpu, step.engine, step.method, step.weights, step.cluster});
  }
  const std::vector<Result<ProgramStep>> steps = forecast(std::span<const ProgramQuery>(queries));
  const bool any = std::any_of(steps.begin(), steps.end(), [](const auto& step) { return bool(step); });
  if (!any && !steps.empty()) return steps.front().error();
  return program_json(steps, queries);
}

// A trace for each step that was forecast.
std::vector<std::vector<AnswerFile>> step_traces(const StepRows& rows) {
  std::vector<std::vector<AnswerFile>> files;
  for (const Row<StepForecast>& row : rows) {
    files.emplace_back();
    if (!row.answer) continue;
    if (auto trace = chrome_trace({&*row.answer, 1}))
      files.back().push_back({"trace.json", "application/json", *std::move(trace)});
  }
  return files;
}

// Every rank's part of the one step that was asked for, and what ASTRA-sim needs beside them.
Result<std::vector<AnswerFile>> chakra_files(const StepRows& rows) {
  if (rows.size() != 1)
    return field_error("files", "has traces of one step", "give one cluster, one engine and one dtype");
  if (!rows.front().answer) return rows.front().answer.error();
  const auto traces = chakra_traces(*rows.front().answer);
  if (!traces) return traces.error();
  constexpr std::string_view kPrefix = "step";
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::vector<AnswerFile> files;
  for (ChakraTraces::File& file : traces->beside(std::string(kPrefix)))
    files.push_back({std::move(file.name), "text/plain", std::move(file.text)});
  files.push_back({fmt::format("{}.json", kPrefix), "application/json", traces->groups});
  std::size_t bytes = 0;
  for (int rank = 0; rank < traces->ranks; ++rank) {
    files.push_back({fmt::format("{}.{}.et", kPrefix, rank), "application/octet-stream", traces->trace(rank), true});
    bytes += files.back().text.size();
    if (bytes > kMost)
      return field_error("files", "has traces of more than 64 MiB",
                         "fewer GPUs, or tilecast predict --export-chakra where the files belong");
  }
  return files;
}

}  // namespace

Result<KernelQuery> read_kernel(GivenArguments& given) {
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

AnswerDocument ask_kernel(GivenArguments& given) {
  const auto gpus = given.take_list("gpu");
  if (!gpus) return gpus.error();
  if (gpus->empty()) return field_error("gpu", "is missing", "for example H100-SXM");
  const auto dtypes = given.take_list("dtype");
  if (!dtypes) return dtypes.error();
  const auto query = read_kernel(given);
  if (!query) return query.error();
  std::vector<KernelQuery> queries = {*query};
  if (auto asked = ask_each(queries, "gpu", *gpus); !asked) return asked.error();
  if (auto asked = ask_each(queries, "dtype", *dtypes); !asked) return asked.error();
  std::vector<KernelForecast> forecasts;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    forecasts.push_back(*std::move(answer));
  }
  return forecast_json(forecasts);
}

AnswerDocument ask_predict(GivenArguments& given) {
  const auto queries = steps_asked(given, {});
  if (!queries) return queries.error();
  const bool traces = given.files_wish() == FilesWish::chakra;
  if (!queries->empty() && is_program(queries->front().model)) {
    if (traces) return field_error("files", "has no traces of recorded programs", "leave it out");
    return ask_program(*queries);
  }
  const auto rows = step_rows(*queries);
  if (!rows) return rows.error();
  const std::string document = queries->front().over_many() ? parallel_json(*rows) : predict_json(*rows);
  if (!traces) return given.wants_files() ? with_files_each(document, step_traces(*rows)) : document;
  auto files = chakra_files(*rows);
  if (!files) return std::move(files).error();
  return with_files_each(document, {*std::move(files)});
}

AnswerDocument ask_memory(GivenArguments& given) {
  const auto queries = steps_asked(given, {});
  if (!queries) return queries.error();
  return memory_document(*queries);
}

AnswerDocument ask_collective(GivenArguments& given) {
  std::vector<CollectiveQuery> queries(1);
  std::vector<std::pair<const char*, std::vector<std::string>>> lists = {
      {"cluster", {}}, {"bytes", {}}, {"tokens", {}}};
  for (auto& [name, values] : lists) {
    auto list = given.take_list(name);
    if (!list) return std::move(list).error();
    values = *std::move(list);
  }
  if (auto fine = read_query(given, queries.front()); !fine) return fine.error();
  for (const auto& [name, values] : lists)
    if (auto asked = ask_each(queries, name, values); !asked) return asked.error();
  std::vector<CollectiveAnswer> answers;
  for (auto& answer : forecast(queries)) {
    if (!answer) return std::move(answer).error();
    answers.push_back(*std::move(answer));
  }
  return collective_json(answers);
}

AnswerDocument ask_simulate(GivenArguments& given) {
  SimulateQuery query;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  const auto run = simulate(query, given.progress());
  if (!run) return run.error();
  const bool drawn = given.drawings() && run->loads.size() == 1;
  return drawn ? with_files(simulate_json(*run), given.drawings()->simulation(*run)) : simulate_json(*run);
}

}  // namespace tilecast
