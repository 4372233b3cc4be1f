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

// There is one: where none can run, that is the whole answer.
template <class Answer>
const Answer& first_that_runs(const std::vector<Row<Answer>>& rows) {
  return *std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.answer.ok(); })->answer;
}

// Names, then as many dashes as it takes, then why.
inline std::vector<std::string> refused_cells(std::vector<std::string> names, const Error& why, std::size_t dashes) {
  names.insert(names.end(), dashes, "–");
  names.push_back("cannot run: " + why.problem);
  return names;
}

}  // namespace tilecast
