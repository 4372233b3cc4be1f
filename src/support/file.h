// Reading files whole, and the one way the program writes files: whole or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

// Text of a file, with a cap so that a wrong path to something huge cannot exhaust memory. "-" is standard input.
Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

// A file that appears whole or not at all. Text goes to a temporary file beside
// the target, under a name nobody can guess; only finish() puts it in place, with the permissions the target had, and a
// writer that is destroyed unfinished leaves nothing. A link is followed: the file it points to is the target. What is
// no plain file (/dev/null, a pipe, an open descriptor such as /dev/stdout) is written itself; "-" is standard output.
class FileWriter {
 public:
  enum class Form { by_name, plain };  // by_name: compressed when the name ends in .gz

  static Result<FileWriter> create(const std::string& path, Form form = Form::by_name);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();

  // Where to append; full() says when it is time to hand the text on.
  std::string& buffer() { return buffer_; }
  bool full() const { return buffer_.size() >= kBlock; }
  Status flush();
  Status finish();

 private:
  static constexpr std::size_t kBlock = 1 << 18;
  struct File;
  explicit FileWriter(std::unique_ptr<File> file);

  std::unique_ptr<File> file_;
  std::string buffer_;
};

// The same in one go; the text is written as it is, whatever the name.
Status write_text_file(const std::string& path, std::string_view text);

// Whether that could begin: for programs that compute for long before they write. Changes nothing.
Status check_writable(const std::string& path);

}  // namespace tilecast
