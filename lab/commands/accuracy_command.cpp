#include "lab/commands/accuracy_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "lab/commands/coverage_command.h"
#include "lab/commands/endtoend_command.h"
#include "lab/commands/shared.h"
#include "lab/evaluate/plots.h"
#include "lab/evidence/accuracy.h"
#include "lab/evidence/drawn_report.h"
#include "lab/fit/constants_report.h"
#include "lab/import/import.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/input.h"

namespace tilecast {
namespace {

Result<std::vector<CounterComparison>> counters_of(const std::string& folder) {
  const auto counters = read_counters(folder + "/h200_counters.csv");
  if (!counters) return counters.error();
  const auto h200 = find_gpu("H200-SXM");
  if (!h200) return h200.error();
  return compare_counters(*counters, *h200);
}

struct Plot {
  PlotLink link;
  std::string svg;
};
std::vector<Plot> plots_of(const AccuracyInputs& inputs) {
  const bool learned = !inputs.without_gpu.empty();
  const std::vector<Outcome>& ours = learned ? inputs.without_gpu : inputs.analytic;
  const std::string how = learned ? ", GPU left out" : ", nothing learned";
  const std::string map = "Mean error in % by GPU and family" + how;
  const std::string panels = "Forecast against measured time" + how;
  const std::string strips = "Which way forecasts miss, by regime" + how;
  return {{{"plots/errors.svg", map}, error_map(map, inputs.rows, ours)},
          {{"plots/forecasts.svg", panels}, forecast_against_measured(panels, inputs.rows, ours)},
          {{"plots/residuals.svg", strips},
           residuals_by_regime(strips, inputs.rows,
                               {{learned ? "tilecast" : "analytic", ours}, {"roofline", inputs.roofline}})}};
}

// The folder for the plots, beside the document: created before an hour of work, not after it.
Result<std::filesystem::path> plot_folder(const std::string& document) {
  const std::filesystem::path folder = std::filesystem::path(document).parent_path();
  std::error_code failure;
  for (const char* name : {"plots", "accuracy"}) {
    std::filesystem::create_directory(folder / name, failure);
    if (failure) return Error{"", "out", (folder / name).string() + " cannot be made", "check the folder"};
  }
  return folder;
}

// Draws the plots into the folder's plots/ and returns their paths relative to the folder.
Result<std::vector<PlotLink>> write_plots(const AccuracyInputs& inputs, const std::filesystem::path& folder) {
  std::vector<PlotLink> links;
  for (const Plot& plot : plots_of(inputs)) {
    if (auto written = write_text_file((folder / plot.link.path).string(), plot.svg); !written)
      return std::move(written).error();
    links.push_back(plot.link);
  }
  return links;
}

// What a minute on a real card is worth: the models are trained again without the card, on the rows that other sections
// judge.
Result<CardStudy> card_of(const AccuracyInputs& inputs, const AccuracyOptions& options, const std::string& folder) {
  constexpr const char* kCard = "H200-SXM";
  Names names;
  std::array<std::vector<Measurement>, 2> tables;
  for (const auto& [file, into] :
       {std::pair("/h200_quick.csv.gz", &tables[0]), std::pair("/h200_sweep.csv.gz", &tables[1])}) {
    const auto read = read_measurements(folder + file, names, {}, [&, into = into](const Measurement& row) -> Status {
      into->push_back(row);
      return Ok{};
    });
    if (!read) return read.error();
  }
  TrainAllOptions train = options.train;
  train.leave_out = {kCard};
  train.train.cards = train.train.intervals = false;
  const Weights without = train_all(inputs.rows, train, options.progress);
  return study_card(tables[0], tables[1], without, shipped_models(), options.threads);
}

Status study(AccuracyInputs& inputs, const AccuracyOptions& options, const std::string& folder) {
  inputs.calibrations = study_calibration(inputs.rows, options.train.train, options.progress);
  auto card = card_of(inputs, options, folder);
  if (!card) return std::move(card).error();
  inputs.card = *std::move(card);
  return Ok{};
}

// Only the section on calibration, which takes minutes.
Result<std::string> calibrations_only(const AccuracyCommand& command, const std::vector<std::string>& paths,
                                      const AccuracyOptions& options) {
  Names names;
  auto sampled = read_sampled(paths, options.sample, ReadOptions{}, names);
  if (!sampled) return std::move(sampled).error();
  AccuracyInputs inputs;
  inputs.rows = std::move(sampled->rows);
  std::erase_if(inputs.rows, [](const Measurement& row) { return !trap_of(row).empty(); });
  if (auto studied = study(inputs, options, command.measurements); !studied) return std::move(studied).error();
  if (auto written = write_text_file(command.out, section::calibration(inputs)); !written)
    return std::move(written).error();
  return "wrote " + command.out + "\n";
}

constexpr std::string_view kBlind = "/blind_test.csv", kVisible = "/visible.csv";

// Only the page of the blind test, beside the figures that the last complete run left.
Result<std::string> blind_only(const AccuracyCommand& command) {
  AccuracyInputs inputs;
  auto blind = read_blind(command.evidence + std::string(kBlind));
  if (!blind) return std::move(blind).error();
  auto visible = read_visible(command.evidence + std::string(kVisible));
  if (!visible) return std::move(visible).error();
  inputs.blind = *std::move(blind), inputs.visible = *std::move(visible);
  if (auto written = write_text_file(command.out, accuracy_page_head() + section::blind(inputs)); !written)
    return std::move(written).error();
  return "wrote " + command.out + "\n";
}

Result<std::vector<EndToEndResult>> whole_models_of(const AccuracyCommand& command) {
  EndToEndCommand models;
  models.data = command.data, models.measurements = command.measurements;
  return judge_end_to_end(models);
}

// Only the page of whole models.
Result<std::string> whole_models_only(const AccuracyCommand& command) {
  AccuracyInputs inputs;
  auto whole = whole_models_of(command);
  if (!whole) return std::move(whole).error();
  inputs.end_to_end = *std::move(whole);
  if (auto written = write_text_file(command.out, accuracy_page_head() + section::whole_models(inputs)); !written)
    return std::move(written).error();
  return "wrote " + command.out + "\n";
}

// The blind test beside what this run judged; the figures are kept for blind_only().
Status add_blind(AccuracyInputs& inputs, const AccuracyCommand& command, const KernelErrors& kernels) {
  if (!something_at(command.evidence + std::string(kBlind))) return Ok{};
  auto blind = read_blind(command.evidence + std::string(kBlind));
  if (!blind) return std::move(blind).error();
  inputs.blind = *std::move(blind);
  // Here cards and architectures are left out of larger trainings than the ones that were kept.
  KernelErrors errors = kernel_errors(inputs.rows, inputs.without_gpu, Unseen::gpu);
  for (KernelError& e : kernel_errors(inputs.rows, inputs.without_architecture, Unseen::architecture))
    errors.push_back(std::move(e));
  for (const KernelError& e : kernels)
    if (e.unseen == Unseen::shape || e.unseen == Unseen::source) errors.push_back(e);
  inputs.visible = visible_figures(errors, inputs.end_to_end);
  if (const std::string draw = command.measurements + "/h200_draw_judge.csv.gz"; something_at(draw)) {
    const auto drawn = judge_drawn(draw, shipped_weights(), kThreads);
    if (!drawn) return drawn.error();
    for (VisibleFigure& figure : drawn_figures(*drawn)) inputs.visible.push_back(std::move(figure));
  }
  return write_text_file(command.evidence + std::string(kVisible), visible_csv(inputs.visible));
}

AccuracyOptions options_of(const AccuracyCommand& command) {
  AccuracyOptions options;
  options.sample = {command.sample, 0};
  options.families = command.families;
  options.train = train_options(command.families, command.trees, kThreads);
  options.learn = !command.analytic;
  options.weights = &shipped_weights();
  options.threads = kThreads;
  options.progress = terminal_progress();
  return options;
}

Status add_collectives(AccuracyInputs& inputs, const std::string& data) {
  auto collectives = read_collectives(data);
  if (!collectives) return std::move(collectives).error();
  auto judged = judge_collectives(*std::move(collectives));
  if (!judged) return std::move(judged).error();
  if (auto done = judge_between_nodes(data, *judged); !done) return std::move(done).error();
  inputs.collectives = *std::move(judged);
  return Ok{};
}

// Whole models, how often intervals hold, and the blind test, which is compared with both.
Status add_whole_models(AccuracyInputs& inputs, const AccuracyCommand& command) {
  auto whole = whole_models_of(command);
  if (!whole) return std::move(whole).error();
  inputs.end_to_end = *std::move(whole);
  CoverageCommand coverage;
  coverage.data = command.data, coverage.measurements = command.measurements;
  if (something_at(command.keep)) coverage.keep = command.keep;
  const auto kernels = kernel_errors_of(coverage);
  if (!kernels) return kernels.error();
  inputs.coverage = coverage_rows(*kernels);
  for (CoverageRow& row : coverage_rows(inputs.end_to_end)) inputs.coverage.push_back(std::move(row));
  inputs.fitted_widths = fit_widths(inputs.coverage, *kernels);
  return command.families.empty() ? add_blind(inputs, command, *kernels) : Status(Ok{});
}

// The first page goes to the file that was named, the others into a folder beside it.
Result<std::string> write_pages(const AccuracyInputs& inputs, const std::string& out) {
  const std::filesystem::path beside = std::filesystem::path(out).parent_path();
  const auto pages = accuracy_pages(inputs);
  for (const AccuracyPage& page : pages) {
    const bool first = &page == &pages.front();
    if (auto written = write_text_file(first ? out : (beside / page.file).string(), page.text); !written)
      return std::move(written).error();
  }
  return fmt::format("wrote {}, {} pages beside it and {} plots\n", out, pages.size() - 1, inputs.plots.size());
}

// Every page.
Result<std::string> all_pages(const AccuracyCommand& command, const std::vector<std::string>& paths,
                              const AccuracyOptions& options, const std::filesystem::path& folder) {
  auto counters = counters_of(command.measurements);
  if (!counters) return std::move(counters).error();
  Names names;
  auto inputs = judge_tables(paths, options, ReadOptions{}, names);
  if (!inputs) return std::move(inputs).error();
  inputs->counters = *std::move(counters);
  const bool of_all_families = command.families.empty();  // otherwise only some kernels were asked for
  if (of_all_families)
    if (auto added = add_collectives(*inputs, command.data); !added) return std::move(added).error();
  if (something_at(command.data + "/e2e") && !command.analytic)
    if (auto added = add_whole_models(*inputs, command); !added) return std::move(added).error();
  if (of_all_families && !command.analytic)
    if (auto studied = study(*inputs, options, command.measurements); !studied) return std::move(studied).error();
  auto plots = write_plots(*inputs, folder);
  if (!plots) return std::move(plots).error();
  inputs->plots = *std::move(plots);
  if (const std::string page = (folder / "accuracy/constants.md").string(); something_at(page)) {
    const auto text = read_text_file(page, 1 << 20);
    if (!text) return text.error();
    inputs->refitted = learned_means_of(*text);
  }
  return write_pages(*inputs, command.out);
}

}  // namespace

Result<std::string> run_accuracy(const AccuracyCommand& command) {
  if (command.sample < 1) return Error{"", "sample", "must be one or more", "for example 4000"};
  if (command.trees < 1 || command.trees > 5000)
    return Error{"", "trees", "must lie between 1 and 5000", "200 are usual"};
  if (command.only == "blind") return blind_only(command);
  if (command.only == "whole-models") return whole_models_only(command);
  if (command.data.empty())
    return Error{"", "data", "is missing: the folder of measured tables",
                 "for example --data ../data: one folder per source"};
  if (!command.only.empty() && command.only != "calibration")
    return Error{"", "only", "must be calibration, blind or whole-models, not '" + command.only + "'",
                 "leave it out for every page"};
  auto paths = tables_of_sources(command.data, {});
  if (!paths) return std::move(paths).error();
  paths->push_back(command.measurements + "/h200_sweep.csv.gz");
  const auto folder = plot_folder(command.out);
  if (!folder) return folder.error();
  const AccuracyOptions options = options_of(command);
  if (command.only == "calibration") return calibrations_only(command, *paths, options);
  return all_pages(command, *paths, options, *folder);
}

}  // namespace tilecast
