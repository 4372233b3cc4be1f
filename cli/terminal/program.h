// What every program of Tilecast does around its commands: reads the command line, runs the command chosen, prints its
// text or one line that says what is wrong. The only place that writes results to the terminal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tilecast/result.h"

namespace CLI {
class App;
}

namespace tilecast {

// What a command prints: a text, or one line that says what is wrong; both where a machine reads the text and what was
// asked for is not to be had, which the exit status then says too.
struct Answer {
  Answer(Result<std::string> text) : text(std::move(text)) {}
  Answer(Error error) : text(std::move(error)) {}
  Answer(std::string text, Error unmet) : text(std::move(text)), unmet(std::move(unmet)) {}
  Result<std::string> text;
  std::optional<Error> unmet;
};
using Command = std::function<Answer()>;

// Parses the command line, which sets `chosen`, and runs it: the program's exit status.
int run_program(CLI::App& app, const Command& chosen, int argc, char** argv);

}  // namespace tilecast
