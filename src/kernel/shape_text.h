// Shapes as text, "m=4096;n=4096;k=4096": written and read here only, fast enough for tables of millions of rows.
#pragma once

#include <string>
#include <string_view>

#include "kernel/kernel.h"

namespace tilecast {

// Appends required fields and those that differ from their defaults, in declaration order.
void append_dims(std::string& out, const Shape& shape);

// The checked shape of a family from such text: any order, '-' and '_' alike.
Result<Shape> read_dims(std::string_view family, std::string_view text);

}  // namespace tilecast
