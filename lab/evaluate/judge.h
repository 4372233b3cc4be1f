// Who judges what: the methods that forecast the same rows, and which rows may honestly be judged.
//
// Weights are judged on shapes that every training holds out where they have seen the GPU, and on all rows of GPUs they
// have never seen. A GPU counts as unseen only if no model of the weights was trained on a row of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/evaluate/method.h"
#include "lab/train/train_all.h"

namespace tilecast {

// One method's forecasts of rows, in their order.
struct MethodOutcomes {
  std::string name;
  std::vector<Outcome> outcomes;
};

// What methods may use. Without weights or a fold, nothing is learned.
struct JudgeOptions {
  const Weights* weights = nullptr;                                 // of `tilecast`
  std::vector<std::shared_ptr<const PaperForecaster>> papers = {};  // of `neusight` and `synperf`
  std::optional<LeaveOut> leave_out = {};
  TrainAllOptions train = {};       // with leave_out
  MethodOptions train_papers = {};  // the same
  int threads = 1;
  Progress progress = {};
};

// A method by its name. Its error says what it lacks, and how to get it.
struct MethodEntry {
  std::string_view name;
  Result<std::vector<Outcome>> (*run)(const std::vector<Measurement>& rows, const JudgeOptions& options);
};
// Every method, in the order tables show them. A new method is a line here.
std::span<const MethodEntry> method_entries();

// Is it one of the entries' names, or "all"?
Status known_method(std::string_view name);

struct Judgement {
  std::vector<MethodOutcomes> methods;
  std::vector<std::string> missing;  // "tilecast: no weights (...)": those of "all" that could not run
};
// `method` is a known one; "all" runs each that can. Regimes are the first method's: rows must fall into the same
// groups whichever method forecasts them.
Result<Judgement> judge(const std::vector<Measurement>& rows, std::string_view method, const JudgeOptions& options);

// Keeps the rows that every method could forecast, so that methods are compared on the same ones; returns how many
// were dropped. A method that knows nothing at all about a family and format (the papers' methods know few) does not
// count there: its outcomes stay failed.
Count keep_common(std::vector<Measurement>& rows, std::vector<MethodOutcomes>& methods);

// Whether any model of the weights was trained on rows of this GPU (its exact name).
bool gpu_seen(const Weights& weights, std::string_view gpu);

// Rows that all weights may be judged on.
std::vector<Measurement> judgeable(std::vector<Measurement> rows, const JudgeOptions& options);

// Refuses to call a GPU unseen if any weights have seen it, if it is unknown, or if it has no row here.
Status check_unseen(const JudgeOptions& options, const std::vector<std::string>& gpus,
                    const std::vector<Measurement>& rows);

}  // namespace tilecast
