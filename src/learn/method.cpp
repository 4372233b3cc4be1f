#include "learn/method.h"

#include <fmt/format.h>

#include <cassert>

#include "estimate/learned.h"
#include "gpu/registry.h"
#include "support/file.h"
#include "support/workers.h"

namespace tilecast {
namespace {

std::string describe(const std::string& key, const std::map<std::string, Count>& seen, double validation, int epochs,
                     int best) {
  Count rows = 0;
  for (const auto& [gpu, count] : seen) rows += count;
  return fmt::format("- {}: {} rows of {} GPU{}, {} epochs, best {} with {:.1f} % on the rows it validated with\n", key,
                     rows, seen.size(), seen.size() == 1 ? "" : "s", epochs, best, validation * 100);
}

Count count_of(const std::map<std::string, Count>& seen, const std::string& gpu) {
  const auto found = seen.find(gpu);
  return found == seen.end() ? 0 : found->second;
}

class Neusight final : public TrainedMethod {
 public:
  explicit Neusight(NeusightWeights weights) : weights_(std::move(weights)) {}
  Method method() const override { return Method::neusight; }
  using TrainedMethod::rows_seen;

  std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                              const Observed& observed) const override {
    return neusight_forecast(weights_, kernel, plan, gpu, observed.rows, observed.cols);
  }
  Count rows_seen(const Kernel& kernel, const Gpu& gpu) const override {
    const auto call = neusight_call(kernel);
    if (!call) return 0;
    const auto found = weights_.predictors.find(neusight_key(call->predictor, gpu, kernel.format));
    return found == weights_.predictors.end() ? 0 : count_of(found->second.seen, gpu.name);
  }
  std::string bytes() const override { return to_bytes(weights_); }
  std::string summary() const override {
    std::string text;
    for (const auto& [key, p] : weights_.predictors)
      text += describe(key, p.seen, p.validation, p.epochs, p.best_epoch);
    return text;
  }

 private:
  NeusightWeights weights_;
};

class Synperf final : public TrainedMethod {
 public:
  explicit Synperf(SynperfWeights weights) : weights_(std::move(weights)) {}
  Method method() const override { return Method::synperf; }
  using TrainedMethod::rows_seen;

  std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu, const Observed&) const override {
    return synperf_forecast(weights_, kernel, plan, gpu);
  }
  Count rows_seen(const Kernel& kernel, const Gpu& gpu) const override {
    const auto found = weights_.models.find(model_key(kernel));
    return found == weights_.models.end() ? 0 : count_of(found->second.seen, gpu.name);
  }
  std::string bytes() const override { return to_bytes(weights_); }
  std::string summary() const override {
    std::string text;
    for (const auto& [key, m] : weights_.models) text += describe(key, m.seen, m.validation, m.epochs, m.best_epoch);
    return text;
  }

 private:
  SynperfWeights weights_;
};

class Analytic final : public Forecaster {
 public:
  explicit Analytic(Method method) : method_(method) {}
  Method method() const override { return method_; }
  Outcome forecast(const Measurement& row, const Gpu& gpu) const override { return forecast_row(row, gpu, method_); }
  Count rows_seen(const Measurement&) const override { return 0; }

 private:
  Method method_;
};

std::string how_to_train(Method method) {
  const std::string name(name_of(method));
  return "`tilecast train --method " + name + " --data TABLES -o " + name + ".weights`, then --weights " + name +
         ".weights";
}

}  // namespace

Outcome TrainedMethod::forecast(const Measurement& row, const Gpu& gpu) const {
  Outcome outcome = forecast_row(row, gpu, method());
  if (outcome.failed) return outcome;
  const auto planned = plan(row.kernel, gpu, row.context);
  assert(planned);
  const auto found = time(row.kernel, *planned, gpu, row.observed);
  outcome.failed = !found;
  outcome.forecast = outcome.low = outcome.high = found.value_or(seconds(0));
  return outcome;
}

Count TrainedMethod::rows_seen(const Measurement& row) const {
  const Gpu* gpu = built_in_gpu(row.gpu);
  return gpu ? rows_seen(row.kernel, *gpu) : 0;
}

std::unique_ptr<Forecaster> analytic_method(Method method) { return std::make_unique<Analytic>(method); }

Result<std::unique_ptr<TrainedMethod>> train_method(Method method, const std::vector<Measurement>& rows,
                                                    std::span<const std::size_t> chosen, const MethodOptions& options,
                                                    const std::function<void(double, std::string_view)>& progress) {
  assert(needs_weights(method));
  std::unique_ptr<TrainedMethod> trained;
  bool empty = true;
  if (method == Method::neusight) {
    NeusightWeights weights = train_neusight(rows, chosen, options.neusight, progress);
    empty = weights.predictors.empty();
    trained = std::make_unique<Neusight>(std::move(weights));
  } else {
    SynperfWeights weights = train_synperf(rows, chosen, options.synperf, progress);
    empty = weights.models.empty();
    trained = std::make_unique<Synperf>(std::move(weights));
  }
  if (empty)
    return Error{"--data", "", "holds no row that " + std::string(name_of(method)) + " can be trained on",
                 "docs/papers.md says which it takes"};
  return trained;
}

Result<std::unique_ptr<TrainedMethod>> load_method(Method method, const std::string& path) {
  assert(needs_weights(method));
  if (path.empty())
    return Error{"--weights", "", "is missing: the weights of " + std::string(name_of(method)) + " are not shipped",
                 how_to_train(method)};
  const auto bytes = read_text_file(path, kMostPackedBytes);
  if (!bytes) return bytes.error();
  std::unique_ptr<TrainedMethod> loaded;
  if (method == Method::neusight) {
    auto weights = neusight_from_bytes(*bytes, path);
    if (!weights) return std::move(weights).error();
    loaded = std::make_unique<Neusight>(*std::move(weights));
  } else {
    auto weights = synperf_from_bytes(*bytes, path);
    if (!weights) return std::move(weights).error();
    loaded = std::make_unique<Synperf>(*std::move(weights));
  }
  return loaded;
}

Result<Estimate> method_estimate(const TrainedMethod& trained, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                 const Context& context) {
  const auto found = trained.time(kernel, plan, gpu, {});
  if (!found)
    return Error{"--weights", "",
                 "know nothing of " + model_key(kernel) + " on " + gpu.name + " under method " +
                     std::string(name_of(trained.method())),
                 "train on rows of this family and format"};
  Estimate e = estimate(plan, gpu, context, trained.method());
  const double factor = e.latency > seconds(0) ? *found / e.latency : 1;
  for (LaunchEstimate& launch : e.launches) launch.latency *= factor;
  e.latency = e.interval.low = e.interval.high = *found;
  e.efficiency = *found > seconds(0) ? e.bound / *found : 1;
  e.seen = trained.rows_seen(kernel, gpu) > 0 ? Seen::yes : Seen::no;
  return e;
}

std::vector<Outcome> forecast_all(const Forecaster& forecaster, const std::vector<Measurement>& rows, int threads) {
  std::vector<Outcome> outcomes(rows.size());
  Workers workers(threads);
  constexpr std::size_t kPiece = 32;
  workers.each((rows.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
    for (std::size_t i = piece * kPiece; i < std::min((piece + 1) * kPiece, rows.size()); ++i)
      if (const Gpu* gpu = built_in_gpu(rows[i].gpu)) outcomes[i] = forecaster.forecast(rows[i], *gpu);
      else outcomes[i].failed = true;
  });
  return outcomes;
}

}  // namespace tilecast
