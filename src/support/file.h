// Reading whole files, and the only way the program writes files: completely or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tilecast/result.h"

namespace tilecast {

// Text of a file, with a cap so that a wrong path to something huge cannot exhaust memory. "-" is standard input.
Result<std::string> read_text_file(const std::string& path, std::size_t most_bytes);

// A file that appears completely or not at all. Text goes to a temporary file beside the target, under an unguessable
// name; only finish() puts it in place, with the permissions the target had, and a writer destroyed before that leaves
// nothing. Links are followed: the file a link points to is the target. Anything but a regular file (/dev/null, a pipe,
// an open descriptor such as /dev/stdout) is written directly; "-" is standard output.
class FileWriter {
 public:
  enum class Form { by_name, plain };  // by_name: compressed when the name ends in .gz

  static Result<FileWriter> create(const std::string& path, Form form = Form::by_name);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();

  // Where to append; full() says when to pass the text on.
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

// The same in one call; the text is written unchanged, whatever the name.
Status write_text_file(const std::string& path, std::string_view text);

// What to try where writing failed with this errno.
std::string remedy_of_write(int code);

// Whether that could begin: for programs that compute for long before they write. Changes nothing.
Status check_writable(const std::string& path);

}  // namespace tilecast
