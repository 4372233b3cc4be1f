#include "lab/evaluate/judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "gpu/registry.h"
#include "lab/evaluate/protocols.h"
#include "measure/dims.h"
#include "measure/traps.h"
#include "support/text.h"

namespace tilecast {
namespace {

// With one fold left out, a GPU counts as seen if the remaining rows of its model include it: never when folds are
// GPUs or architectures, possibly when they are sources.
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
    return Error{"", "leave-one-out", "all rows are of " + (folds.empty() ? "nothing" : *folds.begin()),
                 "leaving it out leaves nothing to train on"};
  std::vector<Outcome> outcomes = forecast_leaving_out(rows, *options.leave_out, options.train, options.progress);
  mark_seen_without_fold(rows, *options.leave_out, outcomes);
  return outcomes;
}

template <Method M>
Result<std::vector<Outcome>> paper(const std::vector<Measurement>& rows, const JudgeOptions& options) {
  for (const auto& trained : options.papers) {
    if (trained->method() != M) continue;
    std::vector<Outcome> outcomes = forecast_all(*trained, rows, options.threads);
    for (std::size_t i = 0; i < rows.size(); ++i) outcomes[i].seen = trained->rows_seen(rows[i]) > 0;
    return outcomes;
  }
  if (!options.leave_out) return load_method(M, "").error();  // says how to get them
  std::vector<std::string> folds;
  folds.reserve(rows.size());
  for (const Measurement& row : rows) folds.push_back(fold_of(row, *options.leave_out));
  auto outcomes = forecast_across_folds(rows, folds, paper_contender(M, options.train_papers).train, options.threads,
                                        options.progress);
  if (outcomes) mark_seen_without_fold(rows, *options.leave_out, *outcomes);
  return outcomes;
}

template <Method M>
Result<std::vector<Outcome>> unlearned(const std::vector<Measurement>& rows, const JudgeOptions& options) {
  return forecast_rows(rows, M, options.threads);
}

constexpr std::array<MethodEntry, 5> kEntries = {{
    {"tilecast", learned},
    {"neusight", paper<Method::neusight>},
    {"synperf", paper<Method::synperf>},
    {"analytic", unlearned<Method::analytic>},
    {"roofline", unlearned<Method::roofline>},
}};

}  // namespace

std::span<const MethodEntry> method_entries() { return kEntries; }

Status known_method(std::string_view name) {
  std::vector<std::string> known;
  for (const MethodEntry& entry : method_entries()) known.emplace_back(entry.name);
  if (name == "all" || std::find(known.begin(), known.end(), name) != known.end()) return Ok{};
  return Error{"", "method", "unknown method '" + std::string(name) + "'", "one of " + join(known, ", ") + ", or all"};
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
  if (judgement.methods.empty())
    return error("no method can run: " + join(judgement.missing, "; "), "name one with --method to see it alone");
  // A failed outcome has no regime; the last method, the roofline, fails only where there is no plan at all.
  const std::vector<Outcome>& regimes = judgement.methods.back().outcomes;
  for (MethodOutcomes& other : judgement.methods)
    for (std::size_t i = 0; i < rows.size(); ++i) other.outcomes[i].regime = regimes[i].regime;
  return judgement;
}

Count keep_common(std::vector<Measurement>& rows, std::vector<MethodOutcomes>& methods) {
  std::vector<std::set<std::string>> knows(methods.size());  // families and formats of each method
  std::vector<std::size_t> kept;
  for (std::size_t m = 0; m < methods.size(); ++m)
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!methods[m].outcomes[i].failed) knows[m].insert(model_key(rows[i].kernel));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string key = model_key(rows[i].kernel);
    bool any = false, lacks = false;
    for (std::size_t m = 0; m < methods.size(); ++m) {
      any |= !methods[m].outcomes[i].failed;
      lacks |= methods[m].outcomes[i].failed && knows[m].contains(key);
    }
    if (any && !lacks) kept.push_back(i);
  }
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

std::vector<Measurement> judgeable(std::vector<Measurement> rows, const JudgeOptions& options) {
  std::map<std::string_view, bool> known;
  for (const Measurement& row : rows)
    if (!known.contains(row.gpu)) known[row.gpu] = options.weights && gpu_seen(*options.weights, row.gpu);
  // No shape of a table that no training read is a trained one, but by chance.
  const std::map<std::string, Count> trained_on =
      options.weights ? options.weights->sources() : std::map<std::string, Count>{};
  const auto trained_table = [&](const Measurement& row) {
    return trained_on.empty() || trained_on.contains(std::string(row.source));
  };
  const auto seen = [&](const Measurement& row) {
    return (known[row.gpu] && trained_table(row)) ||
           std::any_of(options.papers.begin(), options.papers.end(),
                       [&](const auto& paper) { return paper->rows_seen(row) > 0; });
  };
  std::erase_if(rows, [&](const Measurement& row) { return !held_out(row.kernel.shape) && seen(row); });
  return rows;
}

namespace {

// Which weights have seen the GPU, in which model, and in how many rows; empty if none have.
std::string sighting(const JudgeOptions& options, const std::string& gpu, const std::vector<Measurement>& rows) {
  const auto words = [&](std::string_view method, Count seen, const std::string& key) {
    return "the weights of " + std::string(method) + " have seen " + std::to_string(seen) + " rows of " + gpu + " (" +
           key + ")";
  };
  if (options.weights)
    for (const FamilyModel& model : options.weights->models)
      if (const auto found = model.seen.find(gpu); found != model.seen.end() && found->second > 0)
        return words("tilecast", found->second, model.key);
  for (const auto& paper : options.papers)
    for (const Measurement& row : rows)
      if (row.gpu == gpu && paper->rows_seen(row) > 0)
        return words(name_of(paper->method()), paper->rows_seen(row), model_key(row.kernel));
  return {};
}

}  // namespace

Status check_unseen(const JudgeOptions& options, const std::vector<std::string>& gpus,
                    const std::vector<Measurement>& rows) {
  for (const std::string& name : gpus) {
    const auto gpu = find_gpu(name);
    if (!gpu) return Error{"", "unseen", gpu.error().problem, gpu.error().remedy};
    if (std::string seen = sighting(options, gpu->name, rows); !seen.empty())
      return Error{"", "unseen", std::move(seen), "train with --leave-out " + gpu->name};
    if (std::none_of(rows.begin(), rows.end(), [&](const Measurement& row) { return row.gpu == gpu->name; }))
      return Error{"", "unseen", "--data holds no row of " + gpu->name, "name a card of the tables, or add its table"};
  }
  return Ok{};
}

}  // namespace tilecast
