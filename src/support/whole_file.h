// A text file that appears whole or not at all, compressed when its name ends in .gz.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tilecast {

class WholeFile {
 public:
  // Text goes to a temporary file beside `path`; only finish() puts it in place, and a writer that is destroyed
  // unfinished removes it.
  static Result<WholeFile> create(const std::string& path);
  WholeFile(WholeFile&&) noexcept;
  WholeFile& operator=(WholeFile&&) noexcept;
  ~WholeFile();

  // Where to append; full() says when it is time to hand the text on.
  std::string& buffer() { return buffer_; }
  bool full() const { return buffer_.size() >= kBlock; }
  Status flush();
  Status finish();

 private:
  static constexpr std::size_t kBlock = 1 << 18;
  struct File;
  explicit WholeFile(std::unique_ptr<File> file);

  std::unique_ptr<File> file_;
  std::string buffer_;
};

}  // namespace tilecast
