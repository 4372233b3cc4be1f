#include "support/whole_file.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>

namespace tilecast {
namespace {

// Fast compression: tables of millions of rows are written often and read once or twice.
constexpr const char* kCompressed = "wb1";
constexpr const char* kPlain = "wbT";  // zlib's "transparent": no compression, the same calls

}  // namespace

struct WholeFile::File {
  std::string path, temporary;
  gzFile handle = nullptr;

  Error failure(std::string what) const {
    return Error{path, "", std::move(what), "check the folder and the disk's space"};
  }
  ~File() {
    if (handle) gzclose_w(handle);
    if (!temporary.empty()) std::remove(temporary.c_str());
  }
};

WholeFile::WholeFile(std::unique_ptr<File> file) : file_(std::move(file)) {}
WholeFile::WholeFile(WholeFile&&) noexcept = default;
WholeFile& WholeFile::operator=(WholeFile&&) noexcept = default;
WholeFile::~WholeFile() = default;

Result<WholeFile> WholeFile::create(const std::string& path) {
  auto file = std::make_unique<File>();
  file->path = path;
  const std::string temporary = fmt::format("{}.{}.part", path, getpid());
  file->handle = gzopen(temporary.c_str(), path.ends_with(".gz") ? kCompressed : kPlain);
  if (!file->handle) return file->failure("cannot be written");
  file->temporary = temporary;
  gzbuffer(file->handle, kBlock);
  return WholeFile(std::move(file));
}

Status WholeFile::flush() {
  const auto size = static_cast<unsigned>(buffer_.size());
  if (size > 0 && gzwrite(file_->handle, buffer_.data(), size) != static_cast<int>(size))
    return file_->failure("could not be written to its end");
  buffer_.clear();
  return Ok{};
}

Status WholeFile::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  const int closed = gzclose_w(file_->handle);
  file_->handle = nullptr;
  if (closed != Z_OK) return file_->failure("could not be written to its end");
  if (std::rename(file_->temporary.c_str(), file_->path.c_str()) != 0)
    return file_->failure("could not be put in place");
  file_->temporary.clear();
  return Ok{};
}

}  // namespace tilecast
