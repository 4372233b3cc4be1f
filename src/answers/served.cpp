#include "answers/served.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "answers/answer_files.h"
#include "answers/ask.h"
#include "answers/given.h"
#include "answers/question_forms.h"
#include "api/outside.h"
#include "support/base64.h"
#include "support/file.h"
#include "support/given_file.h"
#include "support/gzip_size.h"
#include "support/input.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Value = nlohmann::json;

constexpr const char* kFileForm = R"(give {"name": "...", "base64": "..."})";
// A question asked once for each of several values: no more of them than this at once.
constexpr std::size_t kMostAsked = 1000;
// Ten times the longest trace we have seen. A few kilobytes of gzip can say gigabytes.
constexpr std::size_t kMostUnpacked = std::size_t{512} << 20;
constexpr std::size_t kMostOutput = std::size_t{256} << 20;

bool is_file(const Value& value) {
  return value.is_object() && value.size() == 2 && value.contains("name") && value.contains("base64");
}

bool takes_description(Touches touches) {
  return touches == Touches::gpu || touches == Touches::cluster || touches == Touches::model;
}

// As the lists have it, however it is spelled; null where there is none.
const QuestionForm* form_named(std::string_view question) {
  if (const QuestionForm* form = question_form(question)) return form;
  for (const QuestionForm& form : question_forms())
    if (name_key(form.name) == name_key(question)) return &form;
  return nullptr;
}

// One question on its way in, and its answer on the way out.
class Served {
 public:
  Served(const QuestionForm& form, const AskWatch& watch, const ServedRules& rules)
      : form_(form), watch_(watch), rules_(rules) {}

  Result<std::string> ask(Value query) {
    auto wish = take_files_wish(query);
    if (!wish) return std::move(wish).error();
    if (auto fine = admit_all(query); !fine) return as_sent(std::move(fine).error());
    std::optional<GivenFile> output;
    if (*wish != FilesWish::none)
      if (auto placed = place_output(query, output); !placed) return std::move(placed).error();
    auto given = GivenArguments::from(std::move(query));
    if (!given) return std::move(given).error();
    given->set_watch(watch_);
    given->set_files(*wish, rules_.drawings);
    auto answer = ask_given(form_.name, *std::move(given));
    if (!answer) return as_sent(std::move(answer).error());
    for (const GivenFile& file : files_) answer = file.as_sent(std::string(*answer));
    return output ? with_output(*std::move(answer), *output) : answer;
  }

  Result<AnswerRows> rows(Value query) {
    if (query.contains("files")) return field_error("files", "has no effect on rows", "leave it out, or ask for JSON");
    if (auto fine = admit_all(query); !fine) return as_sent(std::move(fine).error());
    auto given = GivenArguments::from(std::move(query));
    if (!given) return std::move(given).error();
    given->set_watch(watch_);
    auto rows = ask_given_rows(form_.name, *given);
    if (!rows) return as_sent(std::move(rows).error());
    for (auto& row : rows->rows)
      for (RowCell& cell : row)
        for (const GivenFile& file : files_) cell.text = file.as_sent(std::move(cell.text));
    return rows;
  }

 private:
  Result<FilesWish> take_files_wish(Value& query) const {
    const auto wish = query.find("files");
    if (wish == query.end()) return FilesWish::none;
    const bool has_traces = form_.name == "predict", traces = *wish == "chakra";
    if (!wish->is_boolean() && !(has_traces && traces))
      return field_error("files", has_traces ? R"(must be true, false or "chakra")" : "must be true or false",
                         "leave it out for none");
    const FilesWish wanted = traces ? FilesWish::chakra : wish->get<bool>() ? FilesWish::usual : FilesWish::none;
    if (wanted != FilesWish::none && files_of(form_.name).empty())
      return field_error("files", "has no effect: nothing is written for this question", "leave it out");
    query.erase(wish);
    return wanted;
  }

  Status admit_all(Value& query) {
    std::size_t asked = 1;
    for (auto& [name, value] : query.items()) {
      asked *= value.is_array() ? std::max<std::size_t>(1, value.size()) : 1;
      if (asked > kMostAsked)
        return field_error(name, "asks more than " + std::to_string(kMostAsked) + " questions at once",
                           "ask for fewer");
      if (auto fine = admit(name, value); !fine) return fine;
    }
    return Ok{};
  }

  Status admit(const std::string& given_name, Value& value) {
    std::string name = given_name;
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "measure" || name == "measure-seconds")
      return field_error(name, "would start a command", "leave it out, or use the program");
    const Argument* about = form_.argument(form_.name == "gpu" && name == "gpu" ? "name" : name);
    if (!about && form_.name == "kernel") return Ok{};  // the family's dimensions
    if (!about) {
      std::vector<std::string> names;
      for (const Argument& one : form_.arguments) names.push_back(one.name);
      return field_error(given_name, "is not an argument of this question",
                         suggestion(name, names, names.empty() ? "it takes none" : "it takes " + join(names, ", ")));
    }
    if (about->touches == Touches::nothing || value.is_null()) return Ok{};
    if (about->touches == Touches::output) return field_error(name, "would write a file", R"(ask for "files": true)");
    if (!value.is_array()) return admit(*about, value);
    for (Value& part : value)
      if (auto fine = admit(*about, part); !fine) return fine;
    return Ok{};
  }

  Status admit(const Argument& about, Value& value) {
    if (is_file(value)) return keep_file(about, value);
    if (value.is_object() && takes_description(about.touches)) {
      value = json_text(value, -1);
      return Ok{};
    }
    if (!value.is_string()) return Ok{};  // its reader says what it takes
    const auto& text = value.get_ref<const std::string&>();
    if (!rules_.paths) return check_stays_inside(about, text);
    if (about.touches == Touches::file && !is_allowed_input(text))
      return field_error(about.name, "names a file that may not be read here", kFileForm);
    return Ok{};
  }

  // Replaces a file by the path that it is kept at; a description by its text.
  Status keep_file(const Argument& about, Value& value) {
    if (!value["name"].is_string() || !value["base64"].is_string())
      return field_error(about.name, "has a name or bytes that are no text", kFileForm);
    const auto bytes = base64_bytes(value["base64"].get_ref<const std::string&>());
    if (!bytes)
      return field_error(about.name, "has bytes that are no base64",
                         "encode the file's bytes with the letters of RFC 4648, padded");
    if (about.touches == Touches::gpu || about.touches == Touches::cluster) {
      if (!is_object_text(*bytes)) return field_error(about.name, "is not a description", "a JSON object");
      value = *bytes;
      return check_stays_inside(about, *bytes);
    }
    if (about.touches == Touches::gpus || about.touches == Touches::command)
      return field_error(about.name, "takes no file", "names, as in its example");
    if (unpacks_to_more(*bytes, kMostUnpacked))
      return field_error(about.name, "unpacks to more than " + std::to_string(kMostUnpacked >> 20) + " MiB",
                         "send a shorter file");
    auto kept = GivenFile::keep(value["name"].get_ref<const std::string&>(), *bytes);
    if (!kept) return std::move(kept).error();
    value = (about.touches == Touches::counts ? "counts:" : "") + kept->path();
    files_.push_back(*std::move(kept));
    return Ok{};
  }

  // Where the one file that some questions write can go.
  Status place_output(Value& query, std::optional<GivenFile>& output) const {
    for (const Argument& about : form_.arguments) {
      if (about.touches != Touches::output) continue;
      auto place = GivenFile::keep(about.name == "out" ? "calibrated.json" : "retimed.json.gz", "");
      if (!place) return std::move(place).error();
      query[about.name] = place->path();
      output = *std::move(place);
    }
    return Ok{};
  }

  Result<std::string> with_output(std::string answer, const GivenFile& output) const {
    auto bytes = read_text_file(output.path(), kMostOutput);
    if (!bytes) return std::move(bytes).error();
    const std::string name = output.path().substr(output.path().rfind('/') + 1);
    const bool packed = name.ends_with(".gz");
    if (!packed)  // a card's description says which rows it was fitted to
      for (const GivenFile& file : files_) bytes = file.as_sent(*std::move(bytes));
    return with_files(output.as_sent(std::move(answer)),
                      {{name, packed ? "application/gzip" : "application/json", *std::move(bytes), packed}});
  }

  Error as_sent(Error problem) const {
    for (const GivenFile& file : files_)
      for (std::string* text : {&problem.place, &problem.field, &problem.problem, &problem.remedy})
        *text = file.as_sent(std::move(*text));
    return problem;
  }

  const QuestionForm& form_;
  const AskWatch& watch_;
  const ServedRules& rules_;
  std::vector<GivenFile> files_;
};

}  // namespace

Result<std::string> ask_served(std::string_view question, Value query, const AskWatch& watch,
                               const ServedRules& rules) {
  const QuestionForm* form = form_named(question);
  if (!form) return ask(question, "{}");  // says which there are
  if (!query.is_object()) return Error{"query", "", "must be a JSON object", R"(for example {"gpu": "H100-SXM"})"};
  return Served(*form, watch, rules).ask(std::move(query));
}

Result<AnswerRows> ask_served_rows(std::string_view question, std::string_view query, const AskWatch& watch,
                                   const ServedRules& rules) {
  auto parsed = parse_json(query, "query");
  if (!parsed) return std::move(parsed).error();
  const QuestionForm* form = form_named(question);
  if (!form || !parsed->is_object()) return ask_served(question, *std::move(parsed), watch, rules).error();
  return Served(*form, watch, rules).rows(*std::move(parsed));
}

Result<std::string> ask_served(std::string_view question, std::string_view query, const AskWatch& watch,
                               const ServedRules& rules) {
  auto parsed = parse_json(query, "query");
  if (!parsed) return std::move(parsed).error();
  return ask_served(question, *std::move(parsed), watch, rules);
}

}  // namespace tilecast
