#include "cli/terminal/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "support/text.h"

namespace tilecast {
namespace {

// Arguments, last first as CLI11 wants them, with flags spelled as we spell them: --q_len is --q-len.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (std::string& word : arguments)
    if (word.starts_with("--")) std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// What is wrong with the command line, in one line. CLI11 says of an unknown command only that one is required.
std::string problem_of(const CLI::App& app, const CLI::ParseError& stop) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  const std::vector<std::string> strays = deepest->remaining();
  if (!strays.empty() && deepest->get_require_subcommand_min() > 0) {
    std::vector<std::string> known;
    for (const CLI::App* sub : deepest->get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
    return error("unknown command '" + strays.front() + "'",
                 suggestion(strays.front(), known, "one of " + join(known, ", ")))
        .line();
  }
  std::string text = stop.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + " (add --help to see what a command takes)";
}

}  // namespace

int run_program(CLI::App& app, const Command& chosen, int argc, char** argv) {
  const std::string name = app.get_name();
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return app.exit(stop);  // --help, --version
    std::fprintf(stderr, "%s: %s\n", name.c_str(), problem_of(app, stop).c_str());
    return 2;
  }
  const Result<std::string> output = chosen();
  if (!output) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), output.error().line().c_str());
    return 2;
  }
  std::fputs(output->c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace tilecast
