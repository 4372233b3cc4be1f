#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/append.h"

namespace tilecast {
namespace {

// Place and field are names; a problem may echo what it is about; a remedy may list what is known.
constexpr std::size_t kMostPlace = 300, kMostField = 200, kMostProblem = 500, kMostRemedy = 1200;
constexpr std::size_t kMostName = 60;
constexpr std::string_view kEllipsis = "…";

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8
};

// The character at the front of `text`, which is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (bytes == 0 || text.size() < bytes) return {};
  char32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kLeast[bytes] || surrogate || code > 0x10ffff ? Character{} : Character{code, bytes};
}

bool harmless(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;  // C0, delete, C1
  // Line and paragraph separators, and characters that change the writing direction.
  return !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff;
}

void spell_out(std::string& out, char32_t code) {
  if (code == '\n') out += "\\n";
  else if (code == '\r') out += "\\r";
  else if (code == '\t') out += "\\t";
  else if (code < 0x100) append(out, "\\x{:02x}", static_cast<unsigned>(code));
  else append(out, "\\u{:04x}", static_cast<unsigned>(code));
}

}  // namespace

std::string printable(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (c.bytes == 0) spell_out(out, static_cast<unsigned char>(text[0]));
    else if (harmless(c.code) || (keep_newlines && c.code == '\n')) out += text.substr(0, bytes);
    else spell_out(out, c.code);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const std::size_t room = most > kEllipsis.size() ? most - kEllipsis.size() : 0;
  std::size_t front = room * 2 / 3, back = text.size() - (room - front);
  while (front > 0 && continues(text[front])) --front;
  while (back < text.size() && continues(text[back])) ++back;
  return std::string(text.substr(0, front)) + std::string(kEllipsis) + std::string(text.substr(back));
}

std::string printable_line(const Error& error) {
  const auto part = [](const std::string& text, std::size_t most) { return cut(printable(cut(text, 4 * most)), most); };
  return Error{part(error.place, kMostPlace), part(error.field, kMostField), part(error.problem, kMostProblem),
               part(error.remedy, kMostRemedy)}
      .line();
}

std::string first_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", " : "") + cut(names[i], kMostName);
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

}  // namespace tilecast
