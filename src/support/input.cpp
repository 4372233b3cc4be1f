#include "support/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "support/given_file.h"

namespace tilecast {
namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Identity = std::pair<dev_t, ino_t>;

constexpr int kWriterAttempts = 100, kAttemptUs = 50'000;  // five seconds for a FIFO's writer to come

struct Kept {
  std::mutex lock;
  std::map<Identity, TemporaryFile> files;
};
// A stream belongs to the process and is gone once read, so its content must be kept by the process too.
Kept& kept() {
  static Kept all;
  return all;
}

std::string path_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }
std::string path_of(const TemporaryFile& file) { return path_of(fileno(file.get())); }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

Error not_opened(const std::string& path) {
  if (errno == ENOENT || errno == ENOTDIR) return Error{path, "", "no such file", "check the path"};
  return Error{path, "", fmt::format("cannot be opened: {}", std::strerror(errno)), "check the path and permissions"};
}

// Opening a FIFO for reading would wait for its writer, possibly forever. So it was opened without blocking: reads
// return at once while there is no writer, and fail for lack of data once there is one.
Status wait_for_writer(int fifo, std::string& first, const std::string& path) {
  for (int attempt = 0; attempt < kWriterAttempts; ++attempt) {
    char block[1 << 12];
    const ssize_t got = read(fifo, block, sizeof block);
    if (got == 0) {
      usleep(kAttemptUs);
      continue;
    }
    if (got < 0 && errno != EAGAIN) break;
    if (got > 0) first.assign(block, static_cast<std::size_t>(got));
    fcntl(fifo, F_SETFL, fcntl(fifo, F_GETFL) & ~O_NONBLOCK);
    return Ok{};
  }
  return Error{path, "", "is a pipe that nobody writes to", "start its writer, or save it to a file first"};
}

bool put(const TemporaryFile& file, const char* block, std::size_t bytes) {
  return std::fwrite(block, 1, bytes, file.get()) == bytes;
}

Result<TemporaryFile> copy_of(int from, const std::string& begun, const std::string& path) {
  const Error no_room{path, "", "is a pipe, and there is no room to keep it", "save it to a file first"};
  TemporaryFile file(std::tmpfile(), &std::fclose);
  if (!file || !put(file, begun.data(), begun.size())) return no_room;
  std::vector<char> block(1 << 16);
  std::uint64_t bytes = begun.size();
  while (true) {
    const ssize_t got = read(from, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Error{path, "", fmt::format("could not be read: {}", std::strerror(errno)), "save it to a file first"};
    if (got == 0) break;
    bytes += static_cast<std::uint64_t>(got);
    if (bytes > kMostPiped)
      return Error{path, "", fmt::format("gives more than {} MiB", kMostPiped >> 20), "save it to a file first"};
    if (!put(file, block.data(), static_cast<std::size_t>(got))) return no_room;
  }
  if (std::fflush(file.get()) != 0) return no_room;
  return file;
}

// Folders that inputs may come from; empty and unused while everything may be read.
struct Rules {
  bool restricted = false;
  std::vector<std::filesystem::path> folders;
};
Rules& rules() {
  static Rules all;
  return all;
}

std::filesystem::path real_path(const std::string& path) {
  std::error_code failure;
  const auto absolute = std::filesystem::absolute(path, failure);
  const auto real = std::filesystem::weakly_canonical(absolute, failure);
  return failure ? std::filesystem::path() : real;
}

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return !folder.empty() && end == folder.end() && rest != path.end();
}

}  // namespace

void restrict_inputs(const std::vector<std::string>& folders) {
  rules().restricted = true;
  rules().folders.clear();
  for (const std::string& folder : folders)
    if (auto real = real_path(folder); !real.empty()) {
      if (!real.has_filename()) real = real.parent_path();  // "data/"
      rules().folders.push_back(std::move(real));
    }
}

bool inputs_restricted() { return rules().restricted; }

bool is_allowed_input(const std::string& path) {
  if (!rules().restricted) return true;
  if (path == "-") return false;
  const auto real = real_path(path);
  if (real.empty()) return false;
  const auto fits = [&real](const auto& folder) { return lies_below(real, folder); };
  return std::any_of(rules().folders.begin(), rules().folders.end(), fits) || lies_below(real, given_files_folder());
}

int descriptor_named(const std::string& path) {
  std::string name = path;
  // /dev/stdout -> /proc/self/fd/1, which itself is a link to no path.
  for (int links = 0; links < 8; ++links) {
    for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
      if (!name.starts_with(folder)) continue;
      int number = -1;
      const char* end = name.data() + name.size();
      const auto read = std::from_chars(name.data() + folder.size(), end, number);
      return read.ec == std::errc{} && read.ptr == end ? number : -1;
    }
    std::error_code failure;
    const auto next = std::filesystem::read_symlink(name, failure);
    if (failure) return -1;
    name = next.is_absolute() ? next.string() : (std::filesystem::path(name).parent_path() / next).string();
  }
  return -1;
}

bool something_at(const std::string& path) {
  if (!is_allowed_input(path)) return false;
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_stream(const std::string& path) {
  struct stat info {};
  if (!is_allowed_input(path)) return false;
  if (path == "-") return true;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Result<std::string> openable_path(const std::string& path) {
  if (path.empty()) return Error{"", "", "the path of a file is empty", "name a file, or - for standard input"};
  if (!is_allowed_input(path)) return Error{path, "", "is not a file that may be read here", "send the file itself"};
  const int named = path == "-" ? STDIN_FILENO : descriptor_named(path);
  struct stat info {};
  if ((named >= 0 ? fstat(named, &info) : stat(path.c_str(), &info)) != 0) return not_opened(path);
  if (S_ISDIR(info.st_mode)) return Error{path, "", "is a directory, not a file", "name a file in it"};
  if (S_ISREG(info.st_mode)) return path == "-" ? path_of(named) : path;
  if (S_ISBLK(info.st_mode)) return Error{path, "", "is a disk, not a file", "name a file"};
  const std::lock_guard guard(kept().lock);
  const Identity identity{info.st_dev, info.st_ino};
  if (const auto found = kept().files.find(identity); found != kept().files.end()) return path_of(found->second);
  const bool fifo = named < 0 && S_ISFIFO(info.st_mode);
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (fifo ? O_NONBLOCK : 0);
  const Descriptor opened(named >= 0 ? fcntl(named, F_DUPFD_CLOEXEC, 0) : open(path.c_str(), flags));
  if (opened.number() < 0) return not_opened(path);
  std::string begun;
  if (fifo)
    if (auto ready = wait_for_writer(opened.number(), begun, path); !ready) return std::move(ready).error();
  auto copy = copy_of(opened.number(), begun, path);
  if (!copy) return std::move(copy).error();
  return path_of(kept().files.emplace(identity, *std::move(copy)).first->second);
}

}  // namespace tilecast
