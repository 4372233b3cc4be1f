// Lists and ranges (support/range.h) as values of declared arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/range.h"
#include "tilecast/arguments.h"

namespace tilecast {

// Whether a question is asked once for every value of a list or range of this argument: counts, numbers and sizes, but
// none that is a list itself.
bool takes_range(const Argument& about);

// The values of a range; errors name the argument.
Result<std::vector<double>> range_of(const Argument& about, std::string_view text);
// One of them as a text that the argument reads.
std::string range_text(double value);

// A list whose ranges are spelled out; its other values stay as they are written.
Result<std::vector<std::string>> spelled_out(const Argument& about, const std::vector<std::string>& values);

}  // namespace tilecast
