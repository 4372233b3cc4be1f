// External text made safe for a terminal: names in files and words on command lines may contain anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

// Control characters, escape codes, characters that change the writing direction and invalid UTF-8 are escaped (\n,
// \x1b, \u202e); everything else is unchanged. Newlines are kept if `keep_newlines` says so.
std::string printable(std::string_view text, bool keep_newlines = false);

// At most `most` bytes: the middle of a longer text is replaced by an ellipsis, because the error is usually at the
// beginning or at the end. Characters stay whole.
std::string cut(std::string_view text, std::size_t most);

// One line for a user: printable, and each part of the error cut to a length that can be read.
std::string printable_line(const Error& error);

// "a, b, c and 997 more": the first of many names.
std::string first_of(const std::vector<std::string>& names, std::size_t most = 12);

}  // namespace tilecast
