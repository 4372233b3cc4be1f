#include "lab/train/mlp_train.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimate/matrix.h"
#include "lab/train/adam.h"

namespace tilecast {
namespace {

// PyTorch's defaults.
constexpr float kNormEpsilon = 1e-5f, kNormMomentum = 0.1f;
constexpr double kPlateauThreshold = 1e-4;  // relative: what counts as better

// The standard library's distributions differ between implementations; this one does not.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

void shuffle(std::vector<std::size_t>& rows, std::mt19937_64& random) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
}

void clip_norm(std::span<float> gradients, double most) {
  if (most <= 0) return;
  double square = 0;
  for (const float g : gradients) square += static_cast<double>(g) * g;
  const double norm = std::sqrt(square);
  if (norm <= most) return;
  const auto factor = static_cast<float>(most / (norm + 1e-6));  // PyTorch's epsilon
  for (float& g : gradients) g *= factor;
}

}  // namespace

TrainableMlp::TrainableMlp(const MlpShape& shape, std::uint64_t seed, Workers& workers)
    : shape_(shape), workers_(workers), random_(seed) {
  std::size_t at = 0, inputs = shape.inputs;
  const auto place = [&at](std::size_t n) { return std::exchange(at, at + n); };
  std::vector<std::size_t> widths = shape.hidden;
  widths.push_back(shape.outputs);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    Stage stage{};
    stage.inputs = inputs;
    stage.outputs = widths[i];
    stage.hidden = i + 1 < widths.size();
    stage.weights = place(inputs * widths[i]);
    stage.bias = place(widths[i]);
    if (stage.hidden && shape.batch_norm) {
      stage.scale = place(widths[i]);
      stage.shift = place(widths[i]);
      stage.mean.assign(widths[i], 0);
      stage.variance.assign(widths[i], 1);
    }
    inputs = widths[i];
    stages_.push_back(std::move(stage));
  }
  parameters_.assign(at, 0);
  gradients_.assign(at, 0);
  for (const Stage& stage : stages_) {  // PyTorch's: weights and bias uniform within 1 / sqrt(inputs)
    const double limit = 1 / std::sqrt(static_cast<double>(stage.inputs));
    for (std::size_t i = 0; i < (stage.inputs + 1) * stage.outputs; ++i)
      parameters_[stage.weights + i] = static_cast<float>((2 * uniform(random_) - 1) * limit);
    if (!stage.mean.empty())
      std::fill_n(parameters_.begin() + static_cast<std::ptrdiff_t>(stage.scale), stage.outputs, 1.0f);
  }
}

void TrainableMlp::product(std::span<const float> a, std::span<const float> b, std::span<float> c, std::size_t inner,
                           std::size_t cols) {
  const std::size_t rows = c.size() / cols;
  constexpr std::size_t kPiece = 24;  // rows; a multiple of every block of add_product
  // Waking a thread takes as long as some million multiply-adds.
  const bool alone = workers_.threads() == 1 || c.size() * inner < (std::size_t{1} << 22);
  const std::size_t each = alone ? rows : kPiece, pieces = (rows + each - 1) / each;
  workers_.each(pieces, [&](std::size_t i) {
    const std::size_t first = i * each, n = std::min(each, rows - first);
    add_product(a.subspan(first * inner, n * inner), b, c.subspan(first * cols, n * cols), inner, cols);
  });
}

void TrainableMlp::linear(Stage& stage, std::size_t rows) {
  const std::span<const float> all = parameters_;
  stage.linear.resize(rows * stage.outputs);
  const auto bias = all.subspan(stage.bias, stage.outputs);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy(bias.begin(), bias.end(), stage.linear.begin() + static_cast<std::ptrdiff_t>(r * stage.outputs));
  product(stage.in, all.subspan(stage.weights, stage.inputs * stage.outputs), stage.linear, stage.inputs,
          stage.outputs);
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift, unit by unit; Ioffe and Szegedy, 2015.
void TrainableMlp::normalise(Stage& stage, std::vector<float>& values, bool training) {
  const std::size_t width = stage.outputs, rows = values.size() / width;
  stage.normal.resize(values.size());
  stage.spread.resize(width);
  std::vector<double> sum(width), square(width);
  if (training) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < width; ++j) sum[j] += values[r * width + j];
    for (double& s : sum) s /= static_cast<double>(rows);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < width; ++j) {
        const double apart = values[r * width + j] - sum[j];
        square[j] += apart * apart;
      }
  }
  for (std::size_t j = 0; j < width; ++j) {
    float mean = stage.mean[j], variance = stage.variance[j];
    if (training) {
      mean = static_cast<float>(sum[j]);
      variance = static_cast<float>(square[j] / static_cast<double>(rows));
      const auto unbiased = static_cast<float>(square[j] / static_cast<double>(rows - 1));
      stage.mean[j] += kNormMomentum * (mean - stage.mean[j]);
      stage.variance[j] += kNormMomentum * (unbiased - stage.variance[j]);
    }
    stage.spread[j] = 1 / std::sqrt(variance + kNormEpsilon);
    sum[j] = mean;
  }
  const float* scale = &parameters_[stage.scale];
  const float* shift = &parameters_[stage.shift];
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t i = r * width + j;
      stage.normal[i] = (values[i] - static_cast<float>(sum[j])) * stage.spread[j];
      values[i] = stage.normal[i] * scale[j] + shift[j];
    }
}

// The gradient at batch-norm's output becomes the one at its input:
// dx = scale * spread * (dy - mean(dy) - normal * mean(dy * normal)).
void TrainableMlp::denormalise(Stage& stage, std::vector<float>& gradient) {
  const std::size_t width = stage.outputs, rows = gradient.size() / width;
  std::vector<double> plain(width), along(width);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < width; ++j) {
      plain[j] += gradient[r * width + j];
      along[j] += gradient[r * width + j] * stage.normal[r * width + j];
    }
  for (std::size_t j = 0; j < width; ++j) {
    gradients_[stage.scale + j] = static_cast<float>(along[j]);
    gradients_[stage.shift + j] = static_cast<float>(plain[j]);
    plain[j] /= static_cast<double>(rows);
    along[j] /= static_cast<double>(rows);
  }
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t i = r * width + j;
      const double centred = gradient[i] - plain[j] - stage.normal[i] * along[j];
      gradient[i] = static_cast<float>(parameters_[stage.scale + j] * stage.spread[j] * centred);
    }
}

std::span<const float> TrainableMlp::forward(std::span<const float> rows, bool training) {
  const std::size_t count = rows.size() / shape_.inputs;
  std::vector<float> values(rows.begin(), rows.end());
  for (Stage& stage : stages_) {
    stage.in = std::move(values);
    linear(stage, count);
    values = stage.linear;
    if (!stage.hidden) break;
    for (float& value : values) value = std::max(value, 0.0f);
    if (!stage.mean.empty()) normalise(stage, values, training);
    stage.kept.clear();
    if (!training || shape_.dropout <= 0) continue;
    stage.kept.resize(values.size());
    const auto factor = static_cast<float>(1 / (1 - shape_.dropout));
    for (std::size_t i = 0; i < values.size(); ++i) {
      stage.kept[i] = uniform(random_) < shape_.dropout ? 0 : factor;
      values[i] *= stage.kept[i];
    }
  }
  outputs_ = std::move(values);
  return outputs_;
}

void TrainableMlp::backward(std::span<const float> outputs_gradient) {
  std::vector<float> gradient(outputs_gradient.begin(), outputs_gradient.end());
  for (std::size_t s = stages_.size(); s-- > 0;) {
    Stage& stage = stages_[s];
    if (stage.hidden) {
      for (std::size_t i = 0; i < stage.kept.size(); ++i) gradient[i] *= stage.kept[i];
      if (!stage.mean.empty()) denormalise(stage, gradient);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        if (stage.linear[i] <= 0) gradient[i] = 0;
    }
    const std::size_t rows = gradient.size() / stage.outputs;
    const std::span<float> all = gradients_;
    const auto bias = all.subspan(stage.bias, stage.outputs),
               weights = all.subspan(stage.weights, stage.inputs * stage.outputs);
    std::fill(bias.begin(), bias.end(), 0.0f);
    std::fill(weights.begin(), weights.end(), 0.0f);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < stage.outputs; ++j) bias[j] += gradient[r * stage.outputs + j];
    stage.transposed.resize(stage.in.size());
    transpose(stage.in, stage.transposed, stage.inputs);
    product(stage.transposed, gradient, weights, rows, stage.outputs);
    if (s == 0) return;
    // Before the layer: gradient x weights transposed, as (weights x gradient transposed) transposed, because batches
    // are smaller than layers.
    std::vector<float> sideways(gradient.size()), before_sideways(rows * stage.inputs), before(rows * stage.inputs);
    transpose(gradient, sideways, stage.outputs);
    product(std::span<const float>(parameters_).subspan(stage.weights, stage.inputs * stage.outputs), sideways,
            before_sideways, stage.outputs, rows);
    transpose(before_sideways, before, rows);
    gradient = std::move(before);
  }
}

Mlp TrainableMlp::frozen() const {
  std::vector<Mlp::Layer> layers;
  const auto part = [&](std::size_t at, std::size_t n) {
    const auto first = parameters_.begin() + static_cast<std::ptrdiff_t>(at);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(n));
  };
  for (const Stage& stage : stages_) {
    Mlp::Layer layer{stage.inputs,
                     stage.outputs,
                     part(stage.weights, stage.inputs * stage.outputs),
                     part(stage.bias, stage.outputs),
                     stage.hidden,
                     {},
                     {}};
    if (!stage.mean.empty()) {
      layer.scale = part(stage.scale, stage.outputs);
      layer.shift = part(stage.shift, stage.outputs);
      for (std::size_t j = 0; j < stage.outputs; ++j) {
        layer.scale[j] /= std::sqrt(stage.variance[j] + kNormEpsilon);
        layer.shift[j] -= stage.mean[j] * layer.scale[j];
      }
    }
    layers.push_back(std::move(layer));
  }
  return Mlp(std::move(layers));
}

namespace {

// One training run: what changes from epoch to epoch.
class Run {
 public:
  Run(std::span<const float> features, const MlpLoss& loss, const MlpLoss& judge, const MlpTrainOptions& options)
      : features_(features),
        loss_(loss),
        judge_(judge ? judge : loss),
        options_(options),
        workers_(options.threads),
        random_(options.seed),
        net_(options.shape, options.seed + 1, workers_),
        adam_(net_.parameters().size(), options.weight_decay) {
    std::vector<std::size_t> rows(features.size() / options.shape.inputs);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    shuffle(rows, random_);
    const auto held = static_cast<std::size_t>(static_cast<double>(rows.size()) * options.validation_share);
    validation_.assign(rows.end() - static_cast<std::ptrdiff_t>(held), rows.end());
    train_.assign(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(held));
    if (validation_.empty()) validation_ = train_;
  }

  MlpFit fit() {
    MlpFit best;
    best.network = net_.frozen();
    best.validation = INFINITY;
    double rate = options_.rate, plateau_best = INFINITY;
    int waited = 0;
    for (int epoch = 1; epoch <= options_.epochs; ++epoch) {
      const double train = train_epoch(rate);
      const double validation = validate();
      best.epochs = epoch;
      if (validation < best.validation) {
        best.network = net_.frozen();
        best.validation = validation;
        best.best_epoch = epoch;
      }
      if (validation < plateau_best * (1 - kPlateauThreshold)) plateau_best = validation, waited = 0;
      else if (++waited > options_.plateau.patience && options_.plateau.factor < 1)
        rate = std::max(rate * options_.plateau.factor, options_.plateau.least), waited = 0;
      if (options_.progress) options_.progress({epoch, options_.epochs, train, validation});
      if (options_.patience > 0 && epoch - best.best_epoch >= options_.patience) break;
    }
    return best;
  }

 private:
  std::span<const float> gather(std::span<const std::size_t> rows) {
    const std::size_t width = options_.shape.inputs;
    batch_.resize(rows.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(features_.begin() + static_cast<std::ptrdiff_t>(rows[i] * width), width,
                  batch_.begin() + static_cast<std::ptrdiff_t>(i * width));
    return batch_;
  }

  double train_epoch(double rate) {
    shuffle(train_, random_);
    double sum = 0;
    const std::span<const std::size_t> all = train_;
    for (std::size_t first = 0; first < all.size(); first += options_.batch) {
      const auto rows = all.subspan(first, std::min(options_.batch, all.size() - first));
      if (options_.shape.batch_norm && rows.size() < 2) break;  // one row has no variance
      const auto outputs = net_.forward(gather(rows), true);
      gradient_.assign(outputs.size(), 0);
      sum += loss_(rows, outputs, gradient_) * static_cast<double>(rows.size());
      net_.backward(gradient_);
      clip_norm(net_.gradients(), options_.clip);
      adam_.step(net_.parameters(), net_.gradients(), rate, workers_);
    }
    return sum / static_cast<double>(all.size());
  }

  double validate() {
    constexpr std::size_t kBatch = 2048;
    double sum = 0;
    const std::span<const std::size_t> all = validation_;
    for (std::size_t first = 0; first < all.size(); first += kBatch) {
      const auto rows = all.subspan(first, std::min(kBatch, all.size() - first));
      sum += judge_(rows, net_.forward(gather(rows), false), {}) * static_cast<double>(rows.size());
    }
    return sum / static_cast<double>(all.size());
  }

  std::span<const float> features_;
  const MlpLoss &loss_, &judge_;
  const MlpTrainOptions& options_;
  Workers workers_;
  std::mt19937_64 random_;
  TrainableMlp net_;
  AdamW adam_;
  std::vector<std::size_t> train_, validation_;
  std::vector<float> batch_, gradient_;
};

}  // namespace

MlpFit train_mlp(std::span<const float> features, const MlpLoss& loss, const MlpLoss& judge,
                 const MlpTrainOptions& options) {
  if (features.empty()) return {};
  return Run(features, loss, judge, options).fit();
}

}  // namespace tilecast
