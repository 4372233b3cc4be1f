// Files that are written where others are read: none of them may be the same.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

// check_writable (file.h), and that `path` is none of the files that are read, under whatever name: a trace or a table
// of measurements can rarely be made again.
Status check_output(const std::string& path, const std::vector<std::string>& read);

}  // namespace tilecast
