#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/input.h"

namespace tilecast {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto name = openable_path(path);
  if (!name) return name.error();
  const int descriptor = ::open(name->c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Error{path, "", std::string("cannot be opened: ") + std::strerror(errno), "check the path"};
  struct stat info {};
  const bool regular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* data = regular && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  close(descriptor);
  if (!regular) return Error{path, "", "is not a file", "name the file itself"};
  if (data == MAP_FAILED) return Error{path, "", "cannot be mapped into memory", "check that it can be read"};
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<char*>(data_), size_);
}

}  // namespace tilecast
