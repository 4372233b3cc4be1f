// Whole-file reading and writing with one clear error, and a cap so that a wrong path to something huge cannot exhaust
// memory.
#pragma once

#include <cstddef>
#include <string>

#include "support/result.h"

namespace tilecast {

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

// Written whole or not at all: to a neighbour first, then renamed over the target. What is no plain file (/dev/stdout,
// a pipe) is written itself.
Status write_text_file(const std::string& path, const std::string& text);

// Whether that could begin: for programs that compute for long before they write.
Status check_writable(const std::string& path);

}  // namespace tilecast
