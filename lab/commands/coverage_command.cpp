#include "lab/commands/coverage_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "estimate/shipped_weights.h"
#include "lab/commands/endtoend_command.h"
#include "lab/commands/shared.h"
#include "lab/evidence/accuracy.h"
#include "lab/evidence/visible.h"
#include "lab/import/import.h"
#include "measure/dims.h"
#include "measure/sample.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/input.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostHeaderBytes = 1'000'000;

std::vector<std::string> all_sources() {
  std::vector<std::string> sources;
  for (const std::string& name : split(end_to_end_sources(), ','))
    sources.push_back(name.substr(name.starts_with(' ')));
  return sources;
}

// Runs of one source: read if they were kept, otherwise judged and kept.
Result<std::vector<EndToEndResult>> judged_source(const CoverageCommand& command, const EndToEndCommand& models) {
  const std::string kept = command.keep.empty() ? "" : command.keep + "/runs_" + models.only + ".csv";
  if (!kept.empty() && something_at(kept)) return read_end_to_end_csv(kept);
  auto judged = judge_end_to_end(models);
  if (!judged || kept.empty()) return judged;
  if (auto written = write_text_file(kept, end_to_end_csv(*judged)); !written) return std::move(written).error();
  return judged;
}

Result<std::vector<EndToEndResult>> judged_runs(const CoverageCommand& command) {
  EndToEndCommand models;
  models.data = command.data, models.measurements = command.measurements, models.keep = command.keep;
  std::vector<EndToEndResult> results;
  for (const std::string& source : command.sources.empty() ? all_sources() : command.sources) {
    models.only = source;
    auto judged = judged_source(command, models);
    if (!judged) return judged;
    std::move(judged->begin(), judged->end(), std::back_inserter(results));
  }
  return results;
}

// What the shipped weights are trained on besides other people's tables (Makefile, `weights`).
constexpr std::array<std::string_view, 5> kOwnTables = {"h200_sweep.csv.gz", "h200_attention_rows.csv.gz",
                                                        "h200_small_rows.csv.gz", "h200_fp32_rows.csv.gz",
                                                        "h200_draw_rows.csv.gz"};
constexpr std::array<std::pair<Unseen, LeaveOut>, 3> kLeftOut = {
    {{Unseen::source, LeaveOut::source}, {Unseen::gpu, LeaveOut::gpu}, {Unseen::architecture, LeaveOut::architecture}}};

Result<std::vector<std::string>> kernel_tables(const CoverageCommand& command) {
  std::vector<std::string> sources;
  for (const std::string& name : split(source_names(), ',')) sources.push_back(name.substr(name.starts_with(' ')));
  auto paths = tables_of_sources(command.data, sources);
  if (!paths) return paths;
  for (const std::string_view own : kOwnTables)
    if (const std::string path = command.measurements + "/" + std::string(own); something_at(path))
      paths->push_back(path);
  return paths;
}

// Whether the shipped weights were trained on rows of this one's source. Small operators of some are several kernels at
// times, so they are left to judge (Makefile, `weights`): what else they would teach is not what ships.
bool teaches(const Measurement& row) {
  const FamilyModel* model = shipped_weights().find(row.kernel);
  return !model || model->trained_on.empty() || model->trained_on.contains(std::string(row.source));
}

// Whether the shipped weights have seen other shapes of the row's table on its card. Rows of sources that do not teach
// are not held-out shapes but another source's, which trainings without that source judge.
bool knows_its_table(const Measurement& row) {
  const FamilyModel* model = shipped_weights().find(row.kernel);
  return model && model->trained_on.contains(std::string(row.source)) && model->seen.contains(std::string(row.gpu));
}

// Rows for trainings, and rows at shapes that no training sees.
struct KernelRows {
  std::vector<Measurement> many, few, held_out;
};
Result<KernelRows> kernel_rows(const CoverageCommand& command, Names& names) {
  const auto paths = kernel_tables(command);
  if (!paths) return paths.error();
  Sampler many({command.sample, 0}), few({command.card_sample, 0}), apart({command.sample, 0});
  for (const std::string& path : *paths) {
    const auto read = read_any(path, names, ReadOptions{}, [&](const Measurement& row) {
      if (!trap_of(row).empty()) return Status(Ok{});
      many.offer(row), few.offer(row);
      if (held_out(row.kernel.shape) && knows_its_table(row)) apart.offer(row);
      return Status(Ok{});
    });
    if (!read) return read.error();
  }
  return KernelRows{many.take(), few.take(), apart.take()};
}

// Errors of one family with something left out: read if they were kept, otherwise found by training, where that was
// asked for.
Result<KernelErrors> left_out_errors(const CoverageCommand& command, const std::vector<Measurement>& rows,
                                     std::string_view family, Unseen unseen, LeaveOut by) {
  const std::string kept =
      command.keep.empty() ? "" : fmt::format("{}/kernels_{}_{}.csv", command.keep, name_of(unseen), family);
  if (!kept.empty() && something_at(kept)) {
    auto read = read_kernel_errors(kept);
    if (read || !command.train) return read;  // what another version kept is made again
  }
  if (!command.train) return KernelErrors{};
  std::vector<Measurement> own;
  for (const Measurement& row : rows)
    if (family_of(row.kernel.shape) == family && (by == LeaveOut::source || teaches(row))) own.push_back(row);
  TrainAllOptions options = train_options({}, command.trees, command.threads);
  options.teaches = teaches;
  const KernelErrors errors = kernel_errors(own, forecast_leaving_out(own, by, options, terminal_progress()), unseen);
  if (!kept.empty())
    if (auto written = write_text_file(kept, kernel_errors_csv(errors)); !written) return std::move(written).error();
  return errors;
}

}  // namespace

Result<KernelErrors> kernel_errors_of(const CoverageCommand& command) {
  Names names;
  const auto rows = kernel_rows(command, names);
  if (!rows) return rows.error();
  KernelErrors all =
      kernel_errors(rows->held_out, forecast_with(shipped_weights(), rows->held_out, command.threads), Unseen::shape);
  std::set<std::string_view> families;
  for (const Measurement& row : rows->many) families.insert(family_of(row.kernel.shape));
  const auto asked = [&](Unseen unseen) {
    const auto& named = command.leave_out;
    return named.empty() || std::find(named.begin(), named.end(), name_of(unseen)) != named.end();
  };
  for (const auto& [unseen, by] : kLeftOut)
    for (const std::string_view family : families) {
      if (!asked(unseen)) continue;
      auto errors = left_out_errors(command, unseen == Unseen::source ? rows->many : rows->few, family, unseen, by);
      if (!errors) return errors;
      std::move(errors->begin(), errors->end(), std::back_inserter(all));
    }
  return all;
}

Result<std::string> run_coverage(const CoverageCommand& command) {
  if (command.sample < 1) return Error{"--sample", "", "must be one or more", "for example 2000"};
  if (command.card_sample < 1) return Error{"--card-sample", "", "must be one or more", "for example 400"};
  if (!command.only.empty() && command.only != "kernels" && command.only != "runs")
    return Error{"--only", "", "must be kernels or runs, not '" + command.only + "'", "leave it out for both"};
  if (command.threads < 1) return Error{"--threads", "", "must be one or more", "as many as there are cores"};
  for (const std::string& what : command.leave_out)
    if (const auto known = leave_out_from(what); !known) return known.error();
  KernelErrors kernels;
  std::vector<EndToEndResult> runs;
  if (command.only != "runs") {
    auto judged = kernel_errors_of(command);
    if (!judged) return std::move(judged).error();
    kernels = *std::move(judged);
  }
  if (command.only != "kernels") {
    auto judged = judged_runs(command);
    if (!judged) return std::move(judged).error();
    runs = *std::move(judged);
  }
  CoverageRows rows = coverage_rows(kernels);
  for (CoverageRow& row : coverage_rows(runs)) rows.push_back(std::move(row));
  if (!command.figures.empty())
    if (auto written = write_text_file(command.figures, visible_csv(visible_figures(kernels, runs))); !written)
      return std::move(written).error();
  const Widths fitted = fit_widths(rows, kernels);
  Widths widths = shipped_widths();
  if (!command.constants.empty()) {
    const auto header = read_text_file(command.constants, kMostHeaderBytes);
    if (!header) return header.error();
    // The runs were just judged with the kernels' widths, so these change only with new trainings.
    const Widths taken = command.only == "kernels" ? fitted : widths_of_runs(fitted);
    if (auto written = write_text_file(command.constants, with_widths(*header, taken)); !written)
      return std::move(written).error();
    for (const auto& [kind, width] : taken) widths[kind] = width;
  }
  const std::string report = coverage_report(rows, widths, fitted);
  if (command.out.empty()) return report;
  if (auto written = write_text_file(command.out, accuracy_page_head() + report); !written)
    return std::move(written).error();
  return "wrote " + command.out + "\n";
}

}  // namespace tilecast
