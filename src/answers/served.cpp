#include "answers/served.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "answers/ask.h"
#include "answers/given.h"
#include "answers/question_forms.h"
#include "support/base64.h"
#include "support/given_file.h"
#include "support/input.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using ServedValue = nlohmann::json;

constexpr const char* kFileForm = R"(give {"name": "...", "base64": "..."})";

bool is_file(const ServedValue& value) {
  return value.is_object() && value.size() == 2 && value.contains("name") && value.contains("base64");
}

// Replaces a file by the path that it is kept at.
Status keep_file(const std::string& argument, ServedValue& value, std::vector<GivenFile>& files) {
  if (!value["name"].is_string() || !value["base64"].is_string())
    return field_error(argument, "has a name or bytes that are no text", kFileForm);
  const auto bytes = base64_bytes(value["base64"].get_ref<const std::string&>());
  if (!bytes)
    return field_error(argument, "has bytes that are no base64",
                       "encode the file's bytes with the letters of RFC 4648, padded");
  auto kept = GivenFile::keep(value["name"].get_ref<const std::string&>(), *bytes);
  if (!kept) return std::move(kept).error();
  value = kept->path();
  files.push_back(*std::move(kept));
  return Ok{};
}

Status take_files(const std::string& argument, Naming naming, ServedValue& value, std::vector<GivenFile>& files) {
  if (is_file(value)) return keep_file(argument, value, files);
  if (value.is_array())
    for (ServedValue& one : value)
      if (auto fine = take_files(argument, naming, one, files); !fine) return fine;
  if (naming == Naming::input && value.is_string() && !is_allowed_input(value.get_ref<const std::string&>()))
    return field_error(argument, "names a file that may not be read here", kFileForm);
  return Ok{};
}

// As the lists have it, however it is spelled.
std::string plain_name(std::string_view question) {
  for (const QuestionForm& form : question_forms())
    if (name_key(form.name) == name_key(question)) return form.name;
  return std::string(question);
}

// What the program does for its user alone.
Status check_harmless(const std::string& question, const std::string& argument) {
  if (naming_of(question, argument) == Naming::output)
    return field_error(argument, "would write a file", "leave it out");
  if (argument == "measure" || argument == "measure-seconds")
    return field_error(argument, "would start a command", "leave it out, or use the program");
  return Ok{};
}

// Whoever hears progress says by an exception that nobody waits any more: it leaves loops of many rooms that know of no
// such thing, and ends here.
Result<std::string> ask_watched(std::string_view question, ServedValue query, const AskWatch& watch) {
  try {
    return ask_given(question, std::move(query), watch);
  } catch (const AskCancelled&) {
    return error("was cancelled", "ask again");
  }
}

Error without_folders(Error problem, const std::vector<GivenFile>& files) {
  for (const GivenFile& file : files)
    for (std::string* text : {&problem.place, &problem.field, &problem.problem, &problem.remedy})
      *text = file.as_sent(std::move(*text));
  return problem;
}

}  // namespace

Result<std::string> ask_served(std::string_view question, ServedValue query, const AskWatch& watch) {
  const std::string name = plain_name(question);
  std::vector<GivenFile> files;
  if (query.is_object())
    for (auto& [key, value] : query.items()) {
      std::string argument = key;
      std::replace(argument.begin(), argument.end(), '_', '-');
      if (auto fine = check_harmless(name, argument); !fine) return fine.error();
      const Naming naming = naming_of(name, argument);
      if (naming == Naming::nothing || naming == Naming::gpus) continue;
      if (auto fine = take_files(argument, naming, value, files); !fine) return fine.error();
    }
  auto answer = ask_watched(question, std::move(query), watch);
  if (!answer) return without_folders(std::move(answer).error(), files);
  for (const GivenFile& file : files) *answer = file.as_sent(*std::move(answer));
  return answer;
}

Result<std::string> ask_served(std::string_view question, std::string_view query, const AskWatch& watch) {
  auto parsed = parse_json(query, "query");
  if (!parsed) return std::move(parsed).error();
  return ask_served(question, *std::move(parsed), watch);
}

}  // namespace tilecast
