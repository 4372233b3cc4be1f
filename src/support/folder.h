// A folder of files, written by the one writer (support/file.cpp): it appears with all of them or not at all.
#pragma once

#include <string>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

struct FolderFile {
  std::string name;  // "launch.sh", "plan-1/launch.sh"
  std::string text;
};
// An existing folder must be empty.
Status write_new_folder(const std::string& path, const std::vector<FolderFile>& files);
// Whether that could begin: for programs that compute for long before they write. Changes nothing.
Status check_new_folder(const std::string& path);

}  // namespace tilecast
