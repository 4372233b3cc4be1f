// The command lines that questions give as examples, as the objects that JSON asks them with.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "answers/question_forms.h"
#include "support/json_value.h"

namespace tilecast {

// Flags that are about the program's output are left out. Nothing where a file is read: over JSON files go by value.
std::optional<Json> query_of_command(const QuestionForm& form, std::string_view command);

struct QueryExample {
  std::string command;  // behind `tilecast `; of a file by value, as its name
  Json query;
};
// Those of a question that can be asked as they stand; of a question that needs a file, one with a small file in it.
std::vector<QueryExample> query_examples(const QuestionForm& form);

}  // namespace tilecast
