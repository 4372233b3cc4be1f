#include "support/table.h"

#include <algorithm>
#include <cassert>

#include "support/marks.h"

namespace tilecast {

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_mark_at(text, i)) i += kMarkLength - 1;
    else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
  }
  return width;
}

Table::Table(std::vector<std::string> words, std::vector<std::string> numbers) {
  for (std::string& title : words) columns_.push_back({std::move(title), Align::left});
  for (std::string& title : numbers) columns_.push_back({std::move(title), Align::right});
}

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(int indent) const { return lines(indent, false); }

std::string Table::shown(int indent) const { return lines(indent, true); }

std::string Table::lines(int indent, bool with_marks) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell) {
    std::string text(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& word = cell(c);
      const std::string pad(widths[c] - display_width(word), ' ');
      if (c) text += "  ";
      text += columns_[c].align == Align::left ? word + pad : pad + word;
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  if (with_marks) out = marked(Mark::heading, out.substr(0, out.size() - 1)) + "\n";
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
  if (with_marks) out.insert(out.size() - 1, mark_text(Mark::rows_end));
  return out;
}

std::string Table::markdown() const {
  std::string out;
  for (const Column& column : columns_) out += "| " + column.title + " ";
  out += "|\n";
  for (const Column& column : columns_) out += column.align == Align::left ? "|---" : "|---:";
  out += "|\n";
  for (const auto& row : rows_) {
    for (const std::string& cell : row) out += "| " + cell + " ";
    out += "|\n";
  }
  return out + "\n";
}

}  // namespace tilecast
