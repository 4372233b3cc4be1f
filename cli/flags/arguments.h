// Flags made from the arguments that a question declares (tilecast/arguments.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/flag_names.h"
#include "cli/terminal/program.h"
#include "tilecast/arguments.h"

namespace tilecast {

// The first value that an argument refused, if any: a command answers with it in place of running.
using Refusal = std::optional<Error>;

// One flag per argument. Those named in `lists` take several values, comma separated, and are left to the caller: the
// command asks once per value. The arguments' query must outlive the parsing.
void add_arguments(CLI::App& command, std::vector<BoundArgument> arguments, Refusal& refusal,
                   const std::vector<std::string>& lists = {});

// A command that answers with the refusal, if there is one.
Command answered(const Refusal& refusal, Command command);

// "Example:\n  tilecast kernel ..." and more of them.
std::string examples_text(const Question& question);
// The first of each: for a command whose subcommands these are.
std::string first_examples(const std::vector<Question>& questions);

}  // namespace tilecast
