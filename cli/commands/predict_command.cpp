#include "cli/commands/predict_command.h"

#include <fmt/format.h>

#include "answers/documents.h"
#include "cli/commands/program_command.h"
#include "cli/terminal/marked_text.h"
#include "cli/views/predict_view.h"
#include "support/file.h"
#include "support/output_file.h"
#include "tilecast/program.h"

namespace tilecast {
namespace {

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
      "\nWrote {0}/step.0.et to step.{1}.et and {0}/step.json, and {0}/run.sh with what ASTRA-sim needs{2} "
      "(docs/chakra.md).\n",
      folder, traces->ranks - 1,
      traces->merged > 1 ? fmt::format("; a node stands for up to {} layers alike", traces->merged) : "");
}

std::string one_gpu_text(const PredictOptions& options, const StepRows& rows, const std::vector<StepForecast>& steps) {
  std::string out = predict_table(rows) + notes_text(steps);
  if (options.compare) return out + "\n" + compare_table(steps);
  if (options.kernels) {
    for (const StepForecast& step : steps) out += fmt::format("\n{}\n\n{}", step.setting.gpu, kernels_table(step));
    return out;
  }
  out += "\n" + breakdown_text(steps.front());
  return out + "\n" +
         hint_text(
             "--kernels lists every kernel, --compare sets GPUs, dtypes and engines side by side, --trace FILE is "
             "for Perfetto, --csv and --json are for programs.") +
         "\n";
}

std::string many_gpus_text(const PredictOptions& options, const StepRows& rows, const std::vector<StepForecast>& steps,
                           const std::string& exported) {
  std::string out = parallel_table(rows) + notes_text(steps) + "\n";
  if (options.kernels) {
    for (const StepForecast& step : steps)
      out += fmt::format("{}: kernels of a rank, as if it had all layers, of a micro-batch\n\n{}\n",
                         step.setting.cluster, kernels_table(step));
    return out + exported;
  }
  return out + parallel_breakdown(steps.front()) +
         (exported.empty()
              ? "\n" +
                    hint_text(
                        "--kernels lists a rank's kernels, --trace FILE draws the step, one lane a pipeline rank; "
                        "--export-chakra DIR writes every rank's part of it for ASTRA-sim.") +
                    "\n"
              : exported);
}

// Flags that this answer would leave out.
Status check_views(const PredictOptions& o, bool many) {
  if (o.compare && many)
    return field_error("compare", "has no effect over many GPUs",
                       "leave it out: several names of --gpu, --dtype or --engine give a row each");
  if (o.compare && o.kernels) return field_error("compare", "and --kernels exclude each other", "give one of them");
  return Ok{};
}

}  // namespace

Result<std::string> run_predict(const PredictOptions& options) {
  if (is_program(options.query.model)) return run_predict_program(options);
  const RankLayout& layout = options.query.layout;
  if (!options.chakra.empty() && layout.tp == 1 && layout.pp == 1 && layout.dp == 1 && layout.cp == 1)
    return field_error("export-chakra", "a step of one GPU exchanges nothing", "give --tp, --pp, --dp or --cp");
  const auto queries = step_queries(options.query, options.lists);
  if (!queries) return queries.error();
  const bool many = queries->front().over_many();
  if (auto fine = check_views(options, many); !fine) return std::move(fine).error();
  if (!options.trace.empty())
    if (auto fine = check_output(options.trace, {options.query.model}); !fine) return std::move(fine).error();
  const auto rows = step_rows(*queries);
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
  return many ? many_gpus_text(options, *rows, steps, exported) : one_gpu_text(options, *rows, steps);
}

Result<std::string> run_memory(const MemoryOptions& options) {
  const auto queries = step_queries(options.query.step, options.lists);
  if (!queries) return queries.error();
  if (options.json) return memory_document(*queries);
  const auto rows = memory_rows(*queries);
  if (!rows) return rows.error();
  const bool many = queries->front().over_many();
  return (many ? parallel_memory_table(*rows) : memory_table(*rows)) + notes_text(first_that_runs(*rows).notes);
}

}  // namespace tilecast
