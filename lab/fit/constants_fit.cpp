#include "lab/fit/constants_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "estimate/estimate.h"
#include "gpu/card_constants.h"
#include "gpu/registry.h"
#include "support/workers.h"

namespace tilecast {
namespace {

constexpr std::array<double, 8> kSteps = {0.25, 0.25, 0.12, 0.12, 0.06, 0.03, 0.03, 0.015};
constexpr std::size_t kBatch = 16;

// Shares stay shares and norms stay norms: a constant without a unit does not cross one.
double moved_value(const Tunable& constant, double value, double step) {
  const double moved = value * std::exp(step);
  if (constant.unit != "1" || !(constant.value > 0)) return moved;
  return constant.value <= 1 ? std::min(moved, 1.0) : std::max(moved, 1.0);
}

// Whether a constant can affect a row, as far as names tell; forecasting the other rows again would be wasted.
bool may_touch(const Tunable& constant, const Measurement& row, const Gpu& gpu) {
  const std::string_view family = family_of(row.kernel.shape);
  const bool attention = family.find("attention") != std::string_view::npos || family.starts_with("mla");
  if (constant.name.starts_with("attention.") && !attention) return false;
  if (constant.name.starts_with("moe.") && family.find("moe") == std::string_view::npos) return false;
  return holds_for(constant, gpu);
}

// The GPUs of the rows, which carry the constants under trial.
class Cards {
 public:
  explicit Cards(std::span<const Measurement* const> rows) {
    for (const Measurement* row : rows)
      if (const Gpu* gpu = built_in_gpu(row->gpu)) cards_.try_emplace(row->gpu, *gpu);
    for (const Measurement* row : rows) {
      const auto found = cards_.find(row->gpu);
      of_row_.push_back(found == cards_.end() ? nullptr : &found->second);
    }
  }
  void carry(const TunedConstants& constants) {
    const auto shared = std::make_shared<const TunedConstants>(constants);
    for (auto& [name, gpu] : cards_) gpu.constants = shared;
  }
  const Gpu* of_row(std::size_t row) const { return of_row_[row]; }

 private:
  std::map<std::string_view, Gpu> cards_;
  std::vector<const Gpu*> of_row_;
};

// Seconds; zero where there is no plan.
double analytic_seconds(const Measurement& row, const Gpu* gpu) {
  if (!gpu) return 0;
  const Context context = row.whole_context();
  const auto planned = plan(row.kernel, *gpu, context);
  if (!planned || planned->launches.empty()) return 0;
  return in_seconds(estimate(*planned, *gpu, context, Method::analytic).latency);
}

class Descent {
 public:
  Descent(std::span<const Measurement* const> rows, const ConstantsFit& start, const ConstantsFitOptions& options)
      : rows_(rows), fit_(start), options_(options), tuned_(start.tuned()), cards_(rows), workers_(options.threads) {
    losses_.resize(rows.size());
    forecast(every_row(), losses_);
    weigh();
    if (fit_.passes == 0) fit_.loss_before = loss();
  }

  Result<ConstantsFit> run() {
    const int passes = std::min(options_.passes, static_cast<int>(kSteps.size()));
    while (fit_.passes < passes) {
      pass(kSteps[static_cast<std::size_t>(fit_.passes)], passes);
      ++fit_.passes;
      fit_.loss = loss();
      if (options_.keep)
        if (auto kept = options_.keep(fit_); !kept) return std::move(kept).error();
    }
    fit_.loss = loss();
    return fit_;
  }

 private:
  std::vector<std::size_t> every_row() const {
    std::vector<std::size_t> all(rows_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  // |log(measured / forecast)| of the rows named, under the constants the cards carry; NaN where there is no plan.
  void forecast(const std::vector<std::size_t>& chosen, std::vector<double>& into) {
    cards_.carry(tuned_);
    into.resize(chosen.size());
    parallel_for(workers_, {chosen.size(), kBatch}, [&](std::size_t i) {
      const Measurement& row = *rows_[chosen[i]];
      into[i] = std::abs(std::log(in_seconds(row.latency) / analytic_seconds(row, cards_.of_row(chosen[i]))));
    });
  }

  // A row's weight: one over the rows of its family and GPU, the GPUs of its family, the families.
  void weigh() {
    std::map<std::pair<std::string_view, std::string_view>, double> rows_of;
    std::map<std::string_view, std::set<std::string_view>> gpus_of;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!std::isfinite(losses_[i])) continue;
      const std::string_view family = family_of(rows_[i]->kernel.shape);
      rows_of[{family, rows_[i]->gpu}] += 1;
      gpus_of[family].insert(rows_[i]->gpu);
    }
    weights_.assign(rows_.size(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!std::isfinite(losses_[i])) continue;
      const std::string_view family = family_of(rows_[i]->kernel.shape);
      weights_[i] = 1 / (rows_of[{family, rows_[i]->gpu}] * static_cast<double>(gpus_of[family].size()) *
                         static_cast<double>(gpus_of.size()));
    }
  }

  double loss() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (weights_[i] > 0) sum += weights_[i] * losses_[i];
    return sum;
  }

  double change(const std::vector<std::size_t>& chosen, const std::vector<double>& losses) const {
    double sum = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) sum += weights_[chosen[i]] * (losses[i] - losses_[chosen[i]]);
    return sum;
  }

  void pass(double step, int passes) {
    for (std::size_t i = 0; i < fit_.constants.size(); ++i) {
      if (options_.progress)
        options_.progress((fit_.passes + static_cast<double>(i) / static_cast<double>(fit_.constants.size())) / passes,
                          fit_.constants[i].constant->name);
      move(fit_.constants[i], step);
    }
  }

  void move(FittedConstant& fitted, double step) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (weights_[i] > 0 && may_touch(*fitted.constant, *rows_[i], *cards_.of_row(i))) chosen.push_back(i);
    // A value at its limit can move only one way.
    const double raised = moved_value(*fitted.constant, fitted.value, step);
    const double lowered = moved_value(*fitted.constant, fitted.value, -step);
    const double first = raised != fitted.value ? raised : lowered, second = first == raised ? lowered : raised;
    std::vector<double> at_first = tried(*fitted.constant, first, chosen);
    keep_touched(chosen, at_first);
    const std::vector<double> at_second = tried(*fitted.constant, second, chosen);
    fitted.rows = static_cast<Count>(chosen.size());
    constexpr double kWorth = -1e-9;  // less is rounding
    const double if_first = change(chosen, at_first), if_second = change(chosen, at_second);
    if (std::min(if_first, if_second) < kWorth) {
      fitted.value = if_first <= if_second ? first : second;
      const std::vector<double>& better = if_first <= if_second ? at_first : at_second;
      for (std::size_t i = 0; i < chosen.size(); ++i) losses_[chosen[i]] = better[i];
    }
    tuned_.set(*fitted.constant, fitted.value);
  }

  std::vector<double> tried(const Tunable& constant, double value, const std::vector<std::size_t>& chosen) {
    tuned_.set(constant, value);
    std::vector<double> losses;
    forecast(chosen, losses);
    return losses;
  }

  // Rows that the first step left unchanged are not forecast for the second.
  void keep_touched(std::vector<std::size_t>& chosen, std::vector<double>& losses) const {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (losses[i] == losses_[chosen[i]]) continue;
      chosen[kept] = chosen[i];
      losses[kept++] = losses[i];
    }
    chosen.resize(kept);
    losses.resize(kept);
  }

  std::span<const Measurement* const> rows_;
  ConstantsFit fit_;
  const ConstantsFitOptions& options_;
  TunedConstants tuned_;
  Cards cards_;
  Workers workers_;
  std::vector<double> losses_, weights_;
};

}  // namespace

TunedConstants ConstantsFit::tuned() const {
  TunedConstants tuned;
  for (const FittedConstant& fitted : constants) tuned.set(*fitted.constant, fitted.value);
  return tuned;
}
Count ConstantsFit::moved() const {
  return std::count_if(constants.begin(), constants.end(),
                       [](const FittedConstant& f) { return f.value != f.constant->value; });
}
Count ConstantsFit::idle() const {
  return std::count_if(constants.begin(), constants.end(), [](const FittedConstant& f) { return f.rows == 0; });
}

std::span<const double> fit_steps() { return kSteps; }

ConstantsFit shipped_constants() {
  ConstantsFit fit;
  for (const Tunable* constant : all_tunables()) fit.constants.push_back({constant, constant->value, 0});
  return fit;
}

Result<ConstantsFit> fit_constants(std::span<const Measurement* const> rows, const ConstantsFit& start,
                                   const ConstantsFitOptions& options) {
  if (rows.empty()) return Error{"", "data", "holds no row to fit to", "check --families and --leave-out"};
  return Descent(rows, start, options).run();
}

std::vector<double> errors_under(std::span<const Measurement* const> rows, const TunedConstants& constants,
                                 int threads) {
  Cards cards(rows);
  cards.carry(constants);
  std::vector<double> errors(rows.size());
  Workers workers(threads);
  parallel_for(workers, {rows.size(), kBatch}, [&](std::size_t i) {
    const double forecast = analytic_seconds(*rows[i], cards.of_row(i)), measured = in_seconds(rows[i]->latency);
    errors[i] = forecast > 0 ? std::abs(forecast - measured) / measured : -1;
  });
  return errors;
}

}  // namespace tilecast
