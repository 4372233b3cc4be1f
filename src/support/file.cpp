#include "support/file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tilecast {

Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes) {
  std::error_code status_error;
  const auto status = std::filesystem::status(path, status_error);
  if (status_error || !std::filesystem::exists(status)) return Error{path, "", "no such file", "check the path"};
  if (std::filesystem::is_directory(status)) return Error{path, "", "is a directory, not a file", "name a file in it"};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
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

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Where the text goes first.
Result<std::string> written_first(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (std::filesystem::is_directory(status)) return Error{path, "", "is a directory, not a file", "name a file in it"};
  const bool plain = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  return plain ? path + ".part" : path;
}

Error not_writable(const std::string& path) {
  return Error{path, "", fmt::format("cannot be written: {}", std::strerror(errno)), "check folder and permissions"};
}

}  // namespace

Status write_text_file(const std::string& path, const std::string& text) {
  const auto first = written_first(path);
  if (!first) return first.error();
  File file(std::fopen(first->c_str(), "wb"), &std::fclose);
  if (!file) return not_writable(path);
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  file.reset();
  std::error_code failure;
  if (whole && *first != path) std::filesystem::rename(*first, path, failure);
  if (whole && !failure) return Ok{};
  if (*first != path) std::filesystem::remove(*first, failure);
  return Error{path, "", "could not be written whole", "is the disk full?"};
}

Status check_writable(const std::string& path) {
  const auto first = written_first(path);
  if (!first) return first.error();
  if (*first == path) return Ok{};
  if (!File(std::fopen(first->c_str(), "ab"), &std::fclose)) return not_writable(path);
  std::error_code ignored;
  std::filesystem::remove(*first, ignored);
  return Ok{};
}

}  // namespace tilecast
