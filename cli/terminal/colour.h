// Whether a terminal shows colour, and marked texts (support/marks.h) as it shows them.
//
// Colour is for terminals alone: pipes and files get plain text. NO_COLOR (no-color.org) and TERM=dumb switch it off,
// --color always or never says it once and for all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tilecast {

enum class ColourWish : unsigned char { automatic, always, never };

// "auto", "always" or "never".
std::optional<ColourWish> colour_wish(std::string_view text);

// Whether what goes to this file descriptor is to be coloured.
bool shows_colour(ColourWish wish, int descriptor);

// Marks as escape codes, or without them. All else is made printable; newlines stay.
std::string painted(std::string_view text, bool colour);

// The headings of a help text marked: lines such as "Options:".
std::string with_marked_headings(std::string_view help);

}  // namespace tilecast
