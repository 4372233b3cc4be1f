#include "lab/evidence/amd_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/shape_text.h"
#include "lab/evaluate/tilecast_method.h"
#include "support/random.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr std::string_view kTunedBy = "aiter";

bool judged_here(const Measurement& row, std::string_view gpu) { return row.source == kTunedBy && row.gpu == gpu; }

// Forecasts of the rows named by `judged`, by a training on all rows but those of `apart`.
AmdJudged forecast_without(const std::vector<Measurement>& rows, const std::vector<std::size_t>& judged,
                           const std::vector<bool>& apart, const AmdOptions& options) {
  std::vector<std::size_t> train;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!apart[i]) train.push_back(i);
  AmdJudged found;
  for (const std::size_t i : judged) found.rows.push_back(rows[i]);
  found.outcomes =
      forecast_all(*train_tilecast(rows, train, options.train, options.progress), found.rows, options.threads);
  return found;
}

AmdJudged matrices_held_out(const std::vector<Measurement>& rows, const AmdOptions& options) {
  AmdJudged all;
  const auto folds = static_cast<std::uint64_t>(options.folds);
  for (std::uint64_t fold = 0; fold < folds; ++fold) {
    // Of every card: a matrix that another card was tuned for is no new one.
    std::vector<bool> apart(rows.size());
    std::vector<std::size_t> judged;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      apart[i] = rows[i].source == kTunedBy && mixed(0, matrix_of(rows[i])) % folds == fold;
      if (apart[i] && judged_here(rows[i], kAmdTrained)) judged.push_back(i);
    }
    AmdJudged part = forecast_without(rows, judged, apart, options);
    std::move(part.rows.begin(), part.rows.end(), std::back_inserter(all.rows));
    all.outcomes.insert(all.outcomes.end(), part.outcomes.begin(), part.outcomes.end());
  }
  all.protocol = fmt::format("{}, matrices held out", kAmdTrained);
  return all;
}

AmdJudged card_left_out(const std::vector<Measurement>& rows, const AmdOptions& options) {
  std::vector<bool> apart(rows.size());
  std::vector<std::size_t> judged;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    apart[i] = rows[i].gpu == kAmdLeftOut;
    if (judged_here(rows[i], kAmdLeftOut)) judged.push_back(i);
  }
  AmdJudged found = forecast_without(rows, judged, apart, options);
  found.protocol = fmt::format("{}, card left out", kAmdLeftOut);
  return found;
}

}  // namespace

std::string matrix_of(const Measurement& row) {
  Shape shape = row.kernel.shape;
  if (auto* product = shape.get_if<Gemm>()) product->m = 1;
  else if (auto* batch = shape.get_if<Bmm>()) batch->m = 1;
  else if (auto* experts = shape.get_if<Moe>()) experts->tokens = 1;
  std::string text(family_of(shape));
  text += ';';
  append_dims(text, shape);
  return text;
}

Result<std::vector<AmdJudged>> judge_amd(const std::vector<Measurement>& rows, const AmdOptions& options) {
  for (const std::string_view gpu : {kAmdTrained, kAmdLeftOut})
    if (std::none_of(rows.begin(), rows.end(), [&](const Measurement& row) { return judged_here(row, gpu); }))
      return Error{"", "data", fmt::format("holds no row of {} from {}", gpu, kTunedBy),
                   "--data names the folder that holds aiter/"};
  return std::vector<AmdJudged>{matrices_held_out(rows, options), card_left_out(rows, options)};
}

std::map<std::pair<std::string, std::string>, AmdErrors> amd_errors(const AmdJudged& judged) {
  struct Rows {
    std::map<std::string, std::pair<double, Count>> by_matrix;
    std::vector<double> errors;
    double bias = 0;
    Count inside = 0;
  };
  std::map<std::pair<std::string, std::string>, Rows> groups;
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const Measurement& row = judged.rows[i];
    const Outcome& outcome = judged.outcomes[i];
    if (outcome.failed) continue;
    Rows& group = groups[{std::string(family_of(row.kernel.shape)), std::string(row.kernel.format.name)}];
    const double off = outcome.forecast / row.latency - 1;
    auto& [sum, rows] = group.by_matrix[matrix_of(row)];
    sum += std::abs(off), ++rows;
    group.errors.push_back(std::abs(off));
    group.bias += off;
    group.inside += row.latency >= outcome.low && row.latency <= outcome.high;
  }
  std::map<std::pair<std::string, std::string>, AmdErrors> errors;
  for (auto& [key, group] : groups) {
    AmdErrors& found = errors[key];
    const auto rows = static_cast<double>(group.errors.size());
    found.rows = static_cast<Count>(group.errors.size());
    found.matrices = static_cast<Count>(group.by_matrix.size());
    for (const auto& [matrix, sum] : group.by_matrix)
      found.by_matrix += sum.first / static_cast<double>(sum.second) / static_cast<double>(group.by_matrix.size());
    for (const double error : group.errors) found.mean += error / rows;
    found.bias = group.bias / rows;
    found.inside = static_cast<double>(group.inside) / rows;
    found.median = median(std::move(group.errors));
  }
  return errors;
}

std::string amd_report(const std::vector<AmdJudged>& judged, const AmdOptions& options) {
  std::string text = fmt::format(
      "## AMD's cards\n\n"
      "AITER's tuned products and fused experts: the fastest of tens to hundreds of candidates at each shape, so that "
      "what won is as unknown as its time. The source tells cards by compute units; {0} stands for all with 304, and "
      "{1} "
      "has 80. *Matrices held out*: {0}'s matrices are divided into {2} parts, and each part is forecast by a "
      "training "
      "without it. *Card left out*: no row of {1} was trained on. *By matrix*: the mean over matrices, whatever the "
      "number "
      "of rows measured of each. The method was built with rows of both cards in sight.\n\n"
      "[Whole models](whole-models.md) has Argonne's runs on MI300X, [NeuSight's cards](cards.md) and "
      "[papers](../papers.md) MI100 and MI210.\n\n"
      "| rows of | family | dtype | rows | matrices | by matrix | mean | median | bias | in interval |\n"
      "|---|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
      kAmdTrained, kAmdLeftOut, options.folds);
  for (const AmdJudged& part : judged)
    for (const auto& [key, e] : amd_errors(part))
      text += fmt::format("| {} | {} | {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:+.1f} % | {:.1f} % |\n",
                          part.protocol, key.first, key.second, e.rows, e.matrices, e.by_matrix * 100, e.mean * 100,
                          e.median * 100, e.bias * 100, e.inside * 100);
  return text;
}

}  // namespace tilecast
