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

Result<std::vector<TableRow>> read_table(const std::string& path, const std::vector<std::string>& columns) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  std::vector<std::size_t> at;
  for (const std::string& column : columns) {
    auto found = csv->column(column);
    if (!found) return std::move(found).error();
    at.push_back(*found);
  }
  std::vector<TableRow> rows;
  for (auto more = csv->next(); !more || *more; more = csv->next()) {
    if (!more) return std::move(more).error();
    if (!csv->problem().empty()) return Error{csv->place(), "", csv->problem(), ""};
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i < at.size(); ++i) fields.emplace(columns[i], std::string((*csv)[at[i]]));
    rows.emplace_back(std::move(fields), csv->place());
  }
  return rows;
}

}  // namespace tilecast
