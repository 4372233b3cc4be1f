#include "cli/commands/rows_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "answers/ask.h"
#include "cli/commands/rows_picture.h"
#include "cli/terminal/countdown.h"
#include "cli/terminal/marked_text.h"
#include "cli/views/rows_view.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Shows at once, not after the answers: what is no picture's name, no plain file, or cannot be written.
Status check_plot(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png"))
    return field_error("plot", fmt::format("'{}' is not an .svg or .png file", path), "for example --plot sweep.svg");
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return field_error("plot", fmt::format("'{}' is not a plain file", path), "name a file to write");
  return check_writable(path);
}

Status write_plot(const RowsOptions& o, const AnswerRows& rows) {
  const auto picture = rows_picture(rows, {o.question, o.heading, o.plot_y, o.plot.ends_with(".png")});
  return picture ? write_text_file(o.plot, *picture) : Status(picture.error());
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
    if (auto written = write_plot(o, *rows); !written) return std::move(written).error();
  if (o.json) return ask(o.question, o.query);
  std::string text = o.csv ? csv_text(*rows) : rows_text(view, *rows, o.heading);
  if (!o.csv)
    text += "\n" +
            (o.plot.empty() ? hint_text("--plot FILE.svg draws this; --csv and --json have every figure.")
                            : "Wrote " + o.plot + ".") +
            "\n";
  if (rows->unmet) return {std::move(text), *rows->unmet};
  return Result<std::string>(std::move(text));
}

}  // namespace tilecast
