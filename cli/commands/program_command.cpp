#include "cli/commands/program_command.h"

#include <algorithm>

#include "answers/ask_each.h"
#include "answers/documents.h"
#include "cli/views/program_view.h"

namespace tilecast {
namespace {

// Flags that this answer would leave out.
Status check_flags(const PredictOptions& options) {
  if (auto fine = check_program_arguments(options.query); !fine) return fine;
  for (const auto& [flag, on] : {std::pair("dtype", !options.lists.dtypes.empty()),
                                 {"compare", options.compare},
                                 {"kernels", options.kernels},
                                 {"trace", !options.trace.empty()},
                                 {"export-chakra", !options.chakra.empty()}})
    if (on) return field_error(flag, "has no effect on a recorded program", "leave it out; --json has every operator");
  return Ok{};
}

Result<std::vector<ProgramQuery>> program_queries(const PredictOptions& options) {
  ProgramQuery query;
  query.program = options.query.model, query.gpu = options.query.gpu, query.cluster = options.query.cluster;
  query.engine = options.query.engine;
  query.method = options.query.method, query.weights = options.query.weights;
  std::vector<ProgramQuery> queries = {query};
  for (const auto& [argument, values] : {std::pair("engine", &options.lists.engines),
                                         {"cluster", &options.lists.clusters},
                                         {"gpu", &options.lists.gpus}})
    if (auto asked = ask_each(queries, argument, *values); !asked) return std::move(asked).error();
  for (const ProgramQuery& one : queries)
    if (one.gpu.empty() && one.cluster.empty()) return field_error("gpu", "is missing", "for example H100-SXM");
  return queries;
}

}  // namespace

Result<std::string> run_predict_program(const PredictOptions& options) {
  if (auto fine = check_flags(options); !fine) return std::move(fine).error();
  const auto queries = program_queries(options);
  if (!queries) return queries.error();
  const std::vector<Result<ProgramStep>> steps = forecast(std::span<const ProgramQuery>(*queries));
  const auto ran = std::find_if(steps.begin(), steps.end(), [](const auto& s) { return bool(s); });
  if (ran == steps.end()) return steps.front().error();
  if (options.json) return program_json(steps, *queries);
  return program_table(steps, *queries) + "\n" + program_breakdown(**ran);
}

}  // namespace tilecast
