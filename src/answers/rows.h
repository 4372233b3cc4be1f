// Answers as rows of plain cells: one form for every question, from which tables, CSV and plots are made. It follows from
// the JSON document by a few rules, so that both have the same figures under the same names (docs/cli.md):
//
// - a member that is a text, a number or yes and no is a cell of that name;
// - {"memory_bytes": {"weights": 1}} is memory_weights_bytes: names are joined, the unit stays at the end;
// - "interval_us": [1, 2] is interval_low_us and interval_high_us; other lists of plain values are one cell;
// - dims are one cell, "m=8 n=4096";
// - lists of objects are left out, but for the one that holds the rows.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

struct RowCell {
  std::string text;              // in full precision, as CSV has it; empty: nothing is known
  std::optional<double> number;  // where it is one
  bool yes_no = false;           // the text is "true" or "false"
};

struct AnswerRows {
  std::vector<std::string> columns;
  std::vector<std::vector<RowCell>> rows;  // as many cells as columns
  std::size_t swept = 0;                   // columns in front that were given as ranges
  std::vector<std::string> units;          // of those
  std::vector<std::size_t> combination;    // of each row
  std::optional<Error> unmet;              // what was asked for is not to be had; the rows say what comes nearest

  // Position of a column.
  std::optional<std::size_t> find(std::string_view column) const;
  // The rows whose place among those of their combination is the first: the best of each plan.
  AnswerRows first_of_each() const;
};

// Adds the rows of a question's document; `arguments` holds what was swept for it.
void add_rows(AnswerRows& rows, std::string_view question, const nlohmann::ordered_json& document,
              const nlohmann::ordered_json& arguments, std::size_t combination);
// A combination that has no answer.
void add_error(AnswerRows& rows, const Error& problem, const nlohmann::ordered_json& arguments,
               std::size_t combination);

// A header line and a line for each row, quoted as RFC 4180 says.
std::string csv_text(const AnswerRows& rows);

}  // namespace tilecast
