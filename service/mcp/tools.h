// The questions that assistants may ask, as tools of the Model Context Protocol.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/question_forms.h"
#include "support/json_value.h"

namespace tilecast {

// "plan_serve": the question "plan serve"; null where no tool is called so.
const QuestionForm* tool_question(std::string_view tool);

// What tools/list lists. `paths`: files may be named by paths.
Json tool_list(bool paths);

}  // namespace tilecast
