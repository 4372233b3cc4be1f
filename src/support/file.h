// Whole-file reading with one clear error, and a cap so that a wrong path to something huge cannot exhaust memory.
#pragma once

#include <cstddef>
#include <string>

#include "support/result.h"

namespace tilecast {

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

}  // namespace tilecast
