#include "lab/train/train_all.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "gpu/registry.h"
#include "lab/train/fit_data.h"
#include "measure/dims.h"
#include "measure/traps.h"
#include "support/text.h"
#include "support/workers.h"

namespace tilecast {
namespace {

// Planned rows kept in memory together.
constexpr std::size_t kPlannedAtOnce = 200000;

bool wanted(const Measurement& row, const TrainAllOptions& options) {
  const auto has = [](const std::vector<std::string>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& item) { return name_key(item) == name_key(name); });
  };
  if (!options.families.empty() && !has(options.families, family_of(row.kernel.shape))) return false;
  return trap_of(row).empty() && !has(options.leave_out, row.gpu);
}

// Rows by model, without those that an option leaves out.
std::map<std::string, std::vector<std::size_t>> rows_by_model(const std::vector<Measurement>& rows,
                                                              const TrainAllOptions& options) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (wanted(rows[i], options)) groups[model_key(rows[i].kernel)].push_back(i);
  return groups;
}

// A group's rows that are not held out.
std::vector<PlannedRow> planned_for_training(const std::vector<Measurement>& rows,
                                             const std::vector<std::size_t>& group, const TrainAllOptions& options) {
  std::vector<std::size_t> chosen;
  for (const std::size_t i : group)
    if (!held_out(rows[i].kernel.shape)) chosen.push_back(i);
  return plan_rows(rows, chosen, options.train.general.threads, options.simplified);
}

std::vector<const PlannedRow*> usable(const std::vector<PlannedRow>& planned) {
  std::vector<const PlannedRow*> rows;
  for (const PlannedRow& row : planned)
    if (!row.analytic.failed) rows.push_back(&row);
  return rows;
}

// work(key, rows of that model) for one model after the other.
template <class Work>
void for_each_model(const std::vector<Measurement>& rows, const TrainAllOptions& options, const Progress& progress,
                    const Work& work) {
  std::size_t done = 0;
  for (const auto& [key, group] : rows_by_model(rows, options)) {
    if (progress) progress(static_cast<double>(done) / static_cast<double>(rows.size()), key);
    done += group.size();
    work(key, group);
  }
  if (progress) progress(1, "");
}

}  // namespace

Weights train_all(const std::vector<Measurement>& rows, const TrainAllOptions& options, const Progress& progress) {
  Weights weights;
  for_each_model(rows, options, progress, [&](const std::string&, const std::vector<std::size_t>& group) {
    const auto planned = planned_for_training(rows, group, options);
    FamilyModel model = train_family(usable(planned), options.train);
    if (!model.key.empty()) weights.models.push_back(std::move(model));
  });
  return weights;
}

Weights refitted_for_unseen(Weights weights, const std::vector<Measurement>& rows, const TrainAllOptions& options,
                            const Progress& progress) {
  for_each_model(rows, options, progress, [&](const std::string& key, const std::vector<std::size_t>& group) {
    for (FamilyModel& model : weights.models) {
      if (model.key != key) continue;
      const auto planned = planned_for_training(rows, group, options);
      model = refitted_for_unseen(std::move(model), usable(planned), options.train);
    }
  });
  return weights;
}

void count_rows(Weights& weights, const std::vector<Measurement>& rows, const TrainAllOptions& options,
                const Progress& progress) {
  for_each_model(rows, options, progress, [&](const std::string& key, const std::vector<std::size_t>& group) {
    for (FamilyModel& model : weights.models) {
      if (model.key != key || !model.trained_on.empty()) continue;
      std::vector<std::size_t> own;  // tables may since have got rows of further cards
      for (const std::size_t i : group)
        if (model.seen.contains(std::string(rows[i].gpu))) own.push_back(i);
      model.trained_on = sources_of(usable(planned_for_training(rows, own, options)));
    }
  });
}

Weights updated(Weights weights, std::vector<FamilyModel> models) {
  for (FamilyModel& model : models) {
    const auto at = std::lower_bound(weights.models.begin(), weights.models.end(), model.key,
                                     [](const FamilyModel& a, const std::string& key) { return a.key < key; });
    if (at != weights.models.end() && at->key == model.key) *at = std::move(model);
    else weights.models.insert(at, std::move(model));
  }
  return weights;
}

void keep_within(Weights& weights, std::size_t bytes) {
  constexpr std::size_t kFew = 20;  // trees that every forest keeps
  while (to_bytes(weights).size() > bytes) {
    bool shorter = false;
    const auto shorten = [&](Forest& forest) {
      if (forest.trees().size() <= kFew) return;
      forest = forest.first(std::max(kFew, forest.trees().size() * 19 / 20));
      shorter = true;
    };
    for (FamilyModel& model : weights.models) {
      shorten(model.general);
      for (auto* group : {&model.siblings, &model.cards})
        for (auto& [name, forest] : *group) shorten(forest);
    }
    if (!shorter) return;
  }
}

std::vector<Outcome> forecast_with(const Weights& weights, const std::vector<Measurement>& rows, int threads) {
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Outcome> outcomes(rows.size());
  constexpr std::size_t kBatch = 64;
  Workers workers(threads);
  for (std::size_t start = 0; start < all.size(); start += kPlannedAtOnce) {
    const std::size_t count = std::min(kPlannedAtOnce, all.size() - start);
    const auto planned = plan_rows(rows, std::span(all).subspan(start, count), threads);
    parallel_for(workers, {count, kBatch}, [&](std::size_t i) {
      const FamilyModel* model = weights.find(planned[i].measured->kernel);
      outcomes[start + i] = model ? learned_outcome(*model, planned[i]) : planned[i].analytic;
    });
  }
  return outcomes;
}

Result<LeaveOut> leave_out_from(std::string_view name) {
  if (name == "gpu") return LeaveOut::gpu;
  if (name == "architecture") return LeaveOut::architecture;
  if (name == "source") return LeaveOut::source;
  return Error{"", "leave-one-out", "must be gpu, architecture or source, not '" + std::string(name) + "'",
               "for example --leave-one-out gpu"};
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
  std::size_t done = 0, in_all = 0;  // rows, once a fold
  std::map<std::string, std::set<std::string>> folds;
  for (const auto& [key, group] : groups) {
    for (const std::size_t i : group) folds[key].insert(fold_of(rows[i], by));
    in_all += folds[key].size() * group.size();
  }
  TrainOptions train = options.train;
  train.cards = by == LeaveOut::source;  // else nobody asks for a card that was seen
  for (const auto& [key, group] : groups) {
    const auto planned = plan_rows(rows, group, train.general.threads, options.simplified);
    for (const std::string& fold : folds[key]) {
      if (progress)
        progress(static_cast<double>(done) / static_cast<double>(in_all), fmt::format("{} without {}", key, fold));
      done += group.size();
      std::vector<const PlannedRow*> rest;
      std::set<std::string> architectures;  // of the fold: no other needs a forest
      for (const PlannedRow& row : planned) {
        if (row.analytic.failed) continue;
        if (fold_of(*row.measured, by) == fold) architectures.insert(architecture_key(*row.gpu));
        else if (!options.teaches || options.teaches(*row.measured)) rest.push_back(&row);
      }
      train.architectures.assign(architectures.begin(), architectures.end());
      const FamilyModel model = train_family(rest, train);
      for (std::size_t i = 0; i < group.size(); ++i)
        if (fold_of(*planned[i].measured, by) == fold) outcomes[group[i]] = learned_outcome(model, planned[i]);
    }
  }
  if (progress) progress(1, "");
  return outcomes;
}

Count rows_seen(const Weights& weights, const Measurement& row) {
  const FamilyModel* model = weights.find(row.kernel);
  if (!model) return 0;
  const auto found = model->seen.find(std::string(row.gpu));
  return found == model->seen.end() ? 0 : found->second;
}

}  // namespace tilecast
