// What every program of Tilecast does around its commands: reads the command line, runs the command chosen, prints its
// text or one line that says what is wrong. The only place that writes results to the terminal.
#pragma once

#include <functional>
#include <string>

#include "tilecast/result.h"

namespace CLI {
class App;
}

namespace tilecast {

// What a command prints.
using Command = std::function<Result<std::string>()>;

// Parses the command line, which sets `chosen`, and runs it: the program's exit status.
int run_program(CLI::App& app, const Command& chosen, int argc, char** argv);

}  // namespace tilecast
