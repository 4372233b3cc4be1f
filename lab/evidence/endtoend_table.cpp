#include "lab/evidence/endtoend_table.h"

#include <algorithm>

namespace tilecast {

std::map<std::string, std::string> notes_of(const std::string& text) {
  std::map<std::string, std::string> notes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (!word.empty()) notes[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    at = end + 1;
  }
  return notes;
}

const std::string& TableRow::named(ColumnRole role) const {
  static const std::string kNone;
  for (const SourceColumn& column : source_->columns)
    if (column.role == role) return fields_.at(std::string(column.name));
  return kNone;
}

Result<RowNames> TableRow::names() const {
  auto card = gpu();
  if (!card) return std::move(card).error();
  auto name = model();
  if (!name) return std::move(name).error();
  auto type = format();
  if (!type) return std::move(type).error();
  return RowNames{*std::move(card), *std::move(name), *std::move(type)};
}

Result<TableRows> read_table(const SourceMapping& source, const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  std::vector<std::size_t> at;
  for (const SourceColumn& column : source.columns) {
    auto found = csv->column(column.name);
    if (!found) return std::move(found).error();
    at.push_back(*found);
  }
  TableRows read;
  for (auto more = csv->next(); !more || *more; more = csv->next()) {
    if (!more) return std::move(more).error();
    if (!csv->problem().empty()) {
      leave_out(read.left_out, "no row: " + csv->problem());
      continue;
    }
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i < at.size(); ++i)
      fields.emplace(std::string(source.columns[i].name), std::string((*csv)[at[i]]));
    read.rows.emplace_back(source, std::move(fields), csv->place());
  }
  return read;
}

}  // namespace tilecast
