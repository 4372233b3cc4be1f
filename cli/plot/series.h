// The points of a chart, sorted into lines.
#pragma once

#include <string>
#include <vector>

#include "answers/rows.h"

namespace tilecast {

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // of its interval; both y where it has none
  bool fits = true;          // into memory, where that is asked
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by x
};

struct ChartData {
  std::string x_column, x_unit;
  std::vector<ChartSeries> series;
  bool has_intervals = false, all_fit = true;
};

// The column that is the x of a chart is the number with the most values that was swept or listed; lines differ in GPU,
// engine, format and whatever else was.
Result<ChartData> chart_data(const AnswerRows& rows, const std::string& y_column);

}  // namespace tilecast
