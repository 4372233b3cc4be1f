// Lists and ranges of numbers as people write them: "1,8..64", "8..64:8", "8..64x2".
//
//   8..64      every whole number from 8 to 64
//   8..64:8    in steps of 8
//   8..64*2    each twice the one before: 8, 16, 32, 64; x2 means the same, for shells that would expand the star
//   1,8..64:8  any mix of these, separated by commas
//
// A range includes its end if a step lands on it. Values follow the grammar of support/amount.h, so 1k..8k:1k and
// 64KiB..1GiB*2 are ranges. A repeated value counts once.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

enum class RangeOf : unsigned char { counts, numbers, bytes };

// The most values made from one text, and the most questions asked by one command: what a person can look at, and few
// enough that a mistyped range does not run for hours.
inline constexpr std::size_t kMostCombinations = 4096;

// Whether a text means several numbers, valid or not: it has a comma or two dots.
bool is_range(std::string_view text);

// The numbers, in the order they are written in. Errors name neither place nor field.
Result<std::vector<double>> range_values(std::string_view text, RangeOf kind);

}  // namespace tilecast
