// Declared arguments for programs: what the list of questions says of each.
#pragma once

#include <vector>

#include "answers/question_forms.h"
#include "support/json_value.h"
#include "tilecast/arguments.h"

namespace tilecast {

// What its text stands for, and whether the question is asked once for each of several values.
Json argument_json(const Argument& about, Naming naming = Naming::nothing, bool several = false);
Json arguments_json(const std::vector<Argument>& arguments);

}  // namespace tilecast
