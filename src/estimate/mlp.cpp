#include "estimate/mlp.h"

#include <algorithm>
#include <cassert>

#include "estimate/matrix.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostLayers = 64, kMostWidth = 1 << 14;
constexpr std::size_t kMostWeights = std::size_t{1} << 26;

// Rows per batch: few enough that a layer's activations stay in the second-level cache.
constexpr std::size_t kBatch = 96;

std::vector<float> apply(const Mlp::Layer& layer, std::span<const float> in, std::size_t rows) {
  std::vector<float> out(rows * layer.outputs);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy(layer.bias.begin(), layer.bias.end(), out.begin() + static_cast<std::ptrdiff_t>(r * layer.outputs));
  add_product(in, layer.weights, out, layer.inputs, layer.outputs);
  if (layer.relu)
    for (float& value : out) value = std::max(value, 0.0f);
  if (!layer.scale.empty())
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < layer.outputs; ++j) {
        float& value = out[r * layer.outputs + j];
        value = value * layer.scale[j] + layer.shift[j];
      }
  return out;
}

bool fits(const Mlp::Layer& layer, std::size_t inputs) {
  return layer.inputs == inputs && layer.outputs > 0 && layer.weights.size() == layer.inputs * layer.outputs &&
         layer.bias.size() == layer.outputs && layer.scale.size() == layer.shift.size() &&
         (layer.scale.empty() || layer.scale.size() == layer.outputs);
}

}  // namespace

Count Mlp::parameters() const {
  std::size_t n = 0;
  for (const Layer& layer : layers_)
    n += layer.weights.size() + layer.bias.size() + layer.scale.size() + layer.shift.size();
  return static_cast<Count>(n);
}

std::vector<float> Mlp::forward(std::span<const float> rows) const {
  assert(!empty() && rows.size() % inputs() == 0);
  const std::size_t count = rows.size() / inputs();
  std::vector<float> out;
  out.reserve(count * outputs());
  for (std::size_t first = 0; first < count; first += kBatch) {
    const std::size_t n = std::min(kBatch, count - first);
    std::vector<float> values = apply(layers_.front(), rows.subspan(first * inputs(), n * inputs()), n);
    for (std::size_t i = 1; i < layers_.size(); ++i) values = apply(layers_[i], values, n);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

void write_mlp(PackWriter& out, const Mlp& network) {
  out.count(network.layers().size());
  for (const Mlp::Layer& layer : network.layers()) {
    out.count(layer.inputs);
    out.count(layer.outputs);
    out.number(static_cast<std::uint8_t>(layer.relu));
    for (const auto* values : {&layer.weights, &layer.bias, &layer.scale, &layer.shift})
      out.list(std::span<const float>(*values));
  }
}

Mlp read_mlp(PackReader& in) {
  std::vector<Mlp::Layer> layers(in.count(kMostLayers));
  for (std::size_t i = 0; i < layers.size() && !in.bad(); ++i) {
    Mlp::Layer& layer = layers[i];
    layer.inputs = in.count(kMostWidth);
    layer.outputs = in.count(kMostWidth);
    layer.relu = in.number<std::uint8_t>() != 0;
    for (auto* values : {&layer.weights, &layer.bias, &layer.scale, &layer.shift})
      *values = in.list<float>(kMostWeights);
    if (layer.inputs == 0 || !fits(layer, i == 0 ? layer.inputs : layers[i - 1].outputs)) in.spoil();
  }
  return in.bad() ? Mlp() : Mlp(std::move(layers));
}

void write_trained(PackWriter& out, const TrainedMlps& trained) {
  out.count(trained.size());
  for (const auto& [key, one] : trained) {
    out.text(key);
    write_mlp(out, one.network);
    out.counts(one.seen);
    out.number(one.validation);
    out.number(one.epochs);
    out.number(one.best_epoch);
  }
}

TrainedMlps read_trained(PackReader& in, bool (*fits)(const Mlp&)) {
  TrainedMlps trained;
  for (std::size_t i = 0, n = in.count(10000); i < n && !in.bad(); ++i) {
    const std::string key = in.text();
    TrainedMlp& one = trained[key];
    one.network = read_mlp(in);
    one.seen = in.counts();
    one.validation = in.number<double>();
    one.epochs = in.number<std::int32_t>();
    one.best_epoch = in.number<std::int32_t>();
    if (!fits(one.network)) in.spoil();
  }
  return trained;
}

}  // namespace tilecast
