#include "cli/flags/rows_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "answers/ask.h"
#include "support/json_value.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<const char*, 7> kOutput = {"help", "json", "csv", "plot", "plot-y", "color", "version"};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return text;
}

std::string name_of_option(const CLI::Option& option) {
  return option.get_lnames().empty() ? lower(option.get_name(true)) : option.get_lnames().front();
}

// Options of a command that were given, and of those it falls through to.
std::vector<const CLI::Option*> given_options(const CLI::App* command) {
  std::vector<const CLI::Option*> given;
  for (; command; command = command->get_fallthrough() ? command->get_parent() : nullptr)
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) given.push_back(option);
  return given;
}

struct GivenQuery {
  Json query = Json::object();
  std::string heading;
  std::vector<std::string> names;
};

void take(GivenQuery& given, const std::string& name, const CLI::Option& option) {
  const std::vector<std::string>& values = option.results();
  if (option.get_items_expected_max() == 0) {
    given.query[name] = values.empty() || values.front() != "false";
    given.heading += ", " + name;
    return;
  }
  given.query[name] = values.size() == 1 ? Json(values.front()) : Json(values);
  const std::string words = join(values, ",");
  if (option.get_lnames().empty()) given.heading += " " + words;
  else given.heading += ", " + name + " " + words;
}

// What the command line asks, as ask() takes it and in words.
GivenQuery query_of(const CLI::App& command, const RowsFlags& flags) {
  GivenQuery given;
  given.heading = flags.question;
  if (flags.question == "kernel") {
    given.query["family"] = command.get_name();
    given.heading += " " + command.get_name();
  }
  std::vector<const CLI::Option*> options = given_options(&command);
  std::stable_partition(options.begin(), options.end(),
                        [](const CLI::Option* option) { return option->get_lnames().empty(); });
  for (const CLI::Option* option : options) {
    const std::string name = name_of_option(*option);
    given.names.push_back(name);
    if (std::find(kOutput.begin(), kOutput.end(), name) == kOutput.end() &&
        std::find(flags.single.begin(), flags.single.end(), name) == flags.single.end())
      take(given, name, *option);
  }
  return given;
}

bool was_given(const GivenQuery& given, const std::string& name) {
  return std::find(given.names.begin(), given.names.end(), name) != given.names.end();
}

}  // namespace

void add_rows_flags(CLI::App& command, RowsOptions& options, Ranges ranges) {
  command.add_flag("--csv", options.csv, "rows of comma separated values (docs/cli.md)");
  if (ranges == Ranges::refused) return;
  command.add_option("--plot", options.plot, "with a range: also draw it to this file, .svg or .png (docs/cli.md)");
  command.add_option("--plot-y", options.plot_y, "with plot: the column of --csv to draw");
}

Command with_rows(const CLI::App& command, RowsFlags flags, RowsOptions& options, const Refusal& refusal,
                  Command single) {
  return [&command, flags = std::move(flags), &options, &refusal, single = std::move(single)]() -> Answer {
    if (refusal) return *refusal;
    const GivenQuery given = query_of(command, flags);
    options.question = flags.question, options.query = given.query.dump(), options.heading = given.heading;
    options.json = was_given(given, "json");
    const auto swept = is_swept(options.question, options.query);
    if (!swept) return swept.error();
    if (!*swept && !options.csv && options.plot.empty() && options.plot_y.empty()) return single();
    for (const std::string& name : flags.single)
      if (was_given(given, name))
        return field_error(name, *swept ? "has no effect over a range" : "has no effect with --csv or --plot",
                           "leave it out, or ask one thing at a time");
    return run_rows(options);
  };
}

}  // namespace tilecast
