// Answers side by side: one for each way to run a model that was asked for, those that cannot run among them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tilecast/memory.h"
#include "tilecast/step.h"

namespace tilecast {

template <class Answer>
struct Row {
  StepSetting setting;
  Result<Answer> answer;  // or why it cannot run
};
using StepRows = std::vector<Row<StepForecast>>;
using MemoryRows = std::vector<Row<MemoryForecast>>;

// Asked of each: every engine, with every number format, on every GPU or, where there are any, every cluster.
struct StepLists {
  std::vector<std::string> gpus, dtypes, engines, clusters;
};
Result<std::vector<StepQuery>> step_queries(const StepQuery& query, const StepLists& lists);

// What cannot run is said to be so beside the others; an error only where none can, or where a question is wrong.
Result<StepRows> step_rows(const std::vector<StepQuery>& queries);
Result<MemoryRows> memory_rows(const std::vector<StepQuery>& queries);

// There is one: where none can run, that is the whole answer.
template <class Answer>
const Answer& first_that_runs(const std::vector<Row<Answer>>& rows) {
  return *std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.answer.ok(); })->answer;
}

}  // namespace tilecast
