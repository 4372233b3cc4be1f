// Lines of a text file, plain or gzip-compressed (told apart by the gzip magic, not by the name), without ever holding
// more of it than a block and one line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"
#include "units/units.h"

namespace tilecast {

class LineReader {
 public:
  // No table has longer lines; a longer one means a wrong file (a model, an archive) and must not exhaust memory.
  static constexpr std::size_t kMostLine = 1 << 20;

  static Result<LineReader> open(const std::string& path, std::size_t most_line = kMostLine);
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // The next line without its end ("\n" or "\r\n"), valid until the next call; nothing at the end of the file. A
  // truncated or corrupt archive is an error that names the file, however many lines came before.
  Result<std::optional<std::string_view>> next();

  const std::string& path() const { return path_; }
  Count line() const { return line_; }  // of the line returned last, from one

 private:
  struct File;
  LineReader(std::string path, std::size_t most_line, std::unique_ptr<File> file);
  Status fill();
  std::string_view take(std::size_t length, std::size_t skip);

  std::string path_;
  std::size_t most_line_;
  std::unique_ptr<File> file_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part of buffer_
  bool at_end_ = false;
  Count line_ = 0;
};

}  // namespace tilecast
