// What may stand next on a command line, for shells to offer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/manual/command_tree.h"
#include "tilecast/result.h"

namespace tilecast {

// A word that fits, and what it is; kFiles stands for the names of files.
struct Completion {
  std::string word, meaning;
};
inline constexpr const char* kFiles = ":files";

// `before`: the words behind the program's name; `current`: the beginning of the word that is asked for.
std::vector<Completion> completions(const CommandNode& program, const std::vector<std::string>& before,
                                    const std::string& current);

// One a line, with a tab before what it is.
std::string completions_text(const std::vector<Completion>& found);

// The script that a shell loads: "bash", "zsh" or "fish".
Result<std::string> completion_script(std::string_view shell);

}  // namespace tilecast
