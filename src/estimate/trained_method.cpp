#include "estimate/trained_method.h"

#include <fmt/format.h>

#include <cassert>

#include "estimate/learned.h"
#include "estimate/packed.h"
#include "support/file.h"

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

  std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                              const Sides& sides) const override {
    return neusight_forecast(weights_, kernel, plan, gpu, sides.rows, sides.cols);
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

  std::optional<Seconds> time(const Kernel& kernel, const Plan& plan, const Gpu& gpu, const Sides&) const override {
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

std::string how_to_train(Method method) {
  const std::string name(name_of(method));
  return "`tilecast-lab train --method " + name + " --data TABLES -o " + name + ".weights`, then --weights " + name +
         ".weights";
}

}  // namespace

std::unique_ptr<TrainedMethod> trained_method(NeusightWeights weights) {
  return std::make_unique<Neusight>(std::move(weights));
}

std::unique_ptr<TrainedMethod> trained_method(SynperfWeights weights) {
  return std::make_unique<Synperf>(std::move(weights));
}

Result<std::unique_ptr<TrainedMethod>> load_method(Method method, const std::string& path) {
  assert(needs_weights(method));
  if (path.empty())
    return Error{"", "weights", "is missing: the weights of " + std::string(name_of(method)) + " are not shipped",
                 how_to_train(method)};
  const auto bytes = read_text_file(path, kMostPackedBytes);
  if (!bytes) return bytes.error();
  std::unique_ptr<TrainedMethod> loaded;
  if (method == Method::neusight) {
    auto weights = neusight_from_bytes(*bytes, path);
    if (!weights) return std::move(weights).error();
    loaded = trained_method(*std::move(weights));
  } else {
    auto weights = synperf_from_bytes(*bytes, path);
    if (!weights) return std::move(weights).error();
    loaded = trained_method(*std::move(weights));
  }
  return loaded;
}

Result<Estimate> method_estimate(const TrainedMethod& trained, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                                 const Context& context) {
  const auto found = trained.time(kernel, plan, gpu, {});
  if (!found)
    return Error{"", "weights",
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

}  // namespace tilecast
