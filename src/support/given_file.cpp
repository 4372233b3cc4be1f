#include "support/given_file.h"

#include <cstdlib>
#include <mutex>

#include "support/file.h"

namespace tilecast {
namespace {

namespace fs = std::filesystem;

// The folder of the process: made with the first file, removed at the end.
struct Root {
  std::mutex lock;
  fs::path path;
  ~Root() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};
Root& root() {
  static Root one;
  return one;
}

fs::path unguessable_folder(const fs::path& parent, const char* name) {
  std::string form = (parent / name).string() + "-XXXXXX";
  return mkdtemp(form.data()) ? fs::path(form) : fs::path();
}

std::string safe_name(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  if (const auto slash = name.find_last_of("/\\"); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (name.size() > kLongest) name.remove_prefix(name.size() - kLongest);
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    safe += plain ? c : '_';
  }
  return safe.empty() || safe[0] == '.' || safe[0] == '-' ? "file" + safe : safe;
}

}  // namespace

GivenFile::Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

std::filesystem::path given_files_folder() {
  const std::lock_guard guard(root().lock);
  return root().path;
}

Result<GivenFile> GivenFile::keep(std::string_view name, std::string_view bytes) {
  const Error no_room =
      error("there is no room to keep a file that was sent", "free some of the folder that TMPDIR names, or /tmp");
  std::error_code failure;
  fs::path parent;
  {
    const std::lock_guard guard(root().lock);
    if (root().path.empty()) {
      const fs::path real = fs::canonical(fs::temp_directory_path(failure), failure);
      if (!failure) root().path = unguessable_folder(real, "tilecast");
    }
    parent = root().path;
  }
  if (parent.empty()) return no_room;
  const fs::path folder = unguessable_folder(parent, "f");
  if (folder.empty()) return no_room;
  auto owned = std::make_shared<Folder>(folder);
  std::string path = (folder / safe_name(name)).string();
  if (!write_text_file(path, bytes)) return no_room;
  return GivenFile(std::move(owned), std::move(path));
}

std::string GivenFile::as_sent(std::string text) const {
  const std::string folder = folder_->path.string() + "/";
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) text.erase(at, folder.size());
  return text;
}

}  // namespace tilecast
