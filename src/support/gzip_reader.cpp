#include "support/gzip_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "support/input.h"

namespace tilecast {
namespace {

constexpr std::size_t kBlock = 1 << 18;
// Tables and traces compress five to forty times. A file that compresses far more is one byte repeated: a mistake or a
// trap, reported before it fills the memory. Small files are exempt.
constexpr Count kHarmless = Count{256} << 20;
constexpr Count kMostExpansion = 200;

}  // namespace

struct ByteReader::File {
  explicit File(const std::string& path) : handle(gzopen(path.c_str(), "rb")) {
    if (handle) gzbuffer(handle, kBlock);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (handle) gzclose_r(handle);
  }
  bool go_on() const {
    if (!watch) return true;
    const double share = size > 0 ? static_cast<double>(gzoffset(handle)) / static_cast<double>(size) : 0;
    return watch.go_on(std::clamp(share, 0.0, 1.0));
  }
  gzFile handle;
  Count unpacked = 0;
  Watch watch;
  std::uintmax_t size = 0;  // as it lies there; 0: not known
};

ByteReader::ByteReader(std::string path, std::unique_ptr<File> file) : path_(std::move(path)), file_(std::move(file)) {}
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;
ByteReader::~ByteReader() = default;

Result<ByteReader> ByteReader::open(const std::string& path, Watch watch) {
  const auto name = openable_path(path);
  if (!name) return name.error();
  auto file = std::make_unique<File>(*name);
  if (!file->handle) return Error{path, "", "cannot be opened", "check its permissions"};
  if (watch) {
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(*name, unknown);
    if (!unknown) file->size = size;
    file->watch = std::move(watch);
  }
  return ByteReader(path, std::move(file));
}

Result<std::size_t> ByteReader::read(char* into, std::size_t most) {
  if (!file_->go_on()) return stopped();
  const int got = gzread(file_->handle, into, static_cast<unsigned>(most));
  int code = Z_OK;
  const char* message = gzerror(file_->handle, &code);
  // A truncated archive ends in Z_BUF_ERROR after its last whole block, a damaged one in Z_DATA_ERROR.
  if (got < 0 || code < 0)
    return Error{path_, "",
                 code == Z_BUF_ERROR ? "the compressed data end too early"
                                     : fmt::format("the compressed data are damaged ({})", message),
                 "copy or download the file again"};
  file_->unpacked += got;
  if (file_->unpacked > kHarmless && !gzdirect(file_->handle) &&
      file_->unpacked / kMostExpansion > static_cast<Count>(gzoffset(file_->handle)))
    return Error{path_, "", fmt::format("unpacks to more than {} times its size", kMostExpansion),
                 "is it the right file? If so, unpack it first"};
  return static_cast<std::size_t>(got);
}

Result<LineReader> LineReader::open(const std::string& path, std::size_t most_line, Watch watch) {
  auto bytes = ByteReader::open(path, std::move(watch));
  if (!bytes) return std::move(bytes).error();
  return LineReader(*std::move(bytes), most_line);
}

// Moves the unread part to the front and reads one more block behind it.
Status LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kBlock) buffer_.resize(end_ + kBlock);
  auto got = bytes_.read(buffer_.data() + end_, kBlock);
  if (!got) {
    Error failure = std::move(got).error();
    if (is_stopped(failure)) return failure;
    failure.problem += fmt::format(", after line {}", line_);
    return failure;
  }
  at_end_ = *got == 0;
  end_ += *got;
  return Ok{};
}

std::string_view LineReader::take(std::size_t length, std::size_t skip) {
  std::string_view line(buffer_.data() + begin_, length);
  begin_ += length + skip;
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<std::optional<std::string_view>> LineReader::next() {
  std::size_t searched = 0;
  while (true) {
    const std::size_t unread = end_ - begin_;
    if (unread > searched) {
      const char* start = buffer_.data() + begin_;
      if (const void* newline = std::memchr(start + searched, '\n', unread - searched)) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - start);
        if (length <= most_line_) return std::optional(take(length, 1));
        searched = most_line_ + 1;
      } else {
        searched = unread;
      }
    }
    if (searched > most_line_)
      return Error{fmt::format("{}:{}", path(), line_ + 1), "",
                   fmt::format("the line is longer than {} bytes", most_line_), "is it the right file?"};
    if (at_end_) {
      if (unread == 0) return std::optional<std::string_view>();
      return std::optional(take(unread, 0));
    }
    if (auto filled = fill(); !filled) return std::move(filled).error();
  }
}

}  // namespace tilecast
