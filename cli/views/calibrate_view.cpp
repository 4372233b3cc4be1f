#include "cli/views/calibrate_view.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "support/table.h"

namespace tilecast {
namespace {

// "bytes to and from DRAM take 6 % longer than forecast"
std::string factor_words(const CalibrationReport::TimeFactor& one) {
  static const std::map<std::string, std::string> words = {{"math", "arithmetic takes"},
                                                           {"l2", "bytes through L2 take"},
                                                           {"dram", "bytes to and from DRAM take"},
                                                           {"latency", "dependent steps, prologues and epilogues take"},
                                                           {"floor", "being launched takes"}};
  const auto found = words.find(one.term);
  const std::string what = found == words.end() ? one.term + " takes" : found->second;
  const double change = one.factor - 1;
  constexpr double kNone = 0.015;
  if (std::abs(change) < kNone) return what + " what was forecast";
  return fmt::format("{} {:.0f} % {} than forecast", what, 100 * std::abs(change), change > 0 ? "longer" : "less");
}

// "its work draws 4 % less energy than its kind's"
std::string power_words(const CalibrationReport& report) {
  const auto change = [](double factor, const char* more, const char* less) {
    constexpr double kNone = 0.015;
    if (std::abs(factor - 1) < kNone) return std::string("as forecast");
    return fmt::format("{:.0f} % {} than forecast", 100 * std::abs(factor - 1), factor > 1 ? more : less);
  };
  return "  its work takes energy " + change(report.energy_factor, "more", "less") + ", bursts draw " +
         change(report.burst_factor, "more", "less") + "\n";
}

std::vector<std::string> error_cells(const std::string& name, Count rows, double before, double after) {
  return {name, std::to_string(rows), fmt::format("{:.1f} %", 100 * before), fmt::format("{:.1f} %", 100 * after)};
}

std::string fitted_table(const CalibrationReport& report) {
  Table table({{"family", Align::left}, {"rows"}, {"before"}, {"after"}, {"points"}, {"", Align::left}});
  Count rows = 0;
  for (const CalibratedFamily& f : report.families) {
    rows += f.rows;
    std::vector<std::string> cells = error_cells(f.family, f.rows, f.error_before, f.error_after);
    cells.insert(cells.end(), {std::to_string(f.points), f.kept ? "" : "no better: left as it was"});
    table.add(std::move(cells));
  }
  std::vector<std::string> all = error_cells("all rows", rows, report.error_before, report.error_after);
  all.insert(all.end(), {"", ""});
  table.add(std::move(all));
  if (report.sustained_rows > 0) {
    all = error_cells("of these sustained", report.sustained_rows, report.sustained_before, report.sustained_after);
    all.insert(all.end(), {"", ""});
    table.add(std::move(all));
  }
  return table.shown(2);
}

std::string judged_table(const CalibrationReport& report) {
  Table table({{"family", Align::left}, {"rows"}, {"before"}, {"after"}});
  for (const CalibratedFamily& f : report.judged)
    table.add(error_cells(f.family, f.rows, f.error_before, f.error_after));
  table.add(error_cells("all rows", report.judged_rows, report.judged_before, report.judged_after));
  if (report.judged_sustained_rows > 0)
    table.add(error_cells("of these sustained", report.judged_sustained_rows, report.judged_sustained_before,
                          report.judged_sustained_after));
  return table.shown(2);
}

}  // namespace

std::string calibration_text(const CalibrationReport& report, const CalibrateRun& run) {
  std::string out = fmt::format("{}: {} measured rows, {} families and formats, fitted in {:.1f} s\n\n", report.gpu,
                                report.rows, report.families.size(), run.seconds);
  out += "What they say of the card, in all families:\n";
  for (const auto& factor : report.time_factors) out += "  " + factor_words(factor) + "\n";
  out += power_words(report);
  out += "\nError of rows that the fit had not seen, five times a fifth of them left out:\n" + fitted_table(report);
  if (!run.judge.empty())
    out += fmt::format("\nError of the rows of {}, shapes fitted to left out:\n", run.judge) + judged_table(report);
  if (report.rows_without_plan > 0)
    out += fmt::format("\n{} rows were not used: no plan for them on this GPU\n", report.rows_without_plan);
  out += fmt::format("\n{} written; every command takes it:\n  tilecast predict Llama-3.1-8B --gpu {}\n", run.written,
                     run.written);
  return out;
}

}  // namespace tilecast
