// A small multi-layer perceptron as an immutable value: what `neusight` and `synperf` forecast with.
//
// Forecasting is thread-safe. Training is learn/mlp_train.h.
#pragma once

#include <span>
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
    // Batch-norm after the ReLU in its inference form: y = x * scale + shift. Empty where there is none.
    std::vector<float> scale, shift;
  };

  Mlp() = default;
  explicit Mlp(std::vector<Layer> layers) : layers_(std::move(layers)) {}

  bool empty() const { return layers_.empty(); }
  std::size_t inputs() const { return layers_.empty() ? 0 : layers_.front().inputs; }
  std::size_t outputs() const { return layers_.empty() ? 0 : layers_.back().outputs; }
  const std::vector<Layer>& layers() const { return layers_; }
  Count parameters() const;

  // Rows of inputs(), row-major; rows of outputs() come back. A row's result does not depend on its neighbours.
  std::vector<float> forward(std::span<const float> rows) const;

 private:
  std::vector<Layer> layers_;
};

void write_mlp(PackWriter& out, const Mlp& network);
// Spoils the reader where layers do not fit each other.
Mlp read_mlp(PackReader& in);

}  // namespace tilecast
