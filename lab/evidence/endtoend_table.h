// Rows of a table by column names, for the readers of whole-model measurements: small files, read whole. Every row of a
// table becomes (part of) a case or is counted with the reason why not.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/import/source_mapping.h"
#include "support/csv.h"

namespace tilecast {

// A whole number written any way; 0 where there is none, or none that counts anything.
inline Count count_in(const std::string& text) {
  const double value = to_double(text).value_or(0);
  return value > -1e15 && value < 1e15 ? static_cast<Count>(value) : 0;
}

// What a row's run was of, in our words.
struct RowNames {
  Gpu gpu;
  std::string model;
  Format format;
};

class TableRow {
 public:
  TableRow(const SourceMapping& source, std::map<std::string, std::string> fields, std::string place)
      : source_(&source), fields_(std::move(fields)), place_(std::move(place)) {}
  // A column that the source declares; empty where the row leaves it blank.
  const std::string& operator[](const std::string& column) const { return fields_.at(column); }
  double number(const std::string& column) const { return to_double(fields_.at(column)).value_or(0); }
  Count count(const std::string& column) const { return count_in(fields_.at(column)); }
  const std::string& place() const { return place_; }

  // What the row's names mean under its source's mapping, by the columns' roles; an error says why the row is left out.
  Result<Gpu> gpu() const { return gpu_of(*source_, named(ColumnRole::gpu)); }
  Result<std::string> model() const { return model_name_of(*source_, named(ColumnRole::model)); }
  Result<Format> format() const { return format_of(*source_, named(ColumnRole::format)); }
  Result<RowNames> names() const;  // all three, or why the first that is unknown leaves the row out

 private:
  const std::string& named(ColumnRole role) const;

  const SourceMapping* source_;
  std::map<std::string, std::string> fields_;
  std::string place_;
};

// A field of words "key=value" between semicolons; those without "=" have an empty value.
std::map<std::string, std::string> notes_of(const std::string& text);

struct TableRows {
  std::vector<TableRow> rows;
  LeftOutRows left_out;  // lines that are not rows: fields missing, a stray quote
};
// Every usable row with the columns that the source declares; an error names a missing one.
Result<TableRows> read_table(const SourceMapping& source, const std::string& path);

inline const std::string kNoForecast = "no forecast: ";  // begins the reason of cases that a method cannot judge

// What became of a table: the cases, how many rows they are made of, and why the other rows were left out.
template <class Case>
struct ReadCases {
  std::vector<Case> cases = {};
  Count rows = 0;
  LeftOutRows left_out = {};

  // Adds a case made of this many rows, or leaves them out: an error's problem is the reason.
  void add(Result<Case> made, Count of_rows = 1) {
    if (!made) return leave_out(left_out, made.error().problem, of_rows);
    cases.push_back(*std::move(made));
    rows += of_rows;
  }
  // Adds what became of another table of the same source.
  void add(ReadCases other) {
    std::move(other.cases.begin(), other.cases.end(), std::back_inserter(cases));
    rows += other.rows;
    for (const auto& [reason, number] : other.left_out) leave_out(left_out, reason, number);
  }
};

// The loop for readers that make one case of each row.
template <class Case>
Result<ReadCases<Case>> read_cases(const SourceMapping& source, const std::string& path,
                                   const std::function<Result<Case>(const TableRow&)>& case_of) {
  auto table = read_table(source, path);
  if (!table) return std::move(table).error();
  ReadCases<Case> read;
  read.left_out = std::move(table->left_out);
  for (const TableRow& row : table->rows) read.add(case_of(row));
  return read;
}

}  // namespace tilecast
