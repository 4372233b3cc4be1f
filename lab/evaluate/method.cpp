#include "lab/evaluate/method.h"

#include <cassert>

#include "gpu/registry.h"
#include "support/workers.h"

namespace tilecast {
namespace {

class Analytic final : public Forecaster {
 public:
  explicit Analytic(Method method) : method_(method) {}
  Method method() const override { return method_; }
  Outcome forecast(const Measurement& row, const Gpu& gpu) const override { return forecast_row(row, gpu, method_); }
  Count rows_seen(const Measurement&) const override { return 0; }

 private:
  Method method_;
};

}  // namespace

Outcome PaperForecaster::forecast(const Measurement& row, const Gpu& gpu) const {
  Outcome outcome = forecast_row(row, gpu, method());
  if (outcome.failed) return outcome;
  const auto planned = plan(row.kernel, gpu, row.context);
  assert(planned);
  const auto found = learned_->time(row.kernel, *planned, gpu, {row.observed.rows, row.observed.cols});
  outcome.failed = !found;
  outcome.forecast = outcome.low = outcome.high = found.value_or(seconds(0));
  return outcome;
}

Count PaperForecaster::rows_seen(const Measurement& row) const {
  const Gpu* gpu = built_in_gpu(row.gpu);
  return gpu ? learned_->rows_seen(row.kernel, *gpu) : 0;
}

std::unique_ptr<Forecaster> analytic_method(Method method) { return std::make_unique<Analytic>(method); }

Result<std::unique_ptr<PaperForecaster>> train_method(Method method, const std::vector<Measurement>& rows,
                                                      std::span<const std::size_t> chosen, const MethodOptions& options,
                                                      const std::function<void(double, std::string_view)>& progress) {
  assert(needs_weights(method));
  std::unique_ptr<TrainedMethod> trained;
  bool empty = true;
  if (method == Method::neusight) {
    NeusightWeights weights = train_neusight(rows, chosen, options.neusight, progress);
    empty = weights.predictors.empty();
    trained = trained_method(std::move(weights));
  } else {
    SynperfWeights weights = train_synperf(rows, chosen, options.synperf, progress);
    empty = weights.models.empty();
    trained = trained_method(std::move(weights));
  }
  if (empty)
    return Error{"", "data", "holds no row that " + std::string(name_of(method)) + " can be trained on",
                 "docs/papers.md says which it takes"};
  return std::make_unique<PaperForecaster>(std::move(trained));
}

std::vector<Outcome> forecast_all(const Forecaster& forecaster, const std::vector<Measurement>& rows, int threads) {
  std::vector<Outcome> outcomes(rows.size());
  Workers workers(threads);
  constexpr std::size_t kPiece = 32;
  parallel_for(workers, {rows.size(), kPiece}, [&](std::size_t i) {
    if (const Gpu* gpu = built_in_gpu(rows[i].gpu)) outcomes[i] = forecaster.forecast(rows[i], *gpu);
    else outcomes[i].failed = true;
  });
  return outcomes;
}

}  // namespace tilecast
