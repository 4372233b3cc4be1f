#include "support/csv.h"

#include <fmt/format.h>

#include "support/printable.h"
#include "support/text.h"

namespace tilecast {

Result<CsvReader> CsvReader::open(const std::string& path, bool (*is_header)(std::string_view), Watch watch) {
  auto lines = LineReader::open(path, LineReader::kMostLine, std::move(watch));
  if (!lines) return std::move(lines).error();
  CsvReader reader(*std::move(lines));
  auto first = reader.lines_.next();
  while (is_header && first && *first && !is_header(**first)) first = reader.lines_.next();
  if (!first) return std::move(first).error();
  if (!*first) return Error{path, "", "is empty", "a table starts with a line of column names"};
  std::string_view header = **first;
  if (header.starts_with("\xef\xbb\xbf")) header.remove_prefix(3);  // the byte-order mark of spreadsheet programs
  reader.split_row(header);
  if (!reader.problem_.empty()) return Error{reader.place(), "", reader.problem_, "is it a CSV table?"};
  for (std::string_view name : reader.fields_) reader.header_.emplace_back(name);
  return reader;
}

std::optional<std::size_t> CsvReader::find_column(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i] == name) return i;
  return std::nullopt;
}

Result<std::size_t> CsvReader::column(std::string_view name) const {
  if (auto found = find_column(name)) return *found;
  return Error{path(), std::string(name), "the table has no such column",
               suggestion(name, header_, "it has " + first_of(header_))};
}

Result<bool> CsvReader::next() {
  while (true) {
    auto line = lines_.next();
    if (!line) return std::move(line).error();
    if (!*line) return false;
    if ((*line)->empty()) continue;
    split_row(**line);
    cut_short_ = problem_.empty() && fields_.size() < header_.size();
    if (problem_.empty() && fields_.size() != header_.size())
      problem_ = fmt::format("has {} fields, the header {}", fields_.size(), header_.size());
    fields_.resize(header_.size());
    return true;
  }
}

std::string CsvReader::place() const { return fmt::format("{}:{}", path(), line()); }

void CsvReader::split_row(std::string_view line) {
  fields_.clear();
  problem_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // so that views into it stay valid
  std::size_t at = 0;
  while (true) {
    if (at < line.size() && line[at] == '"') {
      at = quoted_field(line, at + 1);
    } else {
      const auto comma = std::min(line.find(',', at), line.size());
      fields_.push_back(line.substr(at, comma - at));
      at = comma;
    }
    if (at >= line.size()) return;
    ++at;  // the comma
  }
}

// Reads from after the opening quote; returns the position of the comma after the field, or the end.
std::size_t CsvReader::quoted_field(std::string_view line, std::size_t at) {
  const std::size_t start = unquoted_.size();
  while (true) {
    const auto quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      problem_ = "a quote is not closed on its line";
      fields_.emplace_back();
      return line.size();
    }
    unquoted_.append(line.substr(at, quote - at));
    at = quote + 1;
    if (at < line.size() && line[at] == '"') {
      unquoted_.push_back('"');
      ++at;
      continue;
    }
    fields_.push_back(std::string_view(unquoted_).substr(start));
    if (at < line.size() && line[at] != ',') {
      problem_ = "text follows a closing quote";
      return line.size();
    }
    return at;
  }
}

void append_csv(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out.push_back('"');
  for (char c : field) {
    if (c == '"') out.push_back('"');
    out.push_back(c == '\n' || c == '\r' ? ' ' : c);
  }
  out.push_back('"');
}

}  // namespace tilecast
