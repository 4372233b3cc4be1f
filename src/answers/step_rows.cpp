#include "answers/step_rows.h"

#include "answers/ask_each.h"
#include "support/settings.h"

namespace tilecast {
namespace {

const StepQuery& step_of(const StepQuery& query) { return query; }
const StepQuery& step_of(const MemoryQuery& query) { return query.step; }

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

}  // namespace

Result<std::vector<StepQuery>> step_queries(const StepQuery& query, const StepLists& lists) {
  std::vector<StepQuery> queries = {query};
  const std::vector<std::string> dtypes = with_settings(lists.dtypes);
  for (const auto& [argument, values] :
       {std::pair("engine", &lists.engines), {"dtype", &dtypes}, {"cluster", &lists.clusters}, {"gpu", &lists.gpus}})
    if (auto asked = ask_each(queries, argument, *values); !asked) return std::move(asked).error();
  return queries;
}

Result<StepRows> step_rows(const std::vector<StepQuery>& queries) { return rows_of<StepForecast>(queries); }

Result<MemoryRows> memory_rows(const std::vector<StepQuery>& queries) {
  std::vector<MemoryQuery> asked;
  for (const StepQuery& query : queries) asked.push_back({query});
  return rows_of<MemoryForecast>(asked);
}

}  // namespace tilecast
