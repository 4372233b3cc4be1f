// What methods have in common once trained: one shape for the harness that compares them on the same rows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/evaluate.h"
#include "learn/train_neusight.h"
#include "learn/train_synperf.h"

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

// A forecaster that a weight file holds: what `neusight` and `synperf` are.
class TrainedMethod : public Forecaster {
 public:
  // Time of one kernel; nothing where the weights know nothing of it. `observed` gives a pointwise kernel's sides.
  virtual std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                      const Observed& observed) const = 0;
  virtual Count rows_seen(const Kernel& kernel, const Gpu& gpu) const = 0;
  virtual std::string bytes() const = 0;    // the file
  virtual std::string summary() const = 0;  // a line for every network: rows, epochs, validation error

  Outcome forecast(const Measurement& row, const Gpu& gpu) const override;
  Count rows_seen(const Measurement& row) const override;
};

struct MethodOptions {
  NeusightTrainOptions neusight;
  SynperfTrainOptions synperf;
};

// The analytic methods: nothing learned, so no GPU is seen.
std::unique_ptr<Forecaster> analytic_method(Method method);

// Trains `neusight` or `synperf` on the rows named by `chosen`; an error where none of them can be used.
Result<std::unique_ptr<TrainedMethod>> train_method(
    Method method, const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
    const MethodOptions& options, const std::function<void(double share, std::string_view what)>& progress);

// From a weight file. Without a file the error says how to get one.
Result<std::unique_ptr<TrainedMethod>> load_method(Method method, const std::string& path);

// The estimate of a kernel under such a method: its frame (plan, schedule, bound) with the method's time.
Result<Estimate> method_estimate(const TrainedMethod& trained, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                 const Context& context);

// Forecasts of all rows, in order; a row whose GPU has no description fails.
std::vector<Outcome> forecast_all(const Forecaster& forecaster, const std::vector<Measurement>& rows, int threads);

}  // namespace tilecast
