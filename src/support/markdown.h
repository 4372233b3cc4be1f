// Tables as Markdown writes them.
//
//   | family | rows |
//   |---|---:|
//   | gemm | 6000 |
#pragma once

#include <string>
#include <vector>

namespace tilecast {

class MarkdownTable {
 public:
  // Columns of words first, then columns of numbers, which stand to the right.
  MarkdownTable(std::vector<std::string> words, std::vector<std::string> numbers);
  void add(std::vector<std::string> cells);
  std::size_t columns() const { return titles_.size(); }
  std::string text() const;  // a blank line after it

 private:
  std::vector<std::string> titles_;
  std::size_t words_ = 0;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tilecast
