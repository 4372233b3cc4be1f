#include "support/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "support/folder.h"
#include "support/input.h"

namespace tilecast {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel follows
// Fast compression: tables of millions of rows are written often and read once or twice.
constexpr const char* kCompressed = "wb1";

Error not_written(const std::string& path, int code) {
  return Error{path, "", fmt::format("cannot be written: {}", std::strerror(code)), "check folder and permissions"};
}
Error not_whole(const std::string& path, int code) {
  return Error{path, "", fmt::format("could not be written to its end: {}", std::strerror(code)),
               remedy_of_write(code)};
}

// Where the text goes.
struct Target {
  std::string file;     // the plain file to replace, behind all links; empty where something is written itself
  int descriptor = -1;  // an open descriptor of ours that was named
  std::optional<struct stat> before;  // of the plain file, where there is one
};

// The last of a chain of links, which need not exist.
Result<std::string> behind_links(const std::string& path) {
  std::string name = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code failure;
    if (!fs::is_symlink(fs::symlink_status(name, failure))) return name;
    const fs::path next = fs::read_symlink(name, failure);
    if (failure) return not_written(path, failure.value());
    name = next.is_absolute() ? next.string() : (fs::path(name).parent_path() / next).string();
  }
  return not_written(path, ELOOP);
}

Result<Target> target_of(const std::string& path) {
  if (path.empty())
    return Error{"", "", "the path of a file to write is empty", "name a file, or - for standard output"};
  Target target;
  target.descriptor = path == "-" ? STDOUT_FILENO : descriptor_named(path);
  if (target.descriptor >= 0) return target;
  struct stat info {};
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Error{path, "", "is a directory, not a file", "name a file in it"};
    if (S_ISBLK(info.st_mode)) return Error{path, "", "is a disk, not a file", "name a file"};
    if (!S_ISREG(info.st_mode)) return target;
    target.before = info;
  } else if (errno != ENOENT) {
    return not_written(path, errno);
  }
  auto file = behind_links(path);
  if (!file) return std::move(file).error();
  if (file->ends_with('/')) return Error{path, "", "is a directory, not a file", "name a file in it"};
  target.file = *std::move(file);
  // Renaming over a file needs no write permission on it, but a read-only file is meant to stay.
  if (target.before && access(target.file.c_str(), W_OK) != 0) return not_written(path, errno);
  return target;
}

std::string random_name() {
  std::random_device random;
  std::string name = ".tilecast-";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (int i = 0; i < 16; ++i) name += kLetters[random() % kLetters.size()];
  return name;
}

struct Temporary {
  std::string path;
  int descriptor = -1;
};

// A new file beside the target: never an existing one, not even a planted link.
Result<Temporary> temporary_beside(const Target& target, const std::string& path) {
  const fs::path folder = fs::path(target.file).parent_path();
  const mode_t mode = target.before ? 0600 : 0666;
  for (int attempt = 0; attempt < 16; ++attempt) {
    Temporary made{(folder / random_name()).string(), -1};
    made.descriptor = open(made.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (made.descriptor >= 0) return made;
    if (errno != EEXIST) break;
  }
  return not_written(path, errno);
}

// Permissions as they were; the owner too if allowed, which only matters for root.
bool keep_permissions(int descriptor, const struct stat& before) {
  const bool other = before.st_uid != geteuid() || before.st_gid != getegid();
  const bool kept = !other || fchown(descriptor, before.st_uid, before.st_gid) == 0;
  return fchmod(descriptor, before.st_mode & (kept ? 07777 : 0777)) == 0;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

std::string remedy_of_write(int code) {
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) return "free some of the disk, or write elsewhere";
  if (code == EBADF) return "it is closed, or open for reading alone";
  return "write elsewhere";
}

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes) {
  const auto name = openable_path(path);
  if (!name) return name.error();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name->c_str(), "rb"), &std::fclose);
  if (!file) return Error{path, "", fmt::format("cannot be opened: {}", std::strerror(errno)), "check its permissions"};
  std::string text;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, got);
    if (text.size() > most_bytes)
      return Error{path, "", fmt::format("is larger than {} bytes", most_bytes), "is it the right file?"};
  }
  if (std::ferror(file.get())) return Error{path, "", "could not be read to its end", "check the disk"};
  return text;
}

struct FileWriter::File {
  std::string path;       // as the user named it
  std::string target;     // what the temporary file replaces; empty where the thing itself is written
  std::string temporary;  // empty once there is none to remove
  int descriptor = -1;
  gzFile compressed = nullptr;  // over a duplicate of the descriptor
  std::optional<struct stat> before;

  ~File() {
    if (compressed) gzclose_w(compressed);
    if (descriptor >= 0) close(descriptor);
    if (!temporary.empty()) unlink(temporary.c_str());
  }
  Status open(const Target& found) {
    target = found.file;
    before = found.before;
    if (found.descriptor >= 0) descriptor = fcntl(found.descriptor, F_DUPFD_CLOEXEC, 0);
    else if (target.empty()) descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (found.descriptor >= 0 || target.empty()) return descriptor >= 0 ? Status(Ok{}) : not_written(path, errno);
    auto made = temporary_beside(found, path);
    if (!made) return std::move(made).error();
    temporary = std::move(made->path);
    descriptor = made->descriptor;
    return Ok{};
  }
  Status compress() {
    const int twin = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (twin < 0) return not_written(path, errno);
    compressed = gzdopen(twin, kCompressed);
    if (compressed) return Ok{};
    close(twin);
    return not_written(path, ENOMEM);
  }
  bool put(std::string_view text) {
    if (!compressed) return write_all(descriptor, text);
    return text.empty() || gzwrite(compressed, text.data(), static_cast<unsigned>(text.size())) > 0;
  }
  // Flush to disk: some systems only report here that it is full.
  bool settle() {
    if (compressed && gzclose_w(std::exchange(compressed, nullptr)) != Z_OK) return false;
    if (!temporary.empty() && before && !keep_permissions(descriptor, *before)) return false;
    if (!temporary.empty() && fsync(descriptor) != 0) return false;
    return close(std::exchange(descriptor, -1)) == 0;
  }
};

FileWriter::FileWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
FileWriter::FileWriter(FileWriter&&) noexcept = default;
FileWriter& FileWriter::operator=(FileWriter&&) noexcept = default;
FileWriter::~FileWriter() = default;

Result<FileWriter> FileWriter::create(const std::string& path, Form form) {
  const auto target = target_of(path);
  if (!target) return target.error();
  auto file = std::make_unique<File>();
  file->path = path;
  if (auto opened = file->open(*target); !opened) return std::move(opened).error();
  if (form == Form::by_name && path.ends_with(".gz"))
    if (auto ready = file->compress(); !ready) return std::move(ready).error();
  return FileWriter(std::move(file));
}

Status FileWriter::flush() {
  errno = 0;
  if (!file_->put(buffer_)) return not_whole(file_->path, errno ? errno : EIO);
  buffer_.clear();
  return Ok{};
}

Status FileWriter::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  errno = 0;
  if (!file_->settle()) return not_whole(file_->path, errno ? errno : EIO);
  if (file_->temporary.empty()) return Ok{};
  if (std::rename(file_->temporary.c_str(), file_->target.c_str()) != 0) return not_written(file_->path, errno);
  file_->temporary.clear();
  return Ok{};
}

Status write_text_file(const std::string& path, std::string_view text) {
  auto file = FileWriter::create(path, FileWriter::Form::plain);
  if (!file) return std::move(file).error();
  file->buffer() = text;
  return file->finish();
}

Status check_writable(const std::string& path) {
  const auto target = target_of(path);
  if (!target) return target.error();
  if (target->descriptor >= 0) return Ok{};
  // Opening a pipe would wait for its reader, and closing it again would end that reader's input.
  if (target->file.empty()) return access(path.c_str(), W_OK) == 0 ? Status(Ok{}) : not_written(path, errno);
  const auto made = temporary_beside(*target, path);
  if (!made) return made.error();
  close(made->descriptor);
  unlink(made->path.c_str());
  return Ok{};
}

namespace {

// Removes what was begun unless it was finished.
struct UnfinishedFolder {
  fs::path path;
  ~UnfinishedFolder() {
    std::error_code failure;
    if (!path.empty()) fs::remove_all(path, failure);
  }
};

// The folder itself, without a trailing slash.
fs::path folder_of(const std::string& path) {
  const fs::path folder(path);
  return folder.has_filename() ? folder : folder.parent_path();
}

// A new one beside it, under an unguessable name.
Result<fs::path> folder_beside(const fs::path& folder, const std::string& path) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    fs::path made = folder.parent_path() / random_name();
    if (mkdir(made.c_str(), 0777) == 0) return made;
    if (errno != EEXIST) break;
  }
  return not_written(path, errno);
}

}  // namespace

Status check_new_folder(const std::string& path) {
  if (path.empty()) return Error{"", "", "the path of a folder to write is empty", "name a new folder"};
  const fs::path folder = folder_of(path);
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(folder, failure);
  if (fs::exists(status) && (!fs::is_directory(status) || !fs::is_empty(folder, failure)))
    return Error{path, "", "is there already", "name a new folder, or an empty one"};
  const auto made = folder_beside(folder, path);
  if (!made) return made.error();
  rmdir(made->c_str());
  return Ok{};
}

Status write_new_folder(const std::string& path, const std::vector<FolderFile>& files) {
  if (auto fine = check_new_folder(path); !fine) return fine;
  const fs::path folder = folder_of(path);
  const auto made = folder_beside(folder, path);
  if (!made) return made.error();
  UnfinishedFolder unfinished{*made};
  for (const FolderFile& file : files) {
    const fs::path name = *made / file.name;
    std::error_code failure;
    fs::create_directories(name.parent_path(), failure);
    if (failure) return not_written(path, failure.value());
    if (auto written = write_text_file(name.string(), file.text); !written) return written;
  }
  // Over an empty folder too: rename replaces that.
  if (std::rename(made->c_str(), folder.c_str()) != 0) return not_written(path, errno);
  unfinished.path.clear();
  return Ok{};
}

}  // namespace tilecast
