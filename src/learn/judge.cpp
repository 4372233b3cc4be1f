#include "learn/judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "gpu/registry.h"
#include "learn/dims.h"
#include "support/text.h"

namespace tilecast {
namespace {

// With one fold left out a GPU is seen if the rest of its model's rows hold it: never when folds are GPUs or
// architectures, perhaps when they are sources.
void mark_seen_without_fold(const std::vector<Measurement>& rows, LeaveOut by, std::vector<Outcome>& outcomes) {
  std::map<std::string, std::set<std::string>> folds;  // of a model's rows of one GPU
  const auto place = [](const Measurement& row) { return model_key(row.kernel) + " " + std::string(row.gpu); };
  for (const Measurement& row : rows)
    if (trap_of(row).empty()) folds[place(row)].insert(fold_of(row, by));
  for (std::size_t i = 0; i < rows.size(); ++i) outcomes[i].seen = folds[place(rows[i])].size() > 1;
}

Result<std::vector<Outcome>> learned(const std::vector<Measurement>& rows, const JudgeOptions& options) {
  if (options.weights) {
    std::vector<Outcome> outcomes = forecast_with(*options.weights, rows, options.threads);
    for (std::size_t i = 0; i < rows.size(); ++i) outcomes[i].seen = rows_seen(*options.weights, rows[i]) > 0;
    return outcomes;
  }
  if (!options.leave_out) return error("no weights", "give --weights or --leave-one-out");
  std::set<std::string> folds;
  for (const Measurement& row : rows) folds.insert(fold_of(row, *options.leave_out));
  if (folds.size() < 2)
    return Error{"--leave-one-out", "", "all rows are of " + (folds.empty() ? "nothing" : *folds.begin()),
                 "leaving it out leaves nothing to train on"};
  std::vector<Outcome> outcomes = forecast_leaving_out(rows, *options.leave_out, options.train, options.progress);
  mark_seen_without_fold(rows, *options.leave_out, outcomes);
  return outcomes;
}

template <Method M>
Result<std::vector<Outcome>> unlearned(const std::vector<Measurement>& rows, const JudgeOptions& options) {
  return forecast_rows(rows, M, options.threads);
}

constexpr std::array<MethodEntry, 3> kEntries = {{
    {"tilecast", learned},
    {"analytic", unlearned<Method::tilecast>},
    {"roofline", unlearned<Method::roofline>},
}};

}  // namespace

std::span<const MethodEntry> method_entries() { return kEntries; }

Status known_method(std::string_view name) {
  std::vector<std::string> known;
  for (const MethodEntry& entry : method_entries()) known.emplace_back(entry.name);
  if (name == "all" || std::find(known.begin(), known.end(), name) != known.end()) return Ok{};
  return Error{"--method", "", "unknown method '" + std::string(name) + "'",
               "one of " + join(known, ", ") + ", or all"};
}

Result<Judgement> judge(const std::vector<Measurement>& rows, std::string_view method, const JudgeOptions& options) {
  if (auto known = known_method(method); !known) return std::move(known).error();
  Judgement judgement;
  for (const MethodEntry& entry : method_entries()) {
    if (method != "all" && method != entry.name) continue;
    auto outcomes = entry.run(rows, options);
    const std::string name(entry.name);
    if (outcomes) judgement.methods.push_back({name, *std::move(outcomes)});
    else if (method != "all") return std::move(outcomes).error();
    else judgement.missing.push_back(name + ": " + outcomes.error().line());
  }
  if (judgement.methods.empty()) return error("no method can run: " + join(judgement.missing, "; "));
  for (MethodOutcomes& other : judgement.methods)
    for (std::size_t i = 0; i < rows.size(); ++i)
      other.outcomes[i].regime = judgement.methods.front().outcomes[i].regime;
  return judgement;
}

Count keep_common(std::vector<Measurement>& rows, std::vector<MethodOutcomes>& methods) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (std::none_of(methods.begin(), methods.end(), [&](const auto& m) { return m.outcomes[i].failed; }))
      kept.push_back(i);
  const auto gone = static_cast<Count>(rows.size() - kept.size());
  if (gone == 0) return 0;
  const auto compact = [&](auto& list) {
    for (std::size_t to = 0; to < kept.size(); ++to)
      if (to != kept[to]) list[to] = std::move(list[kept[to]]);
    list.resize(kept.size());
  };
  compact(rows);
  for (MethodOutcomes& method : methods) compact(method.outcomes);
  return gone;
}

bool gpu_seen(const Weights& weights, std::string_view gpu) {
  return std::any_of(weights.models.begin(), weights.models.end(), [&](const FamilyModel& model) {
    const auto found = model.seen.find(std::string(gpu));
    return found != model.seen.end() && found->second > 0;
  });
}

std::vector<Measurement> judgeable(std::vector<Measurement> rows, const Weights& weights) {
  std::map<std::string_view, bool> seen;
  for (const Measurement& row : rows)
    if (!seen.contains(row.gpu)) seen[row.gpu] = gpu_seen(weights, row.gpu);
  std::erase_if(rows, [&](const Measurement& row) { return seen[row.gpu] && !held_out(row.kernel.shape); });
  return rows;
}

Status check_unseen(const Weights& weights, const std::vector<std::string>& gpus, const std::vector<Measurement>& rows,
                    const std::string& weights_name) {
  for (const std::string& name : gpus) {
    const auto gpu = find_gpu(name);
    if (!gpu) return Error{"--unseen", "", gpu.error().problem, gpu.error().remedy};
    for (const FamilyModel& model : weights.models)
      if (const auto found = model.seen.find(gpu->name); found != model.seen.end() && found->second > 0)
        return Error{"--unseen", "",
                     weights_name + " has seen " + std::to_string(found->second) + " rows of " + gpu->name + " (" +
                         model.key + ")",
                     "train with --leave-out " + gpu->name};
    if (std::none_of(rows.begin(), rows.end(), [&](const Measurement& row) { return row.gpu == gpu->name; }))
      return Error{"--unseen", "", "--data holds no row of " + gpu->name, ""};
  }
  return Ok{};
}

}  // namespace tilecast
