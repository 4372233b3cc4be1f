// The tunable constants of kernel and estimate physics, refitted to measured rows.
// Coordinate descent over logarithms: each constant in turn is moved up and down by one step and stays where the loss
// is least; steps shrink from pass to pass. The loss is the mean |log(measured / analytic forecast)| of a family on a
// GPU, averaged over the GPUs of the family, then over families. Nothing is drawn at random: the same rows and settings
// give the same constants, whatever the number of threads and wherever a fit was interrupted.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constants/registry.h"
#include "constants/tuned.h"
#include "measure/measurement.h"
#include "tilecast/result.h"

namespace tilecast {

struct FittedConstant {
  const Tunable* constant = nullptr;
  double value = 0;
  Count rows = 0;  // whose forecast it touched in the last pass: none, and it keeps its shipped value
};

struct ConstantsFit {
  std::vector<FittedConstant> constants;  // in the registry's order
  int passes = 0;                         // done
  double loss_before = 0, loss = 0;

  TunedConstants tuned() const;
  Count moved() const;  // constants that left their shipped value
  Count idle() const;   // constants that no row touches
};

// Steps of the passes, as shares of a value: a fit takes all of them, one after another.
std::span<const double> fit_steps();

struct ConstantsFitOptions {
  int passes = 6;  // at most as many as fit_steps()
  int threads = 1;
  std::function<void(double share, std::string_view what)> progress = {};
  // Called after each pass, for a state to be kept; an error ends the fit.
  std::function<Status(const ConstantsFit&)> keep = {};
};

// The shipped constants, nothing fitted.
ConstantsFit shipped_constants();

// Continues from `start`. Rows must be of built-in GPUs, without known traps.
Result<ConstantsFit> fit_constants(std::span<const Measurement* const> rows, const ConstantsFit& start,
                                   const ConstantsFitOptions& options);

// Analytic forecasts of rows under these constants: |forecast - measured| / measured; negative where there is no plan.
std::vector<double> errors_under(std::span<const Measurement* const> rows, const TunedConstants& constants,
                                 int threads);

// A fit as text, and back; `about` says what it was fitted to, and a state of something else is refused.
std::string state_text(const ConstantsFit& fit, std::string_view about);
Result<ConstantsFit> state_from(std::string_view text, std::string_view about);

}  // namespace tilecast
