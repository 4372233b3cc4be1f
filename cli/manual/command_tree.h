// The program's commands as data: what completion and manual pages are made from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/question_forms.h"

namespace tilecast {

struct CommandOption {
  std::vector<std::string> names;  // "--gpu", "-o"; of a positional one "MODEL"
  std::string value;               // what stands behind it: "COUNT"; empty: nothing
  std::string help;
  std::string group;
  std::vector<std::string> choices = {};
  Naming naming = Naming::nothing;
  bool list = false;        // several values with commas between
  bool positional = false;  // stands without its name
  bool required = false;
};

struct CommandNode {
  std::string name;  // "serve"
  std::string path;  // "plan serve"; of the program itself empty
  std::string summary;
  std::string footer;  // examples
  std::vector<CommandOption> options;
  std::vector<CommandNode> commands;
};

// The names that may stand for an option's value: of GPUs, clusters or models, or its choices.
std::vector<std::string> known_values(const CommandOption& option);
// Whether its value is the path of a file.
bool takes_file(const CommandOption& option);

}  // namespace tilecast
