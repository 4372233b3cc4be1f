// What trained methods have in common: one interface for the harness that compares them on the same rows.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimate/trained_method.h"
#include "lab/evaluate/evaluate.h"
#include "lab/train/train_neusight.h"
#include "lab/train/train_synperf.h"

namespace tilecast {

// A method with what it has learned; immutable and thread-safe.
class Forecaster {
 public:
  virtual ~Forecaster() = default;
  virtual Method method() const = 0;

  // The row's forecast beside our own bound, which the papers' methods do not respect; failed where the method cannot
  // say.
  virtual Outcome forecast(const Measurement& row, const Gpu& gpu) const = 0;
  // Rows of the GPU in the training of the part that would forecast this row; zero: the GPU is unseen.
  virtual Count rows_seen(const Measurement& row) const = 0;
};

// A forecaster with one of the papers' methods.
class PaperForecaster : public Forecaster {
 public:
  explicit PaperForecaster(std::shared_ptr<const TrainedMethod> learned) : learned_(std::move(learned)) {}
  const TrainedMethod& learned() const { return *learned_; }
  Method method() const override { return learned_->method(); }
  Outcome forecast(const Measurement& row, const Gpu& gpu) const override;
  Count rows_seen(const Measurement& row) const override;

 private:
  std::shared_ptr<const TrainedMethod> learned_;
};

struct MethodOptions {
  NeusightTrainOptions neusight;
  SynperfTrainOptions synperf;
};

// The analytic methods: nothing learned, so no GPU is seen.
std::unique_ptr<Forecaster> analytic_method(Method method);

// Trains `neusight` or `synperf` on the rows named by `chosen`; an error where none of them can be used.
Result<std::unique_ptr<PaperForecaster>> train_method(
    Method method, const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
    const MethodOptions& options, const std::function<void(double share, std::string_view what)>& progress);

// Forecasts of all rows, in order; a row whose GPU has no description fails.
std::vector<Outcome> forecast_all(const Forecaster& forecaster, const std::vector<Measurement>& rows, int threads);

}  // namespace tilecast
