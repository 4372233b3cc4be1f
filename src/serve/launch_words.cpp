#include "serve/launch_words.h"

#include <array>
#include <charconv>

#include "support/json_value.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::array<std::string_view, 6> kPlaces = {"server:", "node:", "self}", "here}", "rank}", "rank*"};

// Where the next place begins, or the end.
std::size_t next_place(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1))
    for (const std::string_view kind : kPlaces)
      if (text.substr(at + 1).starts_with(kind) && text.find('}', at) != std::string_view::npos) return at;
  return text.size();
}

bool is_plain(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";
  return !word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos;
}

std::string replaced(std::string_view text, char what, std::string_view by) {
  std::string out;
  for (const char c : text) c == what ? out += by : out += c;
  return out;
}

// Between double quotes of a shell.
std::string in_double_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '$' || c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

bool has_places(std::string_view text) { return next_place(text, 0) < text.size(); }

int place_number(std::string_view place) {
  int number = 0;
  const std::size_t mark = place.find_first_of(":*");
  if (mark != std::string_view::npos) std::from_chars(place.data() + mark + 1, place.data() + place.size(), number);
  return number;
}

std::string filled(std::string_view text, const FillPlace& fill,
                   const std::function<std::string(std::string_view)>& literal) {
  std::string out;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t at = next_place(text, from);
    out += literal(text.substr(from, at - from));
    if (at == text.size()) break;
    const std::size_t end = text.find('}', at);
    out += fill(text.substr(at + 1, end - at - 1));
    from = end + 1;
  }
  return out;
}

std::string shell_word(std::string_view word, const FillPlace& fill) {
  if (has_places(word)) return "\"" + filled(word, fill, in_double_quotes) + "\"";
  if (is_plain(word)) return std::string(word);
  return "'" + replaced(word, '\'', "'\\''") + "'";
}

std::string shell_line(const LaunchCommand& command, const FillPlace& fill) {
  std::string line;
  for (const auto& [name, value] : command.environment) line += name + "=" + shell_word(value, fill) + " ";
  for (std::size_t i = 0; i < command.words.size(); ++i)
    line += (i > 0 ? " " : "") + shell_word(command.words[i], fill);
  return line;
}

std::string yaml_string(std::string_view text) { return Json(std::string(text)).dump(); }

std::string compose_string(std::string_view word, const FillPlace& fill) {
  return yaml_string(filled(word, fill, [](std::string_view part) { return replaced(part, '$', "$$"); }));
}

std::string compose_list(const std::vector<std::string>& words, const FillPlace& fill) {
  std::string out = "[";
  for (std::size_t i = 0; i < words.size(); ++i) out += (i > 0 ? ", " : "") + compose_string(words[i], fill);
  return out + "]";
}

std::string indented(std::string_view text, int blanks) {
  std::string out;
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) {
    if (!line.empty()) out += std::string(static_cast<std::size_t>(blanks), ' ') + line;
    out += '\n';
  }
  return out;
}

}  // namespace tilecast
