#include "lab/train/train_neusight.h"

#include <algorithm>
#include <cmath>

#include "gpu/registry.h"
#include "lab/train/mlp_train.h"
#include "measure/dims.h"

namespace tilecast {
namespace {

// A row ready for its network.
struct NeusightLesson {
  NeusightTerms terms;
  double measured;  // seconds
  std::string_view gpu, source;
  std::uint64_t hash;
};

// Learning rate and batch of NeuSight's scripts, NVIDIA and AMD.
struct Recipe {
  std::string_view predictor;
  double rate, rate_amd;
  std::size_t batch;
};
constexpr std::array<Recipe, 5> kRecipes = {{{"bmm", 1e-5, 1e-4, 128},
                                             {"linear", 5e-3, 1e-3, 128},
                                             {"vec", 5e-4, 5e-4, 64},
                                             {"ln", 1e-6, 1e-5, 16},
                                             {"softmax", 1e-6, 1e-5, 16}}};

double next_power(double value) { return std::exp2(std::ceil(std::log2(value))); }

// SMAPE: mean |y - p| / (y + p). A prediction clamped to zero costs one and has no slope.
double smape(std::span<const NeusightLesson> lessons, std::span<const std::size_t> rows, std::span<const float> outputs,
             std::span<float> gradient) {
  const double n = static_cast<double>(rows.size());
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NeusightLesson& lesson = lessons[rows[i]];
    const auto own = outputs.subspan(3 * i, 3);
    const double u = neusight_utilisation(own, lesson.terms.waves);
    if (!(u > 0)) {
      sum += 1;
      continue;
    }
    const double y = lesson.measured, p = in_seconds(lesson.terms.at_full) / u;
    sum += std::abs(y - p) / (y + p);
    if (gradient.empty()) continue;
    const double by_p = (p > y ? 2 : -2) * y / ((y + p) * (y + p));
    const double by_u = by_p * -p / u / n;
    const auto slope = [](double x) { return 1 / ((1 + std::exp(-x)) * (1 + std::exp(x))); };
    gradient[3 * i] = static_cast<float>(by_u * -slope(own[0]) / lesson.terms.waves);
    gradient[3 * i + 2] = static_cast<float>(by_u * slope(own[2]));
  }
  return sum / n;
}

double mean_error(std::span<const NeusightLesson> lessons, std::span<const std::size_t> rows, std::span<const float> outputs) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const NeusightLesson& lesson = lessons[rows[i]];
    sum += std::abs(in_seconds(neusight_time(lesson.terms, outputs.subspan(3 * i, 3))) / lesson.measured - 1);
  }
  return sum / static_cast<double>(rows.size());
}

MlpTrainOptions recipe_of(std::string_view key, const NeusightTrainOptions& options) {
  MlpTrainOptions train;
  train.shape = {4, std::vector<std::size_t>(7, options.width), 3, false, 0};
  train.epochs = options.epochs;
  train.seed = options.seed;
  train.threads = options.threads;
  for (const Recipe& recipe : kRecipes)
    if (key.find("/" + std::string(recipe.predictor) + "/") != std::string_view::npos) {
      train.rate = key.starts_with("amd") ? recipe.rate_amd : recipe.rate;
      train.batch = recipe.batch;
    }
  return train;
}

TrainedMlp train_predictor(std::vector<NeusightLesson> lessons, const MlpTrainOptions& train, Count most_rows,
                           std::map<std::string, Count>& sources) {
  if (most_rows > 0 && lessons.size() > static_cast<std::size_t>(most_rows)) {
    std::stable_sort(lessons.begin(), lessons.end(), [](auto& a, auto& b) { return a.hash < b.hash; });
    lessons.resize(static_cast<std::size_t>(most_rows));
  }
  TrainedMlp predictor;
  std::vector<float> features;
  for (const NeusightLesson& lesson : lessons) {
    features.insert(features.end(), lesson.terms.features.begin(), lesson.terms.features.end());
    ++predictor.seen[std::string(lesson.gpu)];
    ++sources[std::string(lesson.source)];
  }
  const MlpFit fit = train_mlp(
      features, [&](auto rows, auto outputs, auto gradient) { return smape(lessons, rows, outputs, gradient); },
      [&](auto rows, auto outputs, auto) { return mean_error(lessons, rows, outputs); }, train);
  predictor.network = fit.network;
  predictor.validation = fit.validation;
  predictor.epochs = fit.epochs;
  predictor.best_epoch = fit.best_epoch;
  return predictor;
}

void add_donor(NeusightDonors& table, std::map<std::string_view, std::uint32_t>& places, std::string_view gpu,
               const NeusightDevice& device, const NeusightCall& call, const NeusightTile& tile) {
  const auto [found, fresh] = places.try_emplace(gpu, static_cast<std::uint32_t>(table.devices.size()));
  if (fresh) table.devices.push_back(device);
  table.donors.push_back({call.dims(), tile, found->second});
}

}  // namespace

std::optional<NeusightTile> neusight_tile(const Measurement& row, const NeusightCall& call, const Gpu& gpu) {
  if (call.predictor == "ln" || call.predictor == "softmax") return NeusightTile{0, 0, static_cast<float>(call.h)};
  const Observed& seen = row.observed;
  if (call.product && seen.has_tile())
    return NeusightTile{static_cast<float>(seen.tile_m), static_cast<float>(seen.tile_n), 0};
  if (!call.product && seen.cta_elements > 0) return NeusightTile{0, 0, static_cast<float>(seen.cta_elements)};
  if (row.source.starts_with("neusight")) return std::nullopt;  // a kernel whose name tells no tile: NeuSight drops it
  const auto planned = plan(row.kernel, gpu, row.context);
  if (!planned) return std::nullopt;
  for (const Launch& launch : planned->launches) {
    if (call.product && launch.tile.m > 0 && launch.tile.n > 0)
      return NeusightTile{static_cast<float>(launch.tile.m), static_cast<float>(launch.tile.n), 0};
    if (!call.product && launch.ctas > 0)
      return NeusightTile{0, 0, static_cast<float>(next_power(call.b * call.h / static_cast<double>(launch.ctas)))};
  }
  return std::nullopt;
}

bool neusight_trains_on(const NeusightCall& call) {
  if (call.product) return true;
  return call.b > (call.predictor == "vec" ? 8192 : 4096) && call.h > 512;
}

NeusightWeights train_neusight(const std::vector<Measurement>& rows, std::span<const std::size_t> chosen,
                               const NeusightTrainOptions& options,
                               const std::function<void(double, std::string_view)>& progress) {
  NeusightWeights weights;
  std::map<std::string, std::vector<NeusightLesson>> lessons;
  std::map<std::string, std::map<std::string_view, std::uint32_t>> places;
  for (const std::size_t i : chosen) {
    const Measurement& row = rows[i];
    const Gpu* gpu = built_in_gpu(row.gpu);
    const auto call = neusight_call(row.kernel, row.observed.rows, row.observed.cols);
    if (!gpu || !call) continue;
    const auto device = neusight_device(*gpu, row.kernel.format, call->product);
    const auto tile = neusight_tile(row, *call, *gpu);
    if (!device || !tile) continue;
    const std::string donors = neusight_key(call->op, *gpu, row.kernel.format);
    add_donor(weights.donors[donors], places[donors], row.gpu, *device, *call, *tile);
    if (!neusight_trains_on(*call)) continue;
    lessons[neusight_key(call->predictor, *gpu, row.kernel.format)].push_back(
        {neusight_terms(*call, *tile, *device), in_seconds(row.latency), row.gpu, row.source,
         shape_hash(row.kernel.shape, options.seed)});
  }
  // Shares of the whole by rows; a row costs the same in all networks.
  double all = 0, done = 0;
  const auto cost = [&](const std::vector<NeusightLesson>& own) {
    const double n = static_cast<double>(own.size());
    return options.most_rows > 0 ? std::min(n, static_cast<double>(options.most_rows)) : n;
  };
  for (const auto& [key, own] : lessons) all += cost(own);
  for (auto& [key, own] : lessons) {
    MlpTrainOptions train = recipe_of(key, options);
    const double share = cost(own) / all;
    if (progress)
      train.progress = [&, name = key](const MlpProgress& p) {
        progress((done + share * p.epoch / p.epochs) * 0.999, name);
      };
    weights.predictors[key] = train_predictor(std::move(own), train, options.most_rows, weights.sources);
    done += share;
  }
  if (progress) progress(1, "");
  return weights;
}

}  // namespace tilecast
