// The questions as data: what schemas, forms, completion and any other face beside flags are made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilecast/arguments.h"

namespace tilecast {

struct QuestionForm {
  std::string name;     // as `ask` takes it: "plan serve", "gpu"
  std::string command;  // as the program does: "plan serve", "gpu show"
  std::string summary;
  std::vector<std::string> examples;  // command lines behind `tilecast `
  // As JSON takes them. Of `kernel` without the family and its dimensions (tilecast/kernel.h lists them).
  std::vector<Argument> arguments;
  std::vector<std::string> several;  // of them those that take a list: the question is asked once for each value
  bool sweeps = false;               // any number may be a list or a range (answers/sweep.h)

  bool takes_several(std::string_view argument) const;
};

const std::vector<QuestionForm>& question_forms();
// Null where there is none.
const QuestionForm* question_form(std::string_view name);

// What the text of an argument stands for, where more than its reader wants to know: completion offers names, a service
// takes files by value, and lets nobody write files or start commands.
enum class Naming {
  nothing,
  gpu,      // a name, or a description
  gpus,     // names, each with a number before it where it says how many: 16xB200
  cluster,  // a name, or a description
  model,    // a name, a description, or a file
  input,    // a file that is read
  output,   // a file that is written
};
Naming naming_of(std::string_view question, std::string_view argument);

}  // namespace tilecast
