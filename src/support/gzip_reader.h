// Bytes or lines of a file, plain or gzip-compressed (told apart by the gzip magic, not by the name), without ever
// holding more of it than a block and one line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tilecast/result.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

class ByteReader {
 public:
  // The watcher is told the share of the file read so far, block by block, and may stop it: a read then gives
  // stopped().
  static Result<ByteReader> open(const std::string& path, Watch watch = {});
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;
  ~ByteReader();

  // At most `most` bytes; fewer only near the end, none at it. A truncated or corrupt archive is an error that names
  // the file, however many bytes came before.
  Result<std::size_t> read(char* into, std::size_t most);
  const std::string& path() const { return path_; }

 private:
  struct File;
  ByteReader(std::string path, std::unique_ptr<File> file);
  std::string path_;
  std::unique_ptr<File> file_;
};

class LineReader {
 public:
  // No table has longer lines; a longer one means a wrong file (a model, an archive) and must not exhaust memory.
  static constexpr std::size_t kMostLine = 1 << 20;

  static Result<LineReader> open(const std::string& path, std::size_t most_line = kMostLine, Watch watch = {});
  // The next line without its end ("\n" or "\r\n"), valid until the next call; nothing at the end of the file. A
  // truncated or corrupt archive is an error that names the file, however many lines came before.
  Result<std::optional<std::string_view>> next();

  const std::string& path() const { return bytes_.path(); }
  Count line() const { return line_; }  // of the line returned last, from one

 private:
  LineReader(ByteReader bytes, std::size_t most_line) : bytes_(std::move(bytes)), most_line_(most_line) {}
  Status fill();
  std::string_view take(std::size_t length, std::size_t skip);

  ByteReader bytes_;
  std::size_t most_line_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part of buffer_
  bool at_end_ = false;
  Count line_ = 0;
};

}  // namespace tilecast
