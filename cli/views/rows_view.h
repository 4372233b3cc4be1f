// Rows of any question (answers/rows.h) for people: what a question asked over ranges shows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "answers/rows.h"

namespace tilecast {

// What a column's numbers are, where its name does not end in a unit.
enum class RowForm : unsigned char { by_unit, share, count, rate, dollars };

struct ShownColumn {
  std::string_view column;  // "interval_us" stands for its two ends
  std::string_view title;
  RowForm form = RowForm::by_unit;
};

// What is shown of a question's rows, and what a plot of them draws.
struct RowsView {
  std::string_view question;
  std::span<const ShownColumn> columns;
  std::string_view plotted;
  bool first_alone = false;  // rows are ranked, and the first answers the question
};

// The view of a question; those without one of their own show nothing but their first few columns.
const RowsView& rows_view(std::string_view question);

// One row for each combination, what was swept in front. `heading` says what was asked.
std::string rows_text(const RowsView& view, const AnswerRows& rows, std::string_view heading);

}  // namespace tilecast
