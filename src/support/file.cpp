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

Status write_text_file(const std::string& path, const std::string& text) {
  const std::string neighbour = path + ".part";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(neighbour.c_str(), "wb"), &std::fclose);
  if (!file)
    return Error{path, "", fmt::format("cannot be written: {}", std::strerror(errno)), "check folder and permissions"};
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  file.reset();
  std::error_code failure;
  if (whole) std::filesystem::rename(neighbour, path, failure);
  if (!whole || failure) {
    std::filesystem::remove(neighbour, failure);
    return Error{path, "", "could not be written whole", "is the disk full?"};
  }
  return Ok{};
}

}  // namespace tilecast
