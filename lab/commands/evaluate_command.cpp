#include "lab/commands/evaluate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "estimate/shipped_weights.h"
#include "lab/commands/evaluate_view.h"
#include "lab/commands/shared.h"
#include "lab/evaluate/judge.h"
#include "lab/evaluate/predictions.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

bool wants_tilecast(const EvaluateCommand& command) { return command.method == "tilecast" || command.method == "all"; }

Status check(const EvaluateCommand& command) {
  if (auto known = known_method(command.method); !known) return known;
  if (!command.weights.empty() && !command.leave_one_out.empty())
    return Error{"", "leave-one-out", "trains its own weights", "omit --weights"};
  if (!command.unseen.empty() &&
      (!command.leave_one_out.empty() || (command.weights.empty() && !wants_tilecast(command))))
    return Error{"", "unseen", "is about weights, and none are judged", "omit --leave-one-out and --method"};
  if (command.sample < 0) return Error{"", "sample", "must be zero (all) or more", "0 takes every row"};
  if (command.epochs < 0 || command.epochs > 100000)
    return Error{"", "epochs", "must lie between 0 and 100000", "0 is the paper's number"};
  if (command.most_rows < 0) return Error{"", "most-rows", "must be zero (all) or more", "0 takes every row"};
  if (command.trees < 1 || command.trees > 5000)
    return Error{"", "trees", "must lie between 1 and 5000", "200 are usual"};
  return Ok{};
}

bool one_of(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& item) { return name_key(item) == name_key(name); });
}

// What was judged and what was not, one line each.
struct Notes {
  std::string judged;
  Count rows = 0, traps = 0, failed = 0;
  std::vector<std::string> missing;

  std::string text(const ReadReport& report) const {
    std::string out = judged + ": " + (rows < report.rows ? fmt::format("{} of ", rows) : "") + summary_of(report);
    if (traps > 0) out += fmt::format("  left out: {} rows, known traps of the data (--by trap judges them)\n", traps);
    if (failed > 0) out += fmt::format("  left out: {} rows that a method has no forecast for\n", failed);
    for (const std::string& method : missing) out += "  not run: " + method + "\n";
    return out;
  }
};

std::string judged_text(const EvaluateCommand& command) {
  if (!command.leave_one_out.empty()) return "each " + command.leave_one_out + " left out of its training";
  if (command.weights.empty() && !wants_tilecast(command)) return "nothing learned";
  return fmt::format("held-out shapes of GPUs and tables the {}weights have seen, all rows of others",
                     command.weights.empty() ? "shipped " : "");
}

// The rows to judge; known traps are among them only where they form groups of their own.
Result<SampledRows> rows_of(const EvaluateCommand& command, const std::vector<Key>& by, Names& names, Notes& notes) {
  const auto tables = tables_of(command.data, command.sources);
  if (!tables) return tables.error();
  auto sampled = read_sampled(*tables, {command.sample, 0}, ReadOptions{}, names);
  if (!sampled) return sampled;
  auto& rows = sampled->rows;
  if (!command.families.empty())
    std::erase_if(rows, [&](const Measurement& row) { return !one_of(command.families, family_of(row.kernel.shape)); });
  if (rows.empty()) return Error{"", "data", "holds no row to judge", "check --families"};
  if (std::find(by.begin(), by.end(), Key::trap) == by.end())
    notes.traps = static_cast<Count>(std::erase_if(rows, [](const Measurement& row) { return !trap_of(row).empty(); }));
  if (rows.empty()) return Error{"", "data", "holds only known traps of the data", "--by trap judges them"};
  return sampled;
}

// A weight file of any method.
Status load_any(const std::string& path, JudgeOptions& options, std::optional<Weights>& weights) {
  auto loaded = load_weights(path);
  if (loaded) {
    options.weights = &weights.emplace(*std::move(loaded));
    return Ok{};
  }
  for (const Method method : {Method::neusight, Method::synperf})
    if (auto paper = load_method(method, path)) {
      options.papers.push_back(std::make_shared<PaperForecaster>(*std::move(paper)));
      return Ok{};
    }
  return std::move(loaded).error();
}

// Loads the weights asked for; Tilecast's own into `weights`, which the options refer to.
Result<JudgeOptions> options_of(const EvaluateCommand& command, std::optional<Weights>& weights) {
  JudgeOptions options;
  options.threads = kThreads;
  options.progress = terminal_progress();
  options.train = train_options(command.families, command.trees, kThreads);
  if (!command.leave_one_out.empty()) {
    const auto fold = leave_out_from(command.leave_one_out);
    if (!fold) return fold.error();
    options.leave_out = *fold;
  }
  if (command.epochs > 0)
    options.train_papers.neusight.epochs = options.train_papers.synperf.epochs = static_cast<int>(command.epochs);
  options.train_papers.neusight.most_rows = options.train_papers.synperf.most_rows = command.most_rows;
  options.train_papers.neusight.threads = options.train_papers.synperf.threads = kThreads;
  for (const std::string& path : command.weights)
    if (auto loaded = load_any(path, options, weights); !loaded) return std::move(loaded).error();
  if (!options.weights && !options.leave_out && wants_tilecast(command)) options.weights = &shipped_weights();
  return options;
}

// Drops the rows these weights cannot honestly be judged on.
Status keep_judgeable(const EvaluateCommand& command, const JudgeOptions& options, std::vector<Measurement>& rows) {
  if (auto unseen = check_unseen(options, command.unseen, rows); !unseen) return unseen;
  rows = judgeable(std::move(rows), options);
  if (!rows.empty()) return Ok{};
  return Error{"", "data", "holds no shape that is held out of training", "weights are judged on no other"};
}

std::string shown(const EvaluateCommand& command, const std::vector<Key>& by, const std::vector<Measurement>& rows,
                  const std::vector<MethodOutcomes>& methods) {
  if (command.json) return command.pairs ? speedups_json(rows, methods) : errors_json(rows, methods, by);
  return command.pairs ? speedups_text(rows, methods) : errors_text(rows, methods, by);
}

}  // namespace

Result<std::string> run_evaluate(const EvaluateCommand& command) {
  if (auto sound = check(command); !sound) return std::move(sound).error();
  const auto by = keys_from(command.by);
  if (!by) return by.error();
  if (!command.predictions.empty())
    if (auto fine = check_writable(command.predictions); !fine) return std::move(fine).error();
  std::optional<Weights> weights;
  const auto options = options_of(command, weights);
  if (!options) return options.error();
  Names names;
  Notes notes;
  notes.judged = judged_text(command);
  auto sampled = rows_of(command, *by, names, notes);
  if (!sampled) return std::move(sampled).error();
  auto& rows = sampled->rows;
  if (options->weights || !options->papers.empty())
    if (auto kept = keep_judgeable(command, *options, rows); !kept) return std::move(kept).error();
  auto judgement = judge(rows, command.method, *options);
  if (!judgement) return std::move(judgement).error();
  notes.missing = std::move(judgement->missing);
  notes.failed = keep_common(rows, judgement->methods);
  notes.rows = static_cast<Count>(rows.size());
  if (!command.predictions.empty())
    if (auto written = write_predictions(command.predictions, rows, judgement->methods); !written)
      return std::move(written).error();
  const std::string text = shown(command, *by, rows, judgement->methods);
  return command.json ? text : text + "\n" + notes.text(sampled->report);
}

}  // namespace tilecast
