// NeuSight's kernel model, as its paper and code define it: Lee, Phanishayee, Mahajan, Forecasting GPU Performance for
// Deep Learning Training and Inference, ASPLOS 2025.
//
//   t = waves * SMs * operations of a tile / (roofline * u),   u = sigmoid(o2) - sigmoid(o0) / waves
//
// o is the output of a network for four ratios of the tile's demands and the GPU's rates. Tiles come from a measured
// kernel: the training row nearest in raw dimensions and device figures. Names and units here are NeuSight's own (N is
// the reduction of a product), slips included: GB are taken for GiB, and its device files disagree with data sheets.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimate/mlp.h"
#include "gpu/gpu.h"
#include "kernel/kernel.h"

namespace tilecast {

// A GPU as NeuSight's device files describe it.
struct NeusightDevice {
  float sms = 0;
  float peak = 0;       // GFLOP/s of the pipe that the kernel runs on
  float memory = 0;     // GB
  float bandwidth = 0;  // GB/s
  float l2 = 0;         // MB
};
// `format` of the products; AMD's run on the matrix pipe. Empty if the GPU has no pipe for it.
std::optional<NeusightDevice> neusight_device(const Gpu& gpu, const Format& format, bool product);

// A kernel as NeuSight sees it.
struct NeusightCall {
  std::string_view op;         // the operator, whose rows give it their tiles
  std::string_view predictor;  // the network: bmm, linear, vec (all pointwise operators), softmax or ln
  bool product = false;
  double b = 1, m = 0, n = 0, k = 0;  // (b, m, n) x (b, n, k): n is the reduction
  double h = 0;                       // elements in each of b rows, if it is not a product
  double ops_per_output = 1;
  double bytes_per_output = 8;
  double element = 4;  // bytes

  std::array<float, 4> dims() const;  // what rows are compared by
};
// Empty for operators that NeuSight has no network for. Sides are for a pointwise kernel whose shape does not give
// them.
std::optional<NeusightCall> neusight_call(const Kernel& kernel, Count rows = 0, Count cols = 0);

struct NeusightTile {
  float m = 0, k = 0;  // of a product's result; the whole reduction
  float elements = 0;  // of a row, otherwise
};

struct NeusightTerms {
  std::array<float, 4> features{};  // the network's inputs
  double waves = 1;
  Seconds at_full;  // time at a utilisation of one
};
NeusightTerms neusight_terms(const NeusightCall& call, const NeusightTile& tile, const NeusightDevice& device);

double neusight_utilisation(std::span<const float> outputs, double waves);
// Zero if the utilisation is not positive, as in NeuSight.
Seconds neusight_time(const NeusightTerms& terms, std::span<const float> outputs);

// The rows that lend their tiles.
struct NeusightDonors {
  struct Donor {
    std::array<float, 4> dims{};
    NeusightTile tile;
    std::uint32_t device = 0;  // index below
  };
  std::vector<NeusightDevice> devices;
  std::vector<Donor> donors;

  // The nearest row by plain, unscaled distance over dimensions and device figures; the first of equals.
  std::optional<NeusightTile> nearest(const std::array<float, 4>& dims, const NeusightDevice& device) const;
};

struct NeusightWeights {
  TrainedMlps predictors;                        // by neusight_key of the predictor
  std::map<std::string, NeusightDonors> donors;  // by neusight_key of the operator
  std::map<std::string, Count> sources;          // source of rows -> how many
};

// "nvidia/bmm/fp32": NeuSight trains vendors separately; formats other than fp32 are our extension.
std::string neusight_key(std::string_view name, const Gpu& gpu, const Format& format);

// The forecast; empty if the weights have no network for it. Operators outside NeuSight's list follow its memory rule:
// bytes of the plan's operands over the full bandwidth.
std::optional<Seconds> neusight_forecast(const NeusightWeights& weights, const Kernel& kernel, const Plan& plan,
                                         const Gpu& gpu, Count rows = 0, Count cols = 0);
Seconds neusight_memory_time(const Plan& plan, const NeusightDevice& device);

std::string to_bytes(const NeusightWeights& weights);
Result<NeusightWeights> neusight_from_bytes(std::string_view bytes, const std::string& place);

}  // namespace tilecast
