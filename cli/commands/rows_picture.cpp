#include "cli/commands/rows_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/plot/chart.h"
#include "cli/views/answer_drawings.h"
#include "cli/views/rows_view.h"

namespace tilecast {
namespace {

Result<ChartView> chart_view(const AnswerChart& asked, const RowsView& view, const AnswerRows& rows) {
  ChartView chart{.title = asked.title, .y = asked.y.empty() ? std::string(view.plotted) : asked.y};
  std::replace(chart.y.begin(), chart.y.end(), '-', '_');
  for (const ShownColumn& column : view.columns)
    if (column.column == chart.y) chart.y_title = column.title;
  if (asked.y.empty() || rows.find(chart.y)) return chart;
  return field_error("plot-y", fmt::format("'{}' is not a column", asked.y), "the first line of --csv names them all");
}

}  // namespace

Result<std::string> rows_picture(const AnswerRows& all, const AnswerChart& asked) {
  const RowsView& view = rows_view(asked.question);
  const AnswerRows rows = view.first_alone ? all.first_of_each() : all;
  const auto chart = chart_view(asked, view, rows);
  if (!chart) return chart.error();
  const auto picture = sweep_chart(rows, *chart);
  if (!picture) return picture.error();
  return asked.png ? picture->png() : picture->svg();
}

const AnswerDrawings& served_drawings() {
  static const AnswerDrawings all = [] {
    AnswerDrawings drawings = answer_drawings();
    drawings.chart = rows_picture;
    return drawings;
  }();
  return all;
}

}  // namespace tilecast
