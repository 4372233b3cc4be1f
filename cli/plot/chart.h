// Rows that were asked over a range, as a chart: a line for each GPU (or whatever else was listed) over the swept number,
// with its intervals as bands.
#pragma once

#include <string>

#include "answers/rows.h"
#include "cli/plot/picture.h"

namespace tilecast {

struct ChartView {
  std::string title;
  std::string y = {};        // the column to draw
  std::string y_title = {};  // in words; empty: the column's name
};

// An error where nothing was swept, or the column has no numbers.
Result<Picture> sweep_chart(const AnswerRows& rows, const ChartView& view);

}  // namespace tilecast
