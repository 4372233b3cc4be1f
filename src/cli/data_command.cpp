#include "cli/data_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "cli/units_text.h"
#include "gpu/registry.h"
#include "learn/accuracy.h"
#include "learn/counters.h"
#include "learn/dims.h"
#include "learn/evaluate.h"
#include "learn/import.h"
#include "learn/method.h"
#include "learn/protocols.h"
#include "learn/train_all.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kThreads = 2;

std::string summary_of(const ReadReport& report) {
  std::string text = fmt::format("{} rows", report.rows);
  if (report.bad > 0) text += fmt::format(", {} bad rows skipped", report.bad);
  for (const auto& [reason, rows] : report.left_out) text += fmt::format("\n  left out: {} rows, {}", rows, reason);
  for (const std::string& problem : report.problems) text += "\n  " + problem;
  return text + "\n";
}

Json group_json(const Group& group, const std::vector<Key>& by, bool seen) {
  Json json = Json::object();
  for (std::size_t i = 0; i < by.size(); ++i)
    json[std::string(kKeyNames[static_cast<std::size_t>(by[i])])] = group.keys[i];
  json["rows"] = group.rows;
  json["mean"] = group.mean;
  json["median"] = group.median;
  json["p90"] = group.p90;
  json["bias"] = group.bias;
  json["coverage"] = group.coverage;
  json["below_bound"] = group.below_bound;
  json["bound_violations"] = group.violation_share();
  json["seen"] = seen;
  return json;
}

std::string group_table(const std::vector<Group>& groups, const std::vector<Key>& by) {
  std::vector<Table::Column> columns;
  for (const Key key : by) columns.push_back({std::string(kKeyNames[static_cast<std::size_t>(key)]), Align::left});
  for (const char* title : {"rows", "mean", "median", "p90", "bias", "in interval", "faster than bound"})
    columns.push_back({title});
  Table table(std::move(columns));
  const auto share = [](double v) { return fmt::format("{:.1f} %", v * 100); };
  for (const Group& group : groups) {
    std::vector<std::string> cells = group.keys;
    for (std::string cell :
         {std::to_string(group.rows), share(group.mean), share(group.median), share(group.p90), share(group.bias),
          share(group.coverage), fmt::format("{:.2f} %", group.violation_share() * 100)})
      cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  return table.text();
}

// Progress with the time left, on the terminal only.
Progress terminal_progress() {
  if (!isatty(STDERR_FILENO)) return {};
  const auto start = std::chrono::steady_clock::now();
  return [start](double share, std::string_view what) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string left = share > 0 ? fmt::format(", {:.0f} s left", spent * (1 - share) / share) : "";
    fmt::print(stderr, "\r\033[K{:3.0f} %{}  {}", share * 100, left, what);
    if (share >= 1) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  };
}

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads) {
  TrainAllOptions options;
  options.families = families;
  options.train.boost.trees = static_cast<int>(trees);
  options.train.boost.threads = threads;
  return options;
}

// Rows that weights can be judged on as seen: shapes held out of every training.
SampledRows held_out_rows(SampledRows sampled) {
  std::erase_if(sampled.rows, [](const Measurement& row) { return !held_out(row.kernel.shape); });
  return sampled;
}

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

}  // namespace

Result<std::string> run_import(const ImportCommand& command) {
  const auto source = source_from(command.from);
  if (!source) return source.error();
  ReadOptions options;
  options.most_bad = command.most_bad;
  auto report = import_files(*source, command.files, command.out, options);
  if (!report) return std::move(report).error();
  return command.out + ": " + summary_of(*report);
}

namespace {

// Training of a paper's method: every row but those of left-out GPUs, other families, known traps and held-out shapes.
Result<std::string> train_paper(Method method, const TrainCommand& command, const SampledRows& sampled) {
  if (command.epochs < 0 || command.epochs > 100000) return Error{"--epochs", "", "must lie between 0 and 100000", ""};
  if (command.most_rows < 0) return Error{"--most-rows", "", "must be zero (all) or more", ""};
  const auto listed = [](const std::vector<std::string>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& one) { return name_key(one) == name_key(name); });
  };
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < sampled.rows.size(); ++i) {
    const Measurement& row = sampled.rows[i];
    if (!command.families.empty() && !listed(command.families, family_of(row.kernel.shape))) continue;
    if (listed(command.leave_out, row.gpu) || !trap_of(row).empty() || held_out(row.kernel.shape)) continue;
    chosen.push_back(i);
  }
  MethodOptions options;
  if (command.epochs > 0) options.neusight.epochs = options.synperf.epochs = static_cast<int>(command.epochs);
  options.neusight.most_rows = options.synperf.most_rows = command.most_rows;
  options.neusight.threads = options.synperf.threads = command.threads;
  if (command.seed) options.neusight.seed = options.synperf.seed = static_cast<std::uint64_t>(*command.seed);
  const auto trained = train_method(method, sampled.rows, chosen, options, terminal_progress());
  if (!trained) return trained.error();
  if (auto saved = write_text_file(command.out, (*trained)->bytes()); !saved) return std::move(saved).error();
  return fmt::format("{}: {} trained on {} of {} rows read\n{}", command.out, name_of(method), chosen.size(),
                     sampled.report.rows, (*trained)->summary());
}

}  // namespace

Result<std::string> run_train(const TrainCommand& command) {
  const auto method = method_from(command.method);
  if (!method) return method.error();
  if (*method == Method::roofline) return Error{"--method", "", "roofline has nothing to learn", "leave it out"};
  for (const std::string& gpu : command.leave_out)
    if (auto known = find_gpu(gpu); !known) return std::move(known).error();
  if (command.trees < 1 || command.trees > 5000) return Error{"--trees", "", "must lie between 1 and 5000", ""};
  if (command.threads < 1 || command.threads > 64) return Error{"--threads", "", "must lie between 1 and 64", ""};
  const Count sample = command.sample.value_or(*method == Method::tilecast ? 4000 : 0);
  if (sample < 0) return Error{"--sample", "", "must be zero (all) or more", ""};
  Names names;
  auto sampled = read_sampled(command.data, {sample, 0}, ReadOptions{}, names);
  if (!sampled) return std::move(sampled).error();
  if (needs_weights(*method)) return train_paper(*method, command, *sampled);
  TrainAllOptions options = train_options(command.families, command.trees, command.threads);
  options.leave_out = command.leave_out;
  options.train.boost.seed = static_cast<std::uint64_t>(command.seed.value_or(1));
  const Weights weights = train_all(sampled->rows, options, terminal_progress());
  if (weights.models.empty())
    return Error{"--data", "", "holds no row to train on", "check --families and --leave-out"};
  if (auto saved = save_weights(weights, command.out); !saved) return std::move(saved).error();
  Count trained = 0;
  for (const auto& [source, rows] : weights.sources) trained += rows;
  return fmt::format("{}: {} models trained on {} rows, of {} read\n", command.out, weights.models.size(), trained,
                     sampled->report.rows);
}

namespace {

// A paper's method trained without each GPU (or architecture) in turn, by its own recipe.
Result<std::vector<Outcome>> paper_leaving_out(Method method, const std::vector<Measurement>& rows, LeaveOut by) {
  std::vector<std::string> folds;
  for (const Measurement& row : rows) {
    const Gpu* gpu = built_in_gpu(row.gpu);
    folds.emplace_back(by == LeaveOut::gpu || !gpu ? row.gpu : name_of(gpu->architecture));
  }
  return forecast_across_folds(rows, folds, paper_contender(method, {}).train, kThreads, terminal_progress());
}

}  // namespace

Result<std::string> run_evaluate(const EvaluateCommand& command) {
  const auto method = method_from(command.method);
  if (!method) return method.error();
  const auto by = keys_from(command.by);
  if (!by) return by.error();
  Names names;
  auto sampled = read_sampled(command.data, {command.sample, 0}, ReadOptions{}, names);
  if (!sampled) return std::move(sampled).error();
  if (!command.families.empty())
    std::erase_if(sampled->rows, [&](const Measurement& row) {
      return std::none_of(command.families.begin(), command.families.end(), [&](const std::string& family) {
        return name_key(family) == name_key(family_of(row.kernel.shape));
      });
    });
  std::vector<Outcome> outcomes;
  bool seen = false;  // were all these rows' GPUs trained on?
  if (!command.leave_one_out.empty()) {
    const auto fold = leave_out_from(command.leave_one_out);
    if (!fold) return fold.error();
    if (needs_weights(*method)) {
      auto left_out = paper_leaving_out(*method, sampled->rows, *fold);
      if (!left_out) return std::move(left_out).error();
      outcomes = *std::move(left_out);
    } else
      outcomes = forecast_leaving_out(sampled->rows, *fold, train_options(command.families, command.trees, kThreads),
                                      terminal_progress());
  } else if (needs_weights(*method)) {
    const auto trained = load_method(*method, command.weights);
    if (!trained) return trained.error();
    *sampled = held_out_rows(*std::move(sampled));
    seen = std::all_of(sampled->rows.begin(), sampled->rows.end(),
                       [&](const Measurement& row) { return (*trained)->rows_seen(row) > 0; });
    outcomes = forecast_all(**trained, sampled->rows, kThreads);
  } else if (!command.weights.empty()) {
    const auto weights = load_weights(command.weights);
    if (!weights) return weights.error();
    *sampled = held_out_rows(*std::move(sampled));
    seen = std::all_of(sampled->rows.begin(), sampled->rows.end(),
                       [&](const Measurement& row) { return rows_seen(*weights, row) > 0; });
    outcomes = forecast_with(*weights, sampled->rows, kThreads);
  } else {
    auto analytic = forecast_rows(sampled->rows, *method, kThreads);
    if (!analytic) return std::move(analytic).error();
    outcomes = *std::move(analytic);
  }
  const std::vector<Group> groups = group_errors(sampled->rows, outcomes, *by);
  if (command.json) {
    Json list = Json::array();
    for (const Group& group : groups) list.push_back(group_json(group, *by, seen));
    return list.dump(2) + "\n";
  }
  const std::string judged = !command.leave_one_out.empty() ? "each left out of its training"
                             : command.weights.empty()      ? "nothing learned"
                             : seen                         ? "held-out shapes of GPUs the weights have seen"
                                    : "held-out shapes; the weights have not seen all of these GPUs";
  return group_table(groups, *by) + "\n" + judged + ": " + summary_of(sampled->report);
}

namespace {

// What stands around the generated tables. Figures belong in the tables; here are definitions, sources and reasons.
constexpr std::string_view kAccuracyHead = R"(# Accuracy

Generated by `make accuracy`; do not edit. Error is |forecast - measured| / measured of a row; means go over the rows of a GPU
first, then over GPUs. Rows are a sample of up to {} of every table, GPU, engine, family and dtype, drawn by a hash of the shape,
so that every GPU and engine is judged on the same shapes. The forecast is analytic: it has learned nothing from these rows beyond
the constants that docs/method.md names.

Sources, none of them part of this repository: AIConfigurator (Apache-2.0; kernels of vLLM, SGLang and TensorRT-LLM under CUDA
graphs), NeuSight (MIT; fp32 PyTorch 2.1 kernels, launched eagerly), SynPerf (Apache-2.0; fp8 GEMM). `tilecast-h200-2026-11` is our
own sweep (data/measurements). AIConfigurator times an engine's whole operator: attention and MoE rows hold helper kernels and
engine overhead of 5 to 40 us that a single kernel's forecast does not know, hence the negative bias of small shapes there.

)";

constexpr std::string_view kViolationReasons = R"(### Why rows beat the bound where they do

- *moe*, balanced, few tokens: the routing is not given. The bound counts the experts a balanced router must touch; group-limited
  routing (DeepSeek) and TensorRT-LLM's min_latency runs touch fewer.
- *attention_decode*, bf16 on A100 under TensorRT-LLM 1.0: rows run at up to 1.7 times the card's DRAM bandwidth; the data's own
  README calls them a trap. A few H100 rows exceed the data-sheet bandwidth by up to 5 %.
- *attention_prefill* with an fp8 cache on H100, *scan* (KDA convolution of a single sequence on L40S) and *gemm* int8 on A100: single
  rows; the collector seems to skip work there.
- Arc-Pro-B60 has no fp8 pipe; what its engine runs for fp8 rows is not known, so they have no plan.
- *quantize* compute_scale is a difference of two timings, not a kernel.

## Planned demands against hardware counters

An H200 under Nsight Compute, caches flushed before each launch (data/measurements/h200_counters.csv). L2 bytes are those SMs ask
for. *plan known*: published code fixes the plan; *inferred*: cuBLAS or another closed choice, also shown with the tile of the
measured kernel's name imposed. The traffic constants of products were chosen on these rows.

)";

}  // namespace

Result<std::string> run_accuracy(const AccuracyCommand& command) {
  auto paths = tables_below(command.data);
  if (!paths) return std::move(paths).error();
  paths->push_back(command.measurements + "/h200_sweep.csv.gz");
  auto report = accuracy_report(*paths, {command.sample, 0}, ReadOptions{}, kThreads);
  if (!report) return std::move(report).error();
  const auto counters = read_counters(command.measurements + "/h200_counters.csv");
  if (!counters) return counters.error();
  const auto h200 = find_gpu("H200-SXM");
  if (!h200) return h200.error();
  const std::string text = fmt::format(fmt::runtime(kAccuracyHead), command.sample) + *report +
                           std::string(kViolationReasons) + counter_tables(compare_counters(*counters, *h200));
  if (auto written = write_text_file(command.out, text); !written) return std::move(written).error();
  return "wrote " + command.out + "\n";
}

}  // namespace tilecast
