#include "cli/accuracy_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/data_shared.h"
#include "gpu/registry.h"
#include "learn/accuracy.h"
#include "learn/plots.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Every table under a folder that an importer reads; power_* files are steady-state runs of another protocol.
Result<std::vector<std::string>> tables_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code failure;
  for (const char* part : {"aiconfigurator", "neusight/kernels_train", "neusight/kernels_test", "synperf"}) {
    const fs::path below = fs::path(folder) / part;
    for (const auto& entry : fs::directory_iterator(below, failure)) {
      const std::string name = entry.path().filename().string();
      const bool other = name.starts_with("power_") || name.starts_with("_") || name.starts_with("e2e") ||
                         name.find("allreduce") != std::string::npos || name.starts_with("nccl") ||
                         name.starts_with("deepep") || name.find("alltoall") != std::string::npos ||
                         name.find("_module") != std::string::npos;
      if (name.ends_with(".csv.gz") && !other) paths.push_back(entry.path().string());
    }
    if (failure)
      return Error{below.string(), "", "cannot be listed", "--data names the folder with the measured tables"};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<CounterComparison>> counters_of(const std::string& folder) {
  const auto counters = read_counters(folder + "/h200_counters.csv");
  if (!counters) return counters.error();
  const auto h200 = find_gpu("H200-SXM");
  if (!h200) return h200.error();
  return compare_counters(*counters, *h200);
}

// Draws plots/*.svg beside the document, and says where they are from there.
Result<std::vector<std::string>> write_plots(const AccuracyInputs& inputs, const std::string& document) {
  const bool learned = !inputs.without_gpu.empty();
  const std::vector<Outcome>& ours = learned ? inputs.without_gpu : inputs.analytic;
  const std::string name = learned ? "tilecast" : "analytic", how = learned ? "GPU left out" : "nothing learned";
  const std::filesystem::path folder = std::filesystem::path(document).parent_path();
  std::error_code failure;
  std::filesystem::create_directories(folder / "plots", failure);
  std::vector<std::string> paths;
  for (const auto& [path, svg] : {
           std::pair("plots/errors.svg", error_map("Mean error in % by GPU and family, " + how, inputs.rows, ours)),
           std::pair("plots/forecasts.svg",
                     forecast_against_measured("Forecast against measured time, " + how, inputs.rows, ours)),
           std::pair("plots/residuals.svg",
                     residuals_by_regime("Which way forecasts miss, by regime, " + how, inputs.rows,
                                         {{name, ours}, {"roofline", inputs.roofline}})),
       }) {
    if (auto written = write_text_file((folder / path).string(), svg); !written) return std::move(written).error();
    paths.emplace_back(path);
  }
  return paths;
}

}  // namespace

Result<std::string> run_accuracy(const AccuracyCommand& command) {
  if (command.sample < 1) return Error{"--sample", "", "must be one or more", ""};
  if (command.trees < 1 || command.trees > 5000) return Error{"--trees", "", "must lie between 1 and 5000", ""};
  auto paths = tables_below(command.data);
  if (!paths) return std::move(paths).error();
  paths->push_back(command.measurements + "/h200_sweep.csv.gz");
  auto counters = counters_of(command.measurements);
  if (!counters) return std::move(counters).error();
  AccuracyOptions options;
  options.sample = {command.sample, 0};
  options.families = command.families;
  options.train = train_options(command.families, command.trees, kThreads);
  options.learn = !command.analytic;
  options.threads = kThreads;
  options.progress = terminal_progress();
  Names names;
  auto inputs = judge_tables(*paths, options, ReadOptions{}, names);
  if (!inputs) return std::move(inputs).error();
  inputs->counters = *std::move(counters);
  auto plots = write_plots(*inputs, command.out);
  if (!plots) return std::move(plots).error();
  inputs->plots = *std::move(plots);
  if (auto written = write_text_file(command.out, accuracy_report(*inputs)); !written)
    return std::move(written).error();
  return fmt::format("wrote {} and {} plots\n", command.out, inputs->plots.size());
}

}  // namespace tilecast
