#include "cli/terminal/colour.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "support/marks.h"
#include "support/printable.h"

namespace tilecast {
namespace {

// Codes of ECMA-48's "select graphic rendition" for each mark, in the terminal's own colours: bold, red, yellow, faint
// and back to normal; the end of a table has none.
constexpr std::array<std::string_view, 6> kCodes = {"\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m", ""};

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::optional<ColourWish> colour_wish(std::string_view text) {
  if (text == "auto") return ColourWish::automatic;
  if (text == "always") return ColourWish::always;
  if (text == "never") return ColourWish::never;
  return std::nullopt;
}

bool shows_colour(ColourWish wish, int descriptor) {
  if (wish != ColourWish::automatic) return wish == ColourWish::always;
  const std::string_view terminal = variable("TERM");
  return variable("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb" && isatty(descriptor) == 1;
}

std::string painted(std::string_view text, bool colour) {
  std::string out;
  std::size_t begin = 0;
  const auto take_until = [&](std::size_t end) { out += printable(text.substr(begin, end - begin), true); };
  for (std::size_t at = text.find(kMarkLead); at != std::string_view::npos; at = text.find(kMarkLead, at + 1)) {
    if (!is_mark_at(text, at)) continue;
    take_until(at);
    const auto mark = static_cast<unsigned char>(text[at + kMarkLead.size()]) - kFirstMark;
    if (colour) out += kCodes[static_cast<std::size_t>(mark)];
    begin = at + kMarkLength;
  }
  take_until(text.size());
  return out;
}

std::string with_marked_headings(std::string_view help) {
  std::string out;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view line = help.substr(0, end);
    const bool heading = !line.empty() && line.front() != ' ' && line.ends_with(':');
    out += heading ? marked(Mark::heading, line) : std::string(line);
    if (end < help.size()) out += '\n';
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return out;
}

}  // namespace tilecast
