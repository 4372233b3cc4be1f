// Lists and ranges of numbers as people write them: "1,8..64", "8..64:8", "8..64x2".
//
//   8..64      every whole number from 8 to 64
//   8..64:8    in steps of 8
//   8..64*2    each twice the one before: 8, 16, 32, 64; x2 says the same where a shell would take the star for its own
//   1,8..64:8  any of these between commas
//
// Both ends belong to a range where a step meets them. Values are in the grammar of support/amount.h, so that 1k..8k:1k
// and 64KiB..1GiB*2 are ranges. A value that comes twice counts once.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

enum class RangeOf : unsigned char { counts, numbers, bytes };

// No more values are made of one text, and no more questions asked of one command: what a person can look at, and what a
// mistyped range cannot turn into hours.
inline constexpr std::size_t kMostCombinations = 4096;

// Whether a text says several numbers, well or badly: it has a comma or two dots.
bool is_range(std::string_view text);

// The numbers, in the order they are written in. Errors name neither place nor field.
Result<std::vector<double>> range_values(std::string_view text, RangeOf kind);

}  // namespace tilecast
