#include "support/markdown.h"

#include <cassert>

namespace tilecast {

MarkdownTable::MarkdownTable(std::vector<std::string> words, std::vector<std::string> numbers)
    : titles_(std::move(words)), words_(titles_.size()) {
  for (std::string& title : numbers) titles_.push_back(std::move(title));
}

void MarkdownTable::add(std::vector<std::string> cells) {
  assert(cells.size() == titles_.size());
  rows_.push_back(std::move(cells));
}

std::string MarkdownTable::text() const {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) out += "| " + cell + " ";
    out += "|\n";
  };
  line(titles_);
  for (std::size_t c = 0; c < titles_.size(); ++c) out += c < words_ ? "|---" : "|---:";
  out += "|\n";
  for (const auto& row : rows_) line(row);
  return out + "\n";
}

}  // namespace tilecast
