// Bytes to lines, none longer than a bound: what is longer is passed over to its end and told of.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tilecast {

class BoundedLines {
 public:
  using Take = std::function<void(std::string_view line, bool too_long)>;

  BoundedLines(std::size_t most_bytes, Take take) : most_(most_bytes), take_(std::move(take)) {}
  void put(std::string_view bytes);
  // The end: what stands behind the last newline is a line too.
  void finish();

 private:
  void add(std::string_view part);
  void end_line();

  std::size_t most_;
  Take take_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace tilecast
