#include "lab/commands/train_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "estimate/packed.h"
#include "estimate/repack.h"
#include "gpu/registry.h"
#include "lab/commands/shared.h"
#include "lab/evaluate/evaluate.h"
#include "lab/evaluate/method.h"
#include "lab/train/train_all.h"
#include "measure/dims.h"
#include "measure/traps.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

// Training of a paper's method: every row but those of left-out GPUs, other families, known traps and held-out shapes.
Result<std::string> train_paper(Method method, const TrainCommand& command, const SampledRows& sampled) {
  if (command.epochs < 0 || command.epochs > 100000)
    return Error{"", "epochs", "must lie between 0 and 100000", "0 is the paper's number"};
  if (command.most_rows < 0) return Error{"", "most-rows", "must be zero (all) or more", "0 takes every row"};
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
  if (auto saved = write_text_file(command.out, (*trained)->learned().bytes()); !saved) return std::move(saved).error();
  return fmt::format("{}: {} trained on {} of {} rows read\n{}", command.out, name_of(method), chosen.size(),
                     sampled.report.rows, (*trained)->learned().summary());
}

// How long the models of each family took; every progress call starts a model.
class FamilyTimes {
 public:
  Progress around(Progress inner) {
    return [this, inner = std::move(inner)](double share, std::string_view key) mutable {
      const auto now = Clock::now();
      if (!family_.empty()) spent_[family_] += std::chrono::duration<double>(now - start_).count();
      family_ = key.substr(0, key.find('/'));
      start_ = now;
      if (inner) inner(share, key);
    };
  }
  std::string text() const {
    std::string out;
    for (const auto& [family, seconds] : spent_) out += fmt::format("  {:20} {:7.1f} s\n", family, seconds);
    return out;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string family_;
  Clock::time_point start_;
  std::map<std::string, double> spent_;
};

Count rows_of(const Weights& weights) {
  Count rows = 0;
  for (const auto& [source, count] : weights.sources()) rows += count;
  return rows;
}

// The tables serve only to count what models of earlier versions, which do not record it, were trained on.
Result<std::string> repack(const TrainCommand& command, const SampledRows& sampled, const TrainAllOptions& options) {
  const auto bytes = read_text_file(command.repack, kMostPackedBytes);
  if (!bytes) return bytes.error();
  auto weights = repacked(*bytes, command.repack);
  if (!weights) return std::move(weights).error();
  count_rows(*weights, sampled.rows, options, terminal_progress());
  if (auto saved = save_weights(*weights, command.out); !saved) return std::move(saved).error();
  return fmt::format("{}: {} models of {}, trained on {} rows\n", command.out, weights->models.size(), command.repack,
                     rows_of(*weights));
}

Result<std::string> refit_unseen(const TrainCommand& command, const SampledRows& sampled,
                                 const TrainAllOptions& options) {
  auto old = load_weights(command.refit_unseen);
  if (!old) return std::move(old).error();
  const Weights weights = refitted_for_unseen(*std::move(old), sampled.rows, options, terminal_progress());
  if (auto saved = save_weights(weights, command.out); !saved) return std::move(saved).error();
  return fmt::format("{}: the forests of {}, refitted for unseen cards on {} rows read\n", command.out,
                     command.refit_unseen, sampled.report.rows);
}

}  // namespace

Result<std::string> run_train(const TrainCommand& command) {
  const auto method = method_from(command.method);
  if (!method) return method.error();
  if (*method == Method::roofline) return Error{"", "method", "roofline has nothing to learn", "leave it out"};
  for (const std::string& gpu : command.leave_out)
    if (auto known = find_gpu(gpu); !known) return std::move(known).error();
  if (command.trees < 1 || command.trees > 5000)
    return Error{"", "trees", "must lie between 1 and 5000", "200 are usual"};
  if (command.threads < 1 || command.threads > 64)
    return Error{"", "threads", "must lie between 1 and 64", "as many as there are cores"};
  const Count sample = command.sample.value_or(*method == Method::tilecast ? 4000 : 0);
  if (sample < 0) return Error{"", "sample", "must be zero (all) or more", "0 takes every row"};
  if (auto fine = check_writable(command.out); !fine)
    return std::move(fine).error();  // before minutes of training, not after them
  Names names;
  auto tables = tables_of(command.data, command.sources);
  if (!tables) return std::move(tables).error();
  auto sampled = read_sampled(*tables, {sample, 0}, ReadOptions{}, names);
  if (!sampled) return std::move(sampled).error();
  if (needs_weights(*method) && !command.update.empty())
    return Error{"", "update", "is only for tilecast's weights", "omit it"};
  if (needs_weights(*method)) return train_paper(*method, command, *sampled);
  TrainAllOptions options = train_options(command.families, command.trees, command.threads);
  options.leave_out = command.leave_out;
  options.train.set_seed(static_cast<std::uint64_t>(command.seed.value_or(1)));
  if (!command.repack.empty()) return repack(command, *sampled, options);
  if (!command.refit_unseen.empty()) return refit_unseen(command, *sampled, options);
  FamilyTimes times;
  Weights weights = train_all(sampled->rows, options, times.around(terminal_progress()));
  if (weights.models.empty()) return Error{"", "data", "holds no row to train on", "check --families and --leave-out"};
  const std::size_t trained = weights.models.size();
  const Count rows = rows_of(weights);
  if (!command.update.empty()) {
    auto old = load_weights(command.update);
    if (!old) return std::move(old).error();
    weights = updated(*std::move(old), std::move(weights.models));
  }
  keep_within(weights, kMostWeightBytes);
  if (auto saved = save_weights(weights, command.out); !saved) return std::move(saved).error();
  const std::size_t kept = weights.models.size() - trained;
  return fmt::format("{}: {} model{} trained on {} rows, of {} read{}\n{}", command.out, trained,
                     trained == 1 ? "" : "s", rows, sampled->report.rows,
                     kept > 0 ? fmt::format("; {} kept", kept) : "", times.text());
}

}  // namespace tilecast
