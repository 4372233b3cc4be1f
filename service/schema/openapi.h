// The HTTP service as an OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.1): every path with what it takes, made from
// the declared arguments of the questions, and what it answers.
#pragma once

#include <string>

#include "answers/question_forms.h"

namespace tilecast {

std::string openapi_json();

// Where a question is asked: "plan serve" at "/v1/plan/serve".
std::string question_path(const QuestionForm& form);

}  // namespace tilecast
