// Words that are marked wherever they stand in an answer for people.
#pragma once

#include <string>
#include <string_view>

#include "support/marks.h"

namespace tilecast {

// Whether something fits into memory.
inline std::string fits_text(bool fits) { return fits ? "yes" : marked(Mark::bad, "no"); }

// What a forecast rests on: "no" is a card that no measurement speaks for.
inline std::string seen_text(std::string_view seen) {
  return seen == "no" ? marked(Mark::caution, seen) : std::string(seen);
}

inline std::string note_word(std::string_view word) { return marked(Mark::caution, word); }

// What else there is to ask for, below an answer.
inline std::string hint_text(std::string_view words) { return marked(Mark::faint, words); }

}  // namespace tilecast
