// Completion for shells and manual pages, made from the flags themselves.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/program.h"

namespace tilecast {

struct ManualOptions {
  std::string shell;              // of `completion`
  std::vector<std::string> page;  // of `manual`: the words of a command, plan serve; none: the program's
  std::string folder;             // ... where to write all pages instead
};

// `tilecast completion SHELL`, `tilecast manual [COMMAND]`.
void add_manual_commands(CLI::App& app, ManualOptions& options, Command& chosen);

// What the scripts of `completion` ask: `tilecast completion words WORD... @CURRENT`. Not parsed as flags, because the
// words are those of another command line.
bool is_completion_request(int argc, char** argv);
int complete_words(const CLI::App& app, int argc, char** argv);

}  // namespace tilecast
