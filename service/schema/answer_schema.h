// JSON Schemas of answers. They are drawn from real answers and from docs/json.md (tools/answer_schemas), and a test
// holds every answer to them.
#pragma once

#include <span>

#include "answers/question_forms.h"
#include "support/embedded.h"
#include "support/json_value.h"

namespace tilecast {

// Generated from service/schema/answers.json.
std::span<const EmbeddedFile> embedded_answer_files();

// Of a question's answer.
Json answer_schema(const QuestionForm& form);

}  // namespace tilecast
