// PNG files (the W3C's specification, third edition).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilecast {

// A picture of 8-bit red, green and blue: `rows` has a byte that names its filter before each row.
std::string png_file(std::size_t width, std::size_t height, std::string_view rows);

}  // namespace tilecast
