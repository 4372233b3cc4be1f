#include "lab/train/train_synperf.h"

#include <algorithm>
#include <cmath>

#include "estimate/learned.h"
#include "gpu/registry.h"
#include "lab/train/mlp_train.h"
#include "measure/dims.h"

namespace tilecast {
namespace {

struct SynperfLesson {
  std::vector<float> features;
  double efficiency;
  std::string_view gpu, source;
  std::uint64_t hash;
};

// Mean |y - e| / y of the efficiency, not of the time.
double relative_error_of(std::span<const SynperfLesson> lessons, std::span<const std::size_t> rows,
                         std::span<const float> outputs, std::span<float> gradient) {
  const double n = static_cast<double>(rows.size());
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = lessons[rows[i]].efficiency, e = synperf_efficiency(outputs[i]);
    sum += std::abs(y - e) / y;
    if (!gradient.empty()) gradient[i] = static_cast<float>((e > y ? 1 : -1) * e * (1 - e) / y / n);
  }
  return sum / n;
}

// The artifact's recipe.
MlpTrainOptions recipe(std::size_t inputs, const SynperfTrainOptions& options) {
  MlpTrainOptions train;
  train.shape = {inputs, {256, 128, 64}, 1, true, 0.1};
  train.epochs = options.epochs;
  train.batch = 1024;
  train.rate = 1e-3;
  train.weight_decay = 1e-4;
  train.clip = 1;
  train.patience = 85;
  train.plateau = {0.6, 45, 1e-6};
  train.seed = options.seed;
  train.threads = options.threads;
  return train;
}

std::map<std::string, std::vector<SynperfLesson>> lessons_of(const std::vector<Measurement>& rows,
                                                      std::span<const std::size_t> chosen,
                                                      const SynperfTrainOptions& options) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : chosen) groups[model_key(rows[i].kernel)].push_back(i);
  std::map<std::string, std::vector<SynperfLesson>> lessons;
  for (auto& [key, own] : groups) {
    const auto hash = [&](std::size_t i) { return shape_hash(rows[i].kernel.shape, options.seed); };
    if (options.most_rows > 0 && own.size() > static_cast<std::size_t>(options.most_rows)) {
      std::stable_sort(own.begin(), own.end(), [&](std::size_t a, std::size_t b) { return hash(a) < hash(b); });
      own.resize(static_cast<std::size_t>(options.most_rows));
    }
    for (const std::size_t i : own) {
      const Measurement& row = rows[i];
      const Gpu* gpu = built_in_gpu(row.gpu);
      if (!gpu) continue;
      const auto planned = plan(row.kernel, *gpu, row.context);
      if (!planned) continue;
      auto demand = synperf_demand(row.kernel, *planned, *gpu);
      if (!demand) continue;
      lessons[key].push_back(
          {std::move(demand->features), demand->theoretical / row.latency, row.gpu, row.source, hash(i)});
    }
  }
  return lessons;
}

}  // namespace

SynperfWeights train_synperf(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                             const SynperfTrainOptions& options,
                             const std::function<void(double, std::string_view)>& progress) {
  SynperfWeights weights;
  auto lessons = lessons_of(rows, chosen, options);
  double all = 0, done = 0;
  for (const auto& [key, own] : lessons) all += static_cast<double>(own.size());
  for (auto& [key, group] : lessons) {
    std::vector<SynperfLesson>& own = group;  // clang's lambdas capture no structured binding
    // Plans of one category may differ in their pipes; the network sees those of the first row.
    const std::size_t width = own.front().features.size();
    std::erase_if(own, [&](const SynperfLesson& lesson) { return lesson.features.size() != width; });
    TrainedMlp model;
    std::vector<float> features;
    for (const SynperfLesson& lesson : own) {
      features.insert(features.end(), lesson.features.begin(), lesson.features.end());
      ++model.seen[std::string(lesson.gpu)];
      ++weights.sources[std::string(lesson.source)];
    }
    MlpTrainOptions train = recipe(width, options);
    const double share = static_cast<double>(own.size()) / all;
    if (progress)
      train.progress = [&, name = key](const MlpProgress& p) {
        progress((done + share * p.epoch / p.epochs) * 0.999, name);
      };
    const MlpFit fit = train_mlp(
        features,
        [&](auto chosen_rows, auto outputs, auto gradient) {
          return relative_error_of(own, chosen_rows, outputs, gradient);
        },
        {}, train);
    model.network = fit.network;
    model.validation = fit.validation;
    model.epochs = fit.epochs;
    model.best_epoch = fit.best_epoch;
    weights.models[key] = std::move(model);
    done += share;
  }
  if (progress) progress(1, "");
  return weights;
}

}  // namespace tilecast
