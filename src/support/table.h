// Tables, for people and for Markdown: numbers are right-aligned, words left-aligned.
//
//   GPU        forecast   bound        | GPU | forecast | bound |
//   H100-SXM     212 µs  138 µs        |---|---:|---:|
//                                      | H100-SXM | 212 µs | 138 µs |
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
  // Columns of words first, then columns of numbers.
  Table(std::vector<std::string> words, std::vector<std::string> numbers);
  void add(std::vector<std::string> cells);

  // For a terminal: columns as wide as their widest cell.
  std::string text(int indent = 0) const;
  // The same with its heading and its end marked (support/marks.h).
  std::string shown(int indent = 0) const;
  // A blank line after it.
  std::string markdown() const;

 private:
  std::string lines(int indent, bool with_marks) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns a UTF-8 text takes on a terminal (code points; good enough for µ, × and box characters); marks take none.
std::size_t display_width(const std::string& text);

}  // namespace tilecast
