#include "cli/commands/predict_command.h"

#include <fmt/format.h>

#include "cli/commands/ask_each.h"
#include "cli/commands/program_command.h"
#include "cli/views/predict_view.h"
#include "support/file.h"
#include "support/settings.h"
#include "tilecast/program.h"

namespace tilecast {
namespace {

Result<std::vector<StepQuery>> queries_of(const StepQuery& query, const StepLists& lists) {
  std::vector<StepQuery> queries = {query};
  const std::vector<std::string> dtypes = with_settings(lists.dtypes);
  for (const auto& [argument, values] :
       {std::pair("engine", &lists.engines), {"dtype", &dtypes}, {"cluster", &lists.clusters}, {"gpu", &lists.gpus}})
    if (auto asked = ask_each(queries, argument, *values); !asked) return std::move(asked).error();
  return queries;
}

const StepQuery& step_of(const StepQuery& query) { return query; }
const StepQuery& step_of(const MemoryQuery& query) { return query.step; }

// What cannot run is said to be so beside the others; an error only where none can, or where a question is wrong.
template <class Answer, class Query>
Result<std::vector<Row<Answer>>> rows_of(const std::vector<Query>& queries) {
  std::vector<Row<Answer>> rows;
  std::vector<Result<Answer>> answers = forecast(std::span<const Query>(queries));
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (answers[i]) {
      rows.push_back({answers[i]->setting, std::move(answers[i])});
      continue;
    }
    auto setting = setting_of(step_of(queries[i]));
    if (!setting) return std::move(setting).error();
    rows.push_back({*std::move(setting), std::move(answers[i])});
  }
  for (const Row<Answer>& row : rows)
    if (row.answer) return rows;
  return rows.front().answer.error();
}

std::vector<StepForecast> those_that_run(const StepRows& rows) {
  std::vector<StepForecast> steps;
  for (const Row<StepForecast>& row : rows)
    if (row.answer) steps.push_back(*row.answer);
  return steps;
}

// What was written, in a line.
Result<std::string> export_chakra(const std::string& folder, const std::vector<StepForecast>& steps) {
  if (steps.size() > 1)
    return field_error("export-chakra", "takes one step", "give one cluster, one engine and one dtype");
  const auto traces = chakra_traces(steps.front());
  if (!traces) return traces.error();
  if (auto written = write_chakra(*traces, folder); !written) return std::move(written).error();
  return fmt::format(
      "\nWrote {0}/step.0.et to step.{1}.et and {0}/step.json{2} (docs/chakra.md).\n", folder, traces->ranks - 1,
      traces->merged > 1 ? fmt::format("; a node stands for up to {} layers alike", traces->merged) : "");
}

std::string one_gpu_text(const PredictOptions& options, const StepRows& rows, const std::vector<StepForecast>& steps) {
  std::string out = predict_table(rows) + notes_text(steps.front().notes);
  if (options.compare) return out + "\n" + compare_table(steps);
  if (options.kernels) {
    for (const StepForecast& step : steps) out += fmt::format("\n{}\n\n{}", step.setting.gpu, kernels_table(step));
    return out;
  }
  out += "\n" + breakdown_text(steps.front());
  return out +
         "\n--kernels lists every kernel, --compare sets GPUs, dtypes and engines side by side, --trace FILE is for "
         "Perfetto, --json for programs.\n";
}

std::string many_gpus_text(const StepRows& rows, const StepForecast& first, const std::string& exported) {
  return parallel_table(rows) + notes_text(first.notes) + "\n" + parallel_breakdown(first) +
         (exported.empty()
              ? "\n--trace FILE draws the step, one lane a pipeline rank; --export-chakra DIR writes every "
                "rank's part of it for ASTRA-sim.\n"
              : exported);
}

// Flags that this answer would leave out.
Status check_views(const PredictOptions& o, bool many) {
  for (const auto& [flag, on] : {std::pair("compare", o.compare), {"kernels", o.kernels}})
    if (on && many) return field_error(flag, "has no effect over many GPUs", "leave it out; --json has every kernel");
  if (o.compare && o.kernels) return field_error("compare", "and --kernels exclude each other", "give one of them");
  return Ok{};
}

}  // namespace

Result<std::string> run_predict(const PredictOptions& options) {
  if (is_program(options.query.model)) return run_predict_program(options);
  const RankLayout& layout = options.query.layout;
  if (!options.chakra.empty() && layout.tp == 1 && layout.pp == 1 && layout.dp == 1 && layout.cp == 1)
    return field_error("export-chakra", "a step of one GPU exchanges nothing", "give --tp, --pp, --dp or --cp");
  const auto queries = queries_of(options.query, options.lists);
  if (!queries) return queries.error();
  const bool many = queries->front().over_many();
  if (auto fine = check_views(options, many); !fine) return std::move(fine).error();
  const auto rows = rows_of<StepForecast>(*queries);
  if (!rows) return rows.error();
  const std::vector<StepForecast> steps = those_that_run(*rows);
  if (!options.trace.empty()) {
    const auto trace = chrome_trace(steps);
    if (!trace) return trace.error();
    if (auto written = write_text_file(options.trace, *trace); !written) return std::move(written).error();
  }
  std::string exported;
  if (!options.chakra.empty()) {
    auto line = export_chakra(options.chakra, steps);
    if (!line) return std::move(line).error();
    exported = *std::move(line);
  }
  if (options.json) return many ? parallel_json(*rows) : predict_json(*rows);
  return many ? many_gpus_text(*rows, steps.front(), exported) : one_gpu_text(options, *rows, steps);
}

Result<std::string> run_memory(const MemoryOptions& options) {
  StepQuery quick = options.query.step;
  quick.method = Method::roofline;  // memory does not ask how long
  const auto queries = queries_of(quick, options.lists);
  if (!queries) return queries.error();
  const bool many = queries->front().over_many();
  if (options.json) {
    const auto rows = rows_of<StepForecast>(*queries);
    if (!rows) return rows.error();
    return many ? parallel_json(*rows) : predict_json(*rows);
  }
  std::vector<MemoryQuery> asked;
  for (const StepQuery& query : *queries) asked.push_back({query});
  const auto rows = rows_of<MemoryForecast>(asked);
  if (!rows) return rows.error();
  return (many ? parallel_memory_table(*rows) : memory_table(*rows)) + notes_text(first_that_runs(*rows).notes);
}

}  // namespace tilecast
