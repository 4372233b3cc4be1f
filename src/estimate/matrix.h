// The one matrix product that networks need, in single precision.
#pragma once

#include <span>

namespace tilecast {

// c += a b, all row-major: a is rows x inner, b inner x cols, c rows x cols. Every element is summed in order of the
// inner index, so splitting the rows into pieces does not change a bit of the result.
void add_product(std::span<const float> a, std::span<const float> b, std::span<float> c, std::size_t inner,
                 std::size_t cols);

// out = in transposed; `in` is rows x cols.
void transpose(std::span<const float> in, std::span<float> out, std::size_t cols);

}  // namespace tilecast
