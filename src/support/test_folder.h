// Where tests put their files.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

// A folder of this process's own, so that tests may run side by side, removed at its end with whatever tests left in
// it. Those of test programs that were killed are removed by the next one.
class ProcessFolder {
 public:
  ProcessFolder()
      : owner_(getpid()),
        path_(std::filesystem::temp_directory_path() / (std::string(kBefore) + std::to_string(owner_))) {
    remove_orphans();
    std::filesystem::create_directories(path_);
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  ~ProcessFolder() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);  // not a child that a test has forked
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  static constexpr std::string_view kBefore = "tilecast-test-";

  static void remove_orphans() {
    std::error_code ignored;
    std::vector<std::filesystem::path> orphans;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kBefore)) continue;
      const pid_t owner = std::atoi(name.c_str() + kBefore.size());
      if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) orphans.push_back(entry.path());
    }
    for (const auto& orphan : orphans) std::filesystem::remove_all(orphan, ignored);
  }

  pid_t owner_;
  std::filesystem::path path_;
};

inline const std::filesystem::path& process_folder() {
  static const ProcessFolder folder;
  return folder.path();
}

}  // namespace tilecast
