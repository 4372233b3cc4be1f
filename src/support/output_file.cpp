#include "support/output_file.h"

#include <filesystem>

#include "support/file.h"

namespace tilecast {

namespace fs = std::filesystem;

Status check_output(const std::string& path, const std::vector<std::string>& read) {
  std::error_code failure;
  for (const std::string& input : read)
    if (fs::is_regular_file(path, failure) && fs::equivalent(path, input, failure))
      return Error{path, "", "is read here, and would be lost", "write to another file"};
  return check_writable(path);
}

}  // namespace tilecast
