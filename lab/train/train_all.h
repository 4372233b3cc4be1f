// Training over whole tables: one model per family and format, and the honest ways to judge them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/weights.h"
#include "lab/train/train.h"
#include "measure/outcome.h"

namespace tilecast {

// Called as work is done; shares are of the whole.
using Progress = std::function<void(double share, std::string_view what)>;

struct TrainAllOptions {
  TrainOptions train;
  std::vector<std::string> families;   // empty: all
  std::vector<std::string> leave_out;  // GPUs whose rows are not used
  Simplified simplified;               // for ablations
  // Leaving out in turn: rows that trainings may read; the others are judged alone. Empty: all.
  std::function<bool(const Measurement&)> teaches = {};
};

// Skips rows with known traps, rows without a plan, rows that options leave out, and the held-out tenth of shapes.
Weights train_all(const std::vector<Measurement>& rows, const TrainAllOptions& options, const Progress& progress);

// The same for existing models, which keep their forests: only what cards that nobody measured take from them is
// fitted again. Models without rows stay as they are.
Weights refitted_for_unseen(Weights weights, const std::vector<Measurement>& rows, const TrainAllOptions& options,
                            const Progress& progress);

// For models that do not say what they were trained on (weight files of earlier versions): the rows that training on
// these tables would take, of the cards that the model has seen.
void count_rows(Weights& weights, const std::vector<Measurement>& rows, const TrainAllOptions& options,
                const Progress& progress);

// `weights` with these models in place of its own of the same keys; what it lacks is added.
Weights updated(Weights weights, std::vector<FamilyModel> models);

// Drops the last trees of all forests, the same share of each, until the file is no larger. Late trees matter least.
void keep_within(Weights& weights, std::size_t bytes);
inline constexpr std::size_t kMostWeightBytes = 8 << 20;  // what may ship

// Learned forecasts of rows; a row without a model falls back to the analytic forecast.
std::vector<Outcome> forecast_with(const Weights& weights, const std::vector<Measurement>& rows, int threads);

enum class LeaveOut : std::uint8_t { gpu, architecture, source };
Result<LeaveOut> leave_out_from(std::string_view name);

// The group a row is left out with: its GPU, its GPU's architecture, or who measured it (the table's `source`).
std::string fold_of(const Measurement& row, LeaveOut by);

// Every row forecast by models that never saw its GPU (or any GPU of its architecture, or any row of its source).
std::vector<Outcome> forecast_leaving_out(const std::vector<Measurement>& rows, LeaveOut by,
                                          const TrainAllOptions& options, const Progress& progress);

// How many of a GPU's rows trained the model that would forecast it; zero: the GPU is unseen.
Count rows_seen(const Weights& weights, const Measurement& row);

}  // namespace tilecast
