// Marks in texts for people: what a terminal shows in bold or colour. The code that prints a text replaces or removes
// them (cli/terminal/colour.h); tables know that they have no width.
//
// They are noncharacters, which Unicode reserves for internal use (U+FDD0 and on, chapter 23.7 of the standard).
#pragma once

#include <string>
#include <string_view>

namespace tilecast {

// `rows_end` stands behind the last row of a table, where nothing is shown.
enum class Mark : unsigned char { heading, bad, caution, faint, end, rows_end };

inline constexpr std::string_view kMarkLead = "\xef\xb7";  // the first two bytes of each
inline constexpr unsigned char kFirstMark = 0x90;
inline constexpr std::size_t kMarkLength = 3;

inline std::string mark_text(Mark mark) {
  return std::string(kMarkLead) + static_cast<char>(kFirstMark + static_cast<unsigned char>(mark));
}

inline std::string marked(Mark mark, std::string_view words) {
  return words.empty() ? std::string() : mark_text(mark) + std::string(words) + mark_text(Mark::end);
}

// Whether a mark begins at this position.
inline bool is_mark_at(std::string_view text, std::size_t at) {
  if (text.substr(at, kMarkLead.size()) != kMarkLead || at + kMarkLead.size() >= text.size()) return false;
  const auto last = static_cast<unsigned char>(text[at + kMarkLead.size()]);
  return last >= kFirstMark && last <= kFirstMark + static_cast<unsigned char>(Mark::rows_end);
}

}  // namespace tilecast
