// Text tables for people: columns sized to their widest cell, numbers to the right, words to the left.
//
//   GPU        forecast   bound
//   H100-SXM     212 µs  138 µs
#pragma once

#include <string>
#include <vector>

namespace tilecast {

enum class Align : unsigned char { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::right;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);
  std::string text(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns a UTF-8 text takes on a terminal (code points; good enough for µ, × and box characters).
std::size_t display_width(const std::string& text);

}  // namespace tilecast
