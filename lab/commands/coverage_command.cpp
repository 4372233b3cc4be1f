#include "lab/commands/coverage_command.h"

#include <algorithm>

#include "estimate/shipped_weights.h"
#include "lab/commands/endtoend_command.h"
#include "lab/commands/shared.h"
#include "lab/evaluate/evaluate.h"
#include "lab/evidence/accuracy.h"
#include "lab/import/import.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostHeaderBytes = 1'000'000;

Result<CoverageRows> run_coverage_rows(const CoverageCommand& command) {
  EndToEndCommand models;
  models.data = command.data, models.measurements = command.measurements, models.keep = command.keep;
  CoverageRows rows;
  for (const std::string& source : command.sources.empty() ? std::vector<std::string>{""} : command.sources) {
    models.only = source;
    const auto judged = judge_end_to_end(models);
    if (!judged) return judged.error();
    for (CoverageRow& row : coverage_rows(*judged)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Result<CoverageRows> kernel_coverage(const CoverageCommand& command) {
  std::vector<std::string> sources;
  for (const std::string& name : split(source_names(), ',')) sources.push_back(name.substr(name.starts_with(' ')));
  auto paths = tables_of_sources(command.data, sources);
  if (!paths) return std::move(paths).error();
  Names names;
  auto read = read_sampled(*paths, {command.sample, 0}, ReadOptions{}, names);
  if (!read) return std::move(read).error();
  std::erase_if(read->rows, [](const Measurement& row) { return !trap_of(row).empty(); });
  if (!command.train)
    return coverage_rows(read->rows, forecast_with(shipped_weights(), read->rows, kThreads), shipped_weights());
  return left_out_rows(read->rows,
                       forecast_leaving_out(read->rows, LeaveOut::source, train_options({}, command.trees, kThreads),
                                            terminal_progress()));
}

Result<std::string> run_coverage(const CoverageCommand& command) {
  if (command.sample < 1) return Error{"--sample", "", "must be one or more", ""};
  if (!command.only.empty() && command.only != "kernels" && command.only != "runs")
    return Error{"--only", "", "must be kernels or runs, not '" + command.only + "'", ""};
  CoverageRows rows;
  if (command.only != "runs") {
    auto kernels = kernel_coverage(command);
    if (!kernels) return std::move(kernels).error();
    rows = *std::move(kernels);
  }
  if (command.only != "kernels") {
    auto runs = run_coverage_rows(command);
    if (!runs) return std::move(runs).error();
    rows.insert(rows.end(), runs->begin(), runs->end());
  }
  if (!command.constants.empty()) {
    const auto header = read_text_file(command.constants, kMostHeaderBytes);
    if (!header) return header.error();
    if (auto written = write_text_file(command.constants, with_widths(*header, fit_widths(rows))); !written)
      return std::move(written).error();
  }
  const std::string report = coverage_report(rows);
  if (command.out.empty()) return report;
  if (auto written = write_text_file(command.out, accuracy_page_head() + report); !written)
    return std::move(written).error();
  return "wrote " + command.out + "\n";
}

}  // namespace tilecast
