// A small multi-layer perceptron as an immutable value: what `neusight` and `synperf` forecast with.
//
// Forecasting is thread-safe. Training is lab/train/mlp_train.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "estimate/packed.h"

namespace tilecast {

class Mlp {
 public:
  struct Layer {
    std::size_t inputs = 0, outputs = 0;
    std::vector<float> weights;  // inputs x outputs, row-major
    std::vector<float> bias;     // outputs
    bool relu = false;
    // Batch-norm after the ReLU in its inference form: y = x * scale + shift. Empty if there is none.
    std::vector<float> scale, shift;
  };

  Mlp() = default;
  explicit Mlp(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  bool empty() const { return layers_.empty(); }
  std::size_t inputs() const { return layers_.empty() ? 0 : layers_.front().inputs; }
  std::size_t outputs() const { return layers_.empty() ? 0 : layers_.back().outputs; }
  const std::vector<Layer>& layers() const { return layers_; }
  Count parameters() const;

  // Takes rows of inputs(), row-major; returns rows of outputs(). A row's result does not depend on its neighbours.
  std::vector<float> forward(std::span<const float> rows) const;

 private:
  std::vector<Layer> layers_;
};

void write_mlp(PackWriter& out, const Mlp& network);
// Marks the reader bad if layers do not fit together.
Mlp read_mlp(PackReader& in);

// A network and facts about its training.
struct TrainedMlp {
  Mlp network;
  std::map<std::string, Count> seen;  // GPU name -> rows it was trained on
  double validation = 0;              // mean error on the fifth of rows held out in training
  std::int32_t epochs = 0, best_epoch = 0;
};
using TrainedMlps = std::map<std::string, TrainedMlp>;  // by what they forecast
void write_trained(PackWriter& out, const TrainedMlps& trained);
// `fits` says whether a network has the inputs and outputs its method needs; if not, the reader is marked bad.
TrainedMlps read_trained(PackReader& in, bool (*fits)(const Mlp&));

}  // namespace tilecast
