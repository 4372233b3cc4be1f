// The table of all questions: how each is named, what it takes and who answers it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/answering.h"
#include "tilecast/arguments.h"

namespace tilecast {

struct QuestionEntry {
  std::string_view name;
  const Question& about;
  AnswerDocument (*ask)(GivenArguments& given);
  std::vector<Argument> (*arguments)();
  bool sweeps = false;  // may be asked over ranges; others read long recordings or write files
  std::vector<std::string> several = {};
};

const std::vector<QuestionEntry>& all_questions();
Result<const QuestionEntry*> question_named(std::string_view name);

}  // namespace tilecast
