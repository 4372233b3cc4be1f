#include "service/schema/example_query.h"

#include <algorithm>

#include "support/amount.h"
#include "support/base64.h"
#include "support/text.h"
#include "tilecast/kernel.h"

namespace tilecast {
namespace {

// Words as a shell makes them: blanks and escaped ends of lines between, single quotes around.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool open = false, quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      if (!open) words.emplace_back(), open = true;
    } else if (!quoted && (c == ' ' || c == '\n' || c == '\\')) {
      open = false;
    } else {
      if (!open) words.emplace_back(), open = true;
      words.back() += c;
    }
  }
  return words;
}

// A number where the argument is one and the text spells it out; amounts with letters stay as they are typed.
Json one_value(const Argument& about, const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  if (!digits) return text;
  if (about.kind == ArgumentKind::count || about.kind == ArgumentKind::size || about.kind == ArgumentKind::counts)
    if (const auto whole = whole_amount_from(text)) return *whole;
  if (about.kind == ArgumentKind::number)
    if (const auto number = amount_from(text)) return *number;
  return text;
}

Json typed_value(const QuestionForm& form, const Argument& about, const std::string& text) {
  const bool list =
      about.kind == ArgumentKind::list || about.kind == ArgumentKind::counts || form.takes_several(about.name);
  if (!list || !contains(text, ",")) return one_value(about, text);
  Json values = Json::array();
  for (const std::string& part : split(text, ',')) values.push_back(one_value(about, part));
  return values;
}

const Argument* argument_named(const std::vector<Argument>& arguments, std::string_view name) {
  for (const Argument& about : arguments)
    if (about.name == name || std::find(about.aliases.begin(), about.aliases.end(), name) != about.aliases.end())
      return &about;
  return nullptr;
}

std::string underscored_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Reads the words of one command line into a query, one after the other.
class CommandReader {
 public:
  CommandReader(const QuestionForm& form, std::vector<std::string> words)
      : form_(form), arguments_(form.arguments), words_(std::move(words)) {
    at_ = split(form.command, ' ').size();
    if (form.name == "kernel" && at_ < words_.size()) take_family(words_[at_++]);
  }

  std::optional<Json> read() {
    while (at_ < words_.size()) {
      const std::string word = words_[at_++];
      if (word.starts_with("-")) take_flag(word);
      else take_positional(word);
    }
    if (reads_file_) return std::nullopt;
    return query_;
  }

 private:
  void take_family(const std::string& name) {
    query_["family"] = name;
    for (const KernelFamily& family : kernel_families())
      if (family.name == name) arguments_.insert(arguments_.end(), family.dims.begin(), family.dims.end());
  }

  void take_flag(const std::string& flag) {
    const bool has_value = at_ < words_.size() && !words_[at_].starts_with("-");
    const Argument* about = flag.starts_with("--") ? argument_named(arguments_, flag.substr(2)) : nullptr;
    if (about && about->kind == ArgumentKind::yes_no) put(*about, true);
    else if (about && has_value) put(*about, words_[at_++]);
    else if (has_value) ++at_;  // of the program's own: where to write what
  }

  void take_positional(const std::string& word) {
    for (const Argument& about : arguments_)
      if (about.positional && !query_.contains(underscored_name(about.name))) return put(about, word);
  }

  void put(const Argument& about, bool value) { query_[underscored_name(about.name)] = value; }
  void put(const Argument& about, const std::string& text) {
    if (naming_of(form_.name, about.name) == Naming::input) reads_file_ = true;
    if (naming_of(form_.name, about.name) == Naming::output) return;
    query_[underscored_name(about.name)] = typed_value(form_, about, text);
  }

  const QuestionForm& form_;
  std::vector<Argument> arguments_;
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  bool reads_file_ = false;
  Json query_ = Json::object();
};

// A profile of one product, as PyTorch's profiler writes it: small enough to stand in a document.
constexpr const char* kSmallTrace = R"({"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 8, "args": {"External id": 1,
 "Input Dims": [[2048, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
{"ph": "X", "cat": "kernel", "name": "nvjet_sm90_tst_128x256", "ts": 20, "dur": 130, "args": {"External id": 1, "correlation": 1}}]})";

Json file_by_value(const std::string& name, std::string_view bytes) {
  return Json{{"name", name}, {"base64", base64_text(bytes)}};
}

}  // namespace

std::optional<Json> query_of_command(const QuestionForm& form, std::string_view command) {
  return CommandReader(form, words_of(command)).read();
}

std::vector<QueryExample> query_examples(const QuestionForm& form) {
  std::vector<QueryExample> examples;
  for (const std::string& command : form.examples)
    if (auto query = query_of_command(form, command)) examples.push_back({command, *std::move(query)});
  if (form.name == "diagnose")
    examples.push_back({"diagnose trace.json --gpu H200-SXM",
                        Json{{"trace", file_by_value("trace.json", kSmallTrace)}, {"gpu", "H200-SXM"}}});
  if (form.name == "retime")
    examples.push_back(
        {"retime trace.json --gpu B200", Json{{"trace", file_by_value("trace.json", kSmallTrace)}, {"gpu", "B200"}}});
  return examples;
}

}  // namespace tilecast
