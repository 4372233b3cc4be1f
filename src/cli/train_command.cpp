#include "cli/train_command.h"

#include <fmt/format.h>

#include "cli/data_shared.h"
#include "gpu/registry.h"
#include "learn/evaluate.h"
#include "learn/train_all.h"

namespace tilecast {

Result<std::string> run_train(const TrainCommand& command) {
  for (const std::string& gpu : command.leave_out)
    if (auto known = find_gpu(gpu); !known) return std::move(known).error();
  if (command.trees < 1 || command.trees > 5000) return Error{"--trees", "", "must lie between 1 and 5000", ""};
  if (command.threads < 1 || command.threads > 64) return Error{"--threads", "", "must lie between 1 and 64", ""};
  if (command.sample < 0) return Error{"--sample", "", "must be zero (all) or more", ""};
  Names names;
  auto sampled = read_sampled(command.data, {command.sample, 0}, ReadOptions{}, names);
  if (!sampled) return std::move(sampled).error();
  TrainAllOptions options = train_options(command.families, command.trees, command.threads);
  options.leave_out = command.leave_out;
  options.train.boost.seed = static_cast<std::uint64_t>(command.seed);
  const Weights weights = train_all(sampled->rows, options, terminal_progress());
  if (weights.models.empty())
    return Error{"--data", "", "holds no row to train on", "check --families and --leave-out"};
  if (auto saved = save_weights(weights, command.out); !saved) return std::move(saved).error();
  Count trained = 0;
  for (const auto& [source, rows] : weights.sources) trained += rows;
  return fmt::format("{}: {} models trained on {} rows, of {} read\n", command.out, weights.models.size(), trained,
                     sampled->report.rows);
}

}  // namespace tilecast
