// Rows of a table by column names, for the readers of whole-model measurements: small files, read whole.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/csv.h"

namespace tilecast {

// A whole number written any way; 0 where there is none, or none that counts anything.
inline Count count_in(const std::string& text) {
  const double value = to_double(text).value_or(0);
  return value > -1e15 && value < 1e15 ? static_cast<Count>(value) : 0;
}

class TableRow {
 public:
  explicit TableRow(std::map<std::string, std::string> fields, std::string place)
      : fields_(std::move(fields)), place_(std::move(place)) {}
  // A column that the reader asked for; empty where the row leaves it blank.
  const std::string& operator[](const std::string& column) const { return fields_.at(column); }
  double number(const std::string& column) const { return to_double(fields_.at(column)).value_or(0); }
  Count count(const std::string& column) const { return count_in(fields_.at(column)); }
  const std::string& place() const { return place_; }

 private:
  std::map<std::string, std::string> fields_;
  std::string place_;
};

// A field of words "key=value" between semicolons; those without "=" have an empty value.
std::map<std::string, std::string> notes_of(const std::string& text);

// Every usable row with these columns; an error names what is missing.
Result<std::vector<TableRow>> read_table(const std::string& path, const std::vector<std::string>& columns);

}  // namespace tilecast
