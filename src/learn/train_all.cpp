#include "learn/train_all.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "gpu/registry.h"
#include "learn/dims.h"
#include "support/text.h"

namespace tilecast {
namespace {

bool wanted(const Measurement& row, const TrainAllOptions& options) {
  const auto has = [](const std::vector<std::string>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& item) { return name_key(item) == name_key(name); });
  };
  if (!options.families.empty() && !has(options.families, family_of(row.kernel.shape))) return false;
  return trap_of(row).empty() && !has(options.leave_out, row.gpu);
}

// Rows by model, those an option leaves out dropped.
std::map<std::string, std::vector<std::size_t>> rows_by_model(const std::vector<Measurement>& rows,
                                                              const TrainAllOptions& options) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (wanted(rows[i], options)) groups[model_key(rows[i].kernel)].push_back(i);
  return groups;
}

Outcome learned_outcome(const FamilyModel* model, const Measurement& row, const Gpu& gpu) {
  Outcome outcome = forecast_row(row, gpu, Method::tilecast);
  if (outcome.failed || !model || model->key.empty()) return outcome;
  const LearnedTime t = forecast_learned(*model, row, gpu);
  outcome.forecast = t.median;
  outcome.low = t.low;
  outcome.high = t.high;
  return outcome;
}

}  // namespace

Weights train_all(const std::vector<Measurement>& rows, const TrainAllOptions& options, const Progress& progress) {
  Weights weights;
  const auto groups = rows_by_model(rows, options);
  std::size_t done = 0;
  for (const auto& [key, group] : groups) {
    if (progress) progress(static_cast<double>(done++) / static_cast<double>(groups.size()), key);
    std::vector<std::size_t> chosen;
    for (const std::size_t i : group)
      if (!held_out(rows[i].kernel.shape)) chosen.push_back(i);
    FamilyModel model = train_family(rows, chosen, options.train);
    if (model.key.empty()) continue;
    weights.models.push_back(std::move(model));
    for (const std::size_t i : chosen) ++weights.sources[std::string(rows[i].source)];
  }
  if (progress) progress(1, "");
  return weights;
}

std::vector<Outcome> forecast_with(const Weights& weights, const std::vector<Measurement>& rows, int threads) {
  std::vector<Outcome> outcomes(rows.size());
  const auto work = [&](std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < rows.size(); i += step)
      if (const Gpu* gpu = built_in_gpu(rows[i].gpu))
        outcomes[i] = learned_outcome(weights.find(model_key(rows[i].kernel)), rows[i], *gpu);
      else outcomes[i].failed = true;
  };
  const auto count = static_cast<std::size_t>(std::max(1, threads));
  std::vector<std::jthread> pool;
  for (std::size_t t = 1; t < count; ++t) pool.emplace_back(work, t, count);
  work(0, count);
  pool.clear();
  return outcomes;
}

Result<LeaveOut> leave_out_from(std::string_view name) {
  if (name == "gpu") return LeaveOut::gpu;
  if (name == "architecture") return LeaveOut::architecture;
  if (name == "source") return LeaveOut::source;
  return Error{"--leave-one-out", "", "must be gpu, architecture or source, not '" + std::string(name) + "'", ""};
}

std::string fold_of(const Measurement& row, LeaveOut by) {
  if (by == LeaveOut::gpu) return std::string(row.gpu);
  if (by == LeaveOut::source) return std::string(row.source);
  const Gpu* gpu = built_in_gpu(row.gpu);
  return gpu ? std::string(name_of(gpu->architecture)) : "";
}

std::vector<Outcome> forecast_leaving_out(const std::vector<Measurement>& rows, LeaveOut by,
                                          const TrainAllOptions& options, const Progress& progress) {
  std::vector<Outcome> outcomes(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) outcomes[i].failed = true;
  const auto groups = rows_by_model(rows, options);
  std::size_t done = 0, folds_in_all = 0;
  std::map<std::string, std::set<std::string>> folds;
  for (const auto& [key, group] : groups) {
    for (const std::size_t i : group) folds[key].insert(fold_of(rows[i], by));
    folds_in_all += folds[key].size();
  }
  for (const auto& [key, group] : groups)
    for (const std::string& fold : folds[key]) {
      if (progress) progress(static_cast<double>(done++) / static_cast<double>(folds_in_all), key + " without " + fold);
      std::vector<std::size_t> rest, left;
      for (const std::size_t i : group) (fold_of(rows[i], by) == fold ? left : rest).push_back(i);
      const FamilyModel model = train_family(rows, rest, options.train);
      for (const std::size_t i : left)
        if (const Gpu* gpu = built_in_gpu(rows[i].gpu)) outcomes[i] = learned_outcome(&model, rows[i], *gpu);
    }
  if (progress) progress(1, "");
  return outcomes;
}

Count rows_seen(const Weights& weights, const Measurement& row) {
  const FamilyModel* model = weights.find(model_key(row.kernel));
  if (!model) return 0;
  const auto found = model->seen.find(std::string(row.gpu));
  return found == model->seen.end() ? 0 : found->second;
}

}  // namespace tilecast
