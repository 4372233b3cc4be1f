// Training of an Mlp by hand-written back-propagation and AdamW, as PyTorch does it: the same initial distribution,
// batch-norm, drop-out, decoupled weight decay, learning rate on a plateau and early stop. Deterministic for a seed
// whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "estimate/mlp.h"
#include "support/workers.h"

namespace tilecast {

struct MlpShape {
  std::size_t inputs = 0;
  std::vector<std::size_t> hidden;  // each followed by a ReLU
  std::size_t outputs = 1;
  bool batch_norm = false;  // after every ReLU
  double dropout = 0;       // after that
};

// A network in training: all parameters in one list, and their gradients.
class TrainableMlp {
 public:
  TrainableMlp(const MlpShape& shape, std::uint64_t seed, Workers& workers);

  std::span<float> parameters() { return parameters_; }
  std::span<float> gradients() { return gradients_; }
  // The outputs for a batch, row-major. `training` normalises by the batch and drops units out.
  std::span<const float> forward(std::span<const float> rows, bool training);
  // Fills gradients() from the gradient at the outputs of the last forward.
  void backward(std::span<const float> outputs_gradient);
  // As it stands, with the running averages of batch-norm.
  Mlp frozen() const;

 private:
  struct Stage {
    std::size_t inputs, outputs;
    std::size_t weights, bias, scale, shift;    // places in the parameters
    bool hidden;                                // followed by ReLU, batch-norm, drop-out
    std::vector<float> mean, variance;          // running, of batch-norm
    std::vector<float> in, transposed, linear;  // of the last batch
    std::vector<float> normal, spread;          // normalised activations; 1 / deviation of a unit
    std::vector<float> kept;                    // factors of drop-out
  };
  void linear(Stage& stage, std::size_t rows);
  void normalise(Stage& stage, std::vector<float>& values, bool training);
  void denormalise(Stage& stage, std::vector<float>& gradient);
  void product(std::span<const float> a, std::span<const float> b, std::span<float> c, std::size_t inner,
               std::size_t cols);

  MlpShape shape_;
  Workers& workers_;
  std::mt19937_64 random_;
  std::vector<Stage> stages_;
  std::vector<float> parameters_, gradients_, outputs_;
};

// Mean loss of the rows named, given their outputs; fills the gradient of that mean at the outputs unless it is empty.
using MlpLoss =
    std::function<double(std::span<const std::size_t> rows, std::span<const float> outputs, std::span<float> gradient)>;

struct MlpProgress {
  int epoch = 0, epochs = 0;
  double train = 0, validation = 0;
};

struct MlpTrainOptions {
  MlpShape shape;
  int epochs = 100;
  std::size_t batch = 128;
  double rate = 1e-3, weight_decay = 1e-2;
  double clip = 0;                // of the gradient's norm; zero: none
  double validation_share = 0.2;  // of rows, drawn by the seed
  int patience = 0;               // epochs without a better validation before it stops; zero: never
  struct {
    double factor = 1;  // of the rate after `patience` epochs without a better validation; one: constant
    int patience = 10;
    double least = 1e-6;
  } plateau;
  std::uint64_t seed = 0;
  int threads = 2;
  std::function<void(const MlpProgress&)> progress;  // may be empty
};

struct MlpFit {
  Mlp network;  // of the epoch with the best validation
  double validation = 0;
  int best_epoch = 0, epochs = 0;
};

// `features` are rows of shape.inputs. `loss` is what is descended, `judge` what picks the epoch (the loss itself where
// empty). With too few rows to hold some out, all are both.
MlpFit train_mlp(std::span<const float> features, const MlpLoss& loss, const MlpLoss& judge,
                 const MlpTrainOptions& options);

}  // namespace tilecast
