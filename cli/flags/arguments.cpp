#include "cli/flags/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "answers/ranges.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Ranges are spelled 1,8..64: `tilecast --help` says how.
std::string type_name(const Argument& about) {
  switch (about.kind) {
    case ArgumentKind::yes_no: return "";
    case ArgumentKind::count: return "COUNT";
    case ArgumentKind::number: return "NUMBER";
    case ArgumentKind::size: return "SIZE";
    case ArgumentKind::text: return "TEXT";
    case ArgumentKind::choice: return join(about.choices, "|");
    case ArgumentKind::list: return about.choices.empty() ? "TEXT,..." : join(about.choices, "|") + ",...";
    case ArgumentKind::counts: return "COUNT,...";
  }
  return "";
}

std::string help_of(const Argument& about) {
  std::string help = about.help;
  if (!about.unit.empty()) help += fmt::format(" [{}]", about.unit);
  if (!about.fallback.empty() && about.fallback != "0") help += fmt::format(" (default {})", about.fallback);
  return help;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(toupper(c)); });
  return text;
}

// A range: whoever asks takes it apart again, so that it is enough that each value is one.
Status set_each(const std::function<Status(std::string_view)>& set, const Argument& about, const std::string& text) {
  const auto values = range_of(about, text);
  if (!values) return values.error();
  for (const double value : *values)
    if (auto fine = set(range_text(value)); !fine) return fine;
  return Ok{};
}

}  // namespace

void add_arguments(CLI::App& command, std::vector<BoundArgument> arguments, Refusal& refusal,
                   const std::vector<std::string>& lists) {
  for (BoundArgument& argument : arguments) {
    const Argument about = argument.about;
    if (std::find(lists.begin(), lists.end(), about.name) != lists.end()) continue;
    const auto keep = [set = std::move(argument.set), &refusal, about,
                       positional = about.positional](const std::string& text) {
      auto fine = takes_range(about) && is_range(text) ? set_each(set, about, text) : set(text);
      if (fine || refusal) return;
      Error problem = std::move(fine).error();
      if (positional && problem.place.empty()) problem.place = upper(std::exchange(problem.field, ""));
      refusal = std::move(problem);
    };
    std::string flag = about.positional ? upper(about.name) : "--" + about.name;
    for (const std::string& alias : about.aliases) flag += ",--" + alias;
    CLI::Option* option = nullptr;
    if (about.kind == ArgumentKind::yes_no) {
      option = command.add_flag_function(
          flag, [keep](std::int64_t on) { keep(on > 0 ? "yes" : "no"); }, help_of(about));
    } else if (about.kind == ArgumentKind::list || about.kind == ArgumentKind::counts) {
      // Values may stand behind each other as well as behind commas.
      option = command.add_option_function<std::vector<std::string>>(
          flag,
          [keep, about, &refusal](const std::vector<std::string>& values) {
            if (about.kind != ArgumentKind::counts) return keep(join(values, ","));
            const auto numbers = spelled_out(about, split(join(values, ","), ','));
            if (numbers) return keep(join(*numbers, ","));
            if (!refusal) refusal = numbers.error();
          },
          help_of(about));
      option->type_name(type_name(about));
    } else {
      option = command.add_option_function<std::string>(flag, keep, help_of(about));
      option->type_name(type_name(about));
      if (about.repeated) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->trigger_on_parse();
    }
    if (about.required) option->required();
    if (!about.group.empty()) option->group(about.group);
  }
}

Command answered(const Refusal& refusal, Command command) {
  return [&refusal, command = std::move(command)]() -> Answer {
    if (refusal) return *refusal;
    return command();
  };
}

std::string examples_text(const Question& question) {
  std::string text;
  for (std::size_t i = 0; i < question.examples.size(); ++i)
    text += (i == 0   ? "Example:\n  tilecast "
             : i == 1 ? "\n\nMore examples:\n  tilecast "
                      : "\n  tilecast ") +
            question.examples[i];
  return text;
}

std::string first_examples(const std::vector<Question>& questions) {
  std::string text = "Examples:";
  for (const Question& question : questions) text += "\n  tilecast " + question.examples.front();
  return text;
}

}  // namespace tilecast
