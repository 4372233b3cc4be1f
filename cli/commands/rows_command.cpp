#include "cli/commands/rows_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "answers/ask.h"
#include "cli/plot/chart.h"
#include "cli/terminal/countdown.h"
#include "cli/terminal/marked_text.h"
#include "cli/views/rows_view.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Shows at once, not after the answers: what is no picture's name, no plain file, or cannot be written.
Status check_plot(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    return field_error("plot", fmt::format("'{}' is no .svg or .png file", path), "for example --plot sweep.svg");
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return field_error("plot", fmt::format("'{}' is no plain file", path), "name a file to write");
  return check_writable(path);
}

Result<ChartView> chart_view(const RowsOptions& o, const RowsView& view, const AnswerRows& rows) {
  ChartView chart{.title = o.heading, .y = o.plot_y.empty() ? std::string(view.plotted) : o.plot_y};
  for (char& c : chart.y)
    if (c == '-') c = '_';
  for (const ShownColumn& column : view.columns)
    if (column.column == chart.y) chart.y_title = column.title;
  if (o.plot_y.empty() || rows.find(chart.y)) return chart;
  return field_error("plot-y", fmt::format("'{}' is no column", o.plot_y), "the first line of --csv names them all");
}

Status write_plot(const RowsOptions& o, const RowsView& view, const AnswerRows& all) {
  const AnswerRows rows = view.first_alone ? all.first_of_each() : all;
  const auto chart = chart_view(o, view, rows);
  if (!chart) return chart.error();
  const auto picture = sweep_chart(rows, *chart);
  if (!picture) return picture.error();
  return write_text_file(o.plot, o.plot.ends_with(".png") ? picture->png() : picture->svg());
}

}  // namespace

Answer run_rows(const RowsOptions& o) {
  if (o.csv && o.json) return field_error("csv", "and --json exclude each other", "give one of them");
  if (!o.plot.empty())
    if (auto fine = check_plot(o.plot); !fine) return std::move(fine).error();
  if (o.plot.empty() && !o.plot_y.empty())
    return field_error("plot-y", "has no effect without --plot", "give --plot too, or leave it out");
  if (o.json && o.plot.empty()) return ask(o.question, o.query);
  Countdown countdown("asking");
  std::mutex one_at_a_time;
  const auto rows = ask_rows(o.question, o.query, [&](double share) {
    const std::lock_guard lock(one_at_a_time);
    countdown(share);
  });
  if (!rows) return rows.error();
  const RowsView& view = rows_view(o.question);
  if (!o.plot.empty())
    if (auto written = write_plot(o, view, *rows); !written) return std::move(written).error();
  if (o.json) return ask(o.question, o.query);
  std::string text = o.csv ? csv_text(*rows) : rows_text(view, *rows, o.heading);
  if (!o.csv)
    text += "\n" + (o.plot.empty() ? hint_text("--plot FILE.svg draws this; --csv and --json have every figure.")
                                   : "Wrote " + o.plot + ".") + "\n";
  if (rows->unmet) return {std::move(text), *rows->unmet};
  return Result<std::string>(std::move(text));
}

}  // namespace tilecast
