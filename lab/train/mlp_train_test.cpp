// Networks and their training: products, gradients by finite differences, determinism, a function learned.
#include "lab/train/mlp_train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "estimate/matrix.h"

namespace tilecast {
namespace {

std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(random() >> 40) / (1 << 23) - 1;
  return values;
}

TEST(Matrix, ProductOfEverySize) {
  for (const std::size_t rows : {1u, 5u, 12u, 29u})
    for (const std::size_t cols : {1u, 3u, 16u, 50u, 67u}) {
      const std::size_t inner = 7;
      const auto a = random_values(rows * inner, 1), b = random_values(inner * cols, 2);
      std::vector<float> c(rows * cols, 0.5f);
      add_product(a, b, c, inner, cols);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < cols; ++j) {
          double sum = 0.5;
          for (std::size_t i = 0; i < inner; ++i) sum += static_cast<double>(a[r * inner + i]) * b[i * cols + j];
          EXPECT_NEAR(c[r * cols + j], sum, 1e-5);
        }
    }
}

TEST(Matrix, RowsDoNotDependOnTheirNeighbours) {
  const auto a = random_values(29 * 64, 1), b = random_values(64 * 40, 2);
  std::vector<float> whole(29 * 40), parts(29 * 40);
  add_product(a, b, whole, 64, 40);
  for (std::size_t r = 0; r < 29; ++r)
    add_product(std::span(a).subspan(r * 64, 64), b, std::span(parts).subspan(r * 40, 40), 64, 40);
  EXPECT_EQ(whole, parts);
}

TEST(Mlp, HandComputed) {
  // Two inputs, two hidden units (the second cut off by its ReLU, then normalised), one output.
  Mlp::Layer first{2, 2, {1, -1, 2, -2}, {0.5f, 0}, true, {2, 3}, {1, 4}};
  Mlp::Layer last{2, 1, {10, 100}, {-5}, false, {}, {}};
  const Mlp network({first, last});
  // x = (1, 1): linear (3.5, -3), ReLU (3.5, 0), norm (8, 4), out 80 + 400 - 5.
  EXPECT_THAT(network.forward(std::vector<float>{1, 1, 0, 0}), testing::ElementsAre(475, 10 * 2 + 400 - 5));
  PackWriter out;
  write_mlp(out, network);
  PackReader in(out.bytes());
  EXPECT_THAT(read_mlp(in).forward(std::vector<float>{1, 1}), testing::ElementsAre(475));
  EXPECT_TRUE(!in.bad() && in.at_end());
}

TEST(Mlp, RefusesLayersThatDoNotFit) {
  PackWriter out;
  write_mlp(out, Mlp({{2, 2, {1, 1, 1, 1}, {0, 0}, true, {}, {}}, {3, 1, {1, 1, 1}, {0}, false, {}, {}}}));
  PackReader in(out.bytes());
  EXPECT_TRUE(read_mlp(in).empty());
  EXPECT_TRUE(in.bad());
}

// Squared outputs against targets: smooth, so differences are too but for the ReLUs.
double squared(std::span<const float> outputs, std::span<const float> targets, std::span<float> gradient) {
  double sum = 0;
  const double n = static_cast<double>(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double d = outputs[i] - targets[i];
    sum += d * d / n;
    if (!gradient.empty()) gradient[i] = static_cast<float>(2 * d / n);
  }
  return sum;
}

// The gradient along random directions against central differences.
void check_gradient(const MlpShape& shape) {
  Workers workers(1);
  TrainableMlp net(shape, 7, workers);
  const std::size_t rows = 64;
  const auto x = random_values(rows * shape.inputs, 3), y = random_values(rows * shape.outputs, 4);
  std::vector<float> gradient(rows * shape.outputs);
  squared(net.forward(x, true), y, gradient);
  net.backward(gradient);
  const std::vector<float> analytic(net.gradients().begin(), net.gradients().end());
  const std::vector<float> start(net.parameters().begin(), net.parameters().end());
  for (std::uint64_t seed = 10; seed < 16; ++seed) {
    const auto direction = random_values(start.size(), seed);
    const double slope = std::inner_product(analytic.begin(), analytic.end(), direction.begin(), 0.0);
    const auto at = [&](double step) {
      for (std::size_t i = 0; i < start.size(); ++i)
        net.parameters()[i] = static_cast<float>(start[i] + step * direction[i]);
      return squared(net.forward(x, true), y, {});
    };
    const double step = 2e-4;  // shorter drowns in single precision, longer crosses the corners of ReLUs
    EXPECT_NEAR((at(step) - at(-step)) / (2 * step), slope, 0.002 * std::abs(slope) + 1e-3) << seed;
  }
}

TEST(MlpTrain, GradientsByFiniteDifferences) { check_gradient({5, {16, 12}, 3, false, 0}); }
TEST(MlpTrain, GradientsThroughBatchNorm) { check_gradient({5, {16, 12, 8}, 2, true, 0}); }

TEST(MlpTrain, FrozenNetworkIsTheTrainedOne) {
  Workers workers(1);
  TrainableMlp net({4, {16, 8}, 2, true, 0.1}, 1, workers);
  const auto x = random_values(40 * 4, 5);
  for (int i = 0; i < 20; ++i) net.forward(x, true);  // moves the running averages
  const auto alive = net.forward(x, false);
  const auto frozen = net.frozen().forward(x);
  for (std::size_t i = 0; i < frozen.size(); ++i) EXPECT_NEAR(frozen[i], alive[i], 1e-4);
}

struct Lesson {
  std::vector<float> x = random_values(1200 * 2, 1), y;
  Lesson() {
    for (std::size_t r = 0; r < 1200; ++r) y.push_back(x[2 * r] * x[2 * r + 1] + 0.3f * x[2 * r]);
  }
  MlpFit learn(const MlpTrainOptions& options) const {
    const MlpLoss loss = [this](std::span<const std::size_t> rows, std::span<const float> out, std::span<float> g) {
      std::vector<float> targets;
      for (const std::size_t r : rows) targets.push_back(y[r]);
      return squared(out, targets, g);
    };
    return train_mlp(x, loss, {}, options);
  }
  static MlpTrainOptions options() {
    MlpTrainOptions o;
    o.shape = {2, {32, 32}, 1, false, 0};
    o.epochs = 40;
    o.batch = 32;
    o.rate = 3e-3;
    return o;
  }
};

TEST(MlpTrain, LearnsASmallFunction) {
  const Lesson lesson;
  const MlpFit plain = lesson.learn(Lesson::options());
  EXPECT_LT(plain.validation, 1e-3);  // the targets' variance is 0.14
  MlpTrainOptions normed = Lesson::options();
  normed.shape.batch_norm = true;
  normed.clip = 1;
  normed.plateau = {0.6, 5, 1e-5};
  EXPECT_LT(lesson.learn(normed).validation, 3e-3);
}

TEST(MlpTrain, SameNetworkForASeedWhateverTheThreads) {
  const Lesson lesson;
  MlpTrainOptions options = Lesson::options();
  options.epochs = 2;
  options.shape = {2, {256, 256}, 1, true, 0.1};  // large enough to be shared out
  options.batch = 256;
  options.threads = 1;
  const MlpFit one = lesson.learn(options);
  options.threads = 3;
  const MlpFit three = lesson.learn(options);
  for (std::size_t i = 0; i < one.network.layers().size(); ++i)
    EXPECT_EQ(one.network.layers()[i].weights, three.network.layers()[i].weights);
  options.seed = 5;
  EXPECT_NE(lesson.learn(options).network.layers()[0].weights, one.network.layers()[0].weights);
}

TEST(MlpTrain, StopsEarlyAndKeepsTheBestEpoch) {
  const Lesson lesson;
  MlpTrainOptions options = Lesson::options();
  options.epochs = 400;
  options.rate = 0.05;  // too fast: validation jumps about
  options.patience = 5;
  const MlpFit fit = lesson.learn(options);
  EXPECT_LT(fit.epochs, 400);
  EXPECT_EQ(fit.epochs, fit.best_epoch + 5);
}

}  // namespace
}  // namespace tilecast
