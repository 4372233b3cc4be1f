#include "cli/commands/program_command.h"

#include <algorithm>

#include "cli/commands/ask_each.h"
#include "cli/views/program_view.h"

namespace tilecast {
namespace {

// A recorded program says itself what it computes: of a step's arguments, these alone mean something.
Status check_arguments_of_program(const PredictOptions& options) {
  StepQuery given = options.query, plain;
  const auto asked = arguments_of(given), untouched = arguments_of(plain);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const std::string& name = asked[i].about.name;
    if (name == "model" || name == "gpu" || name == "engine" || name == "method" || name == "weights") continue;
    if (asked[i].get() != untouched[i].get())
      return field_error(name, "has no effect: a recorded program fixes it", "leave it out, or record another program");
  }
  for (const auto& [flag, on] : {std::pair("dtype", !options.lists.dtypes.empty()),
                                 {"cluster", !options.lists.clusters.empty()}, {"compare", options.compare},
                                 {"kernels", options.kernels}, {"trace", !options.trace.empty()},
                                 {"export-chakra", !options.chakra.empty()}})
    if (on) return field_error(flag, "has no effect on a recorded program", "leave it out; --json has every operator");
  return Ok{};
}

Result<std::vector<ProgramQuery>> program_queries(const PredictOptions& options) {
  ProgramQuery query;
  query.program = options.query.model, query.gpu = options.query.gpu;
  query.engine = options.query.engine.value_or(EngineKind::pytorch);
  query.method = options.query.method, query.weights = options.query.weights;
  std::vector<ProgramQuery> queries = {query};
  for (const auto& [argument, values] : {std::pair("engine", &options.lists.engines), {"gpu", &options.lists.gpus}})
    if (auto asked = ask_each(queries, argument, *values); !asked) return std::move(asked).error();
  for (const ProgramQuery& one : queries)
    if (one.gpu.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
  return queries;
}

}  // namespace

Result<std::string> run_predict_program(const PredictOptions& options) {
  if (auto fine = check_arguments_of_program(options); !fine) return std::move(fine).error();
  const auto queries = program_queries(options);
  if (!queries) return queries.error();
  const std::vector<Result<ProgramStep>> steps = forecast(std::span<const ProgramQuery>(*queries));
  const auto ran = std::find_if(steps.begin(), steps.end(), [](const auto& s) { return bool(s); });
  if (ran == steps.end()) return steps.front().error();
  if (options.json) return program_json(steps, *queries);
  return program_table(steps, *queries) + "\n" + program_breakdown(**ran);
}

}  // namespace tilecast
