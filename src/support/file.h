// Whole-file reading and writing with one clear error, and a cap so that a wrong path to something huge cannot exhaust
// memory.
#pragma once

#include <cstddef>
#include <string>

#include "support/result.h"

namespace tilecast {

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

// Written whole or not at all: to a neighbour first, then renamed over the target.
Status write_text_file(const std::string& path, const std::string& text);

}  // namespace tilecast
