#include "cli/terminal/program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/terminal/border.h"
#include "cli/terminal/colour.h"
#include "cli/terminal/flag_names.h"
#include "cli/terminal/fold.h"
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

constexpr const char* kAskForHelp = "add --help to see what a command takes";

// The flags that may stand behind this command: its own, and those of the commands it falls through to.
std::vector<std::string> flags_of(const CLI::App* command) {
  std::vector<std::string> flags;
  for (; command; command = command->get_fallthrough() ? command->get_parent() : nullptr)
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

// A flag that this command does not have: misspelt, or written before the command.
Error unknown_flag(std::string flag, const CLI::App& app, const CLI::App& command) {
  flag.resize(std::min(flag.find('='), flag.size()));
  const std::vector<std::string> known = flags_of(&command);
  const bool early = std::find(known.begin(), known.end(), flag) != known.end();
  if (early) return error("flag '" + flag + "' stands before its command", "write it behind the command");
  return error(
      "unknown flag '" + flag + "'",
      suggestion(flag, known, &app == &command ? "write flags behind the command they belong to" : kAskForHelp));
}

const CLI::App& deepest_of(const CLI::App& app) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  return *deepest;
}

// A flag that wants a value and is followed by another flag, or by nothing.
std::optional<Error> valueless_flag(const CLI::App* command, const std::vector<std::string>& last_first) {
  const auto option_of = [command](const std::string& word) -> const CLI::Option* {
    for (const CLI::App* at = command; at; at = at->get_fallthrough() ? at->get_parent() : nullptr)
      if (const CLI::Option* option = at->get_option_no_throw(word)) return option;
    return nullptr;
  };
  for (std::size_t i = last_first.size(); i-- > 0;) {
    const std::string& word = last_first[i];
    const CLI::Option* option = word.starts_with('-') ? option_of(word) : nullptr;
    if (!option || option->get_items_expected_min() == 0) continue;
    if (i == 0 || (last_first[i - 1].starts_with('-') && option_of(last_first[i - 1])))
      return Error{word, "", "has no value", "write it behind the flag"};
  }
  return std::nullopt;
}

// CLI11 leaves two blank lines between groups of flags.
std::string single_spaced(std::string text) {
  for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

// What is wrong with the command line, in one line. CLI11 says of an unknown command only that one is required, lists
// words it did not expect last first, and counts values where one is missing or given twice.
Error problem_of(const CLI::App& app, const CLI::ParseError& stop, const std::vector<std::string>& last_first) {
  const CLI::App* deepest = &deepest_of(app);
  if (auto valueless = valueless_flag(deepest, last_first)) return *std::move(valueless);
  const std::vector<std::string> strays = app.remaining(true);
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word.starts_with('-'); };
  const auto flag = std::find_if(strays.begin(), strays.end(), is_flag);
  const bool wants_command = deepest->get_require_subcommand_min() > 0;
  if (flag != strays.end() && (!wants_command || flag == strays.begin())) return unknown_flag(*flag, app, *deepest);
  if (wants_command) {
    std::vector<std::string> known;
    for (const CLI::App* sub : deepest->get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
    const std::string all = "one of " + join(known, ", ");
    const bool families = deepest->get_name() == "kernel";
    if (strays.empty()) return error(families ? "a kernel family is missing" : "a command is missing", all);
    return error(std::string("unknown ") + (families ? "kernel family" : "command") + " '" + strays.front() + "'",
                 suggestion(strays.front(), known, all));
  }
  std::string text = stop.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&stop)) {
    const std::string name = text.substr(0, text.find(':'));
    if (text.find("At Most") != std::string::npos) return Error{name, "", "is given more than once", "give it once"};
  }
  if (!strays.empty()) return error("unexpected '" + strays.front() + "'", kAskForHelp);
  return error(std::move(text), kAskForHelp);
}

// A value that is empty, or a list of nothing, is a variable that was not set more often than a wish.
std::optional<Error> empty_argument(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool value =
        word.find_first_not_of(',') == word.npos && i > 1 && std::string_view(argv[i - 1]).starts_with('-');
    if (value) return Error{argv[i - 1], "", "is empty", "say what it is"};
    if (word.empty()) return error("an argument is empty", "say what it is");
    const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    if (equals != word.npos && word.find_first_not_of(',', equals + 1) == word.npos)
      return Error{std::string(word.substr(0, equals)), "", "is empty", "say what it is"};
  }
  return std::nullopt;
}

// --color behind every command; those that fall through to another have it from there.
void add_colour(CLI::App& command, std::string& wish) {
  if (!command.get_fallthrough())
    command.add_option("--color,--colour", wish, "colours in what is printed (default auto: on a terminal alone)")
        ->type_name("auto|always|never");
  for (CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) add_colour(*sub, wish);
}

// What the command line asks for; words that CLI11 prints itself (--help, --version) are output like any other.
int run(CLI::App& app, const Command& chosen, int argc, char** argv) {
  const std::string program = app.get_name();
  if (const auto empty = empty_argument(argc, argv)) return print_refusal(program, *empty);
  std::vector<std::string> words = arguments_of(argc, argv);
  std::string wished = "auto";
  add_colour(app, wished);
  const auto colour = [&wished] { return colour_wish(wished).value_or(ColourWish::automatic); };
  try {
    app.parse(std::vector<std::string>(words));
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() != 0) return print_refusal(program, problem_of(app, stop, words), colour());
    std::ostringstream help;
    app.exit(stop, help, help);
    const std::string text = wrapped_help(single_spaced(help.str()), terminal_width(STDOUT_FILENO));
    return print_output(program, with_marked_headings(text), colour());
  }
  if (!colour_wish(wished))
    return print_refusal(program, {"--color", "", "must be auto, always or never, not '" + wished + "'",
                                   "leave it out for colours on a terminal alone"});
  // Lists of texts take the next flag for one of theirs.
  if (const auto valueless = valueless_flag(&deepest_of(app), words))
    return print_refusal(program, *valueless, colour());
  Answer answer = chosen();
  if (!answer.text) return print_refusal(program, as_flag(std::move(answer.text).error()), colour());
  const int printed = print_output(program, *answer.text, colour());
  if (printed != kDone || !answer.unmet) return printed;
  return print_refusal(program, as_flag(*std::move(answer.unmet)), colour());
}

}  // namespace

int run_program(CLI::App& app, const Command& chosen, int argc, char** argv) {
  return guarded(app.get_name(), [&] { return run(app, chosen, argc, argv); });
}

}  // namespace tilecast
