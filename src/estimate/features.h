// What the learned part sees of a forecast: only dimensionless quantities.
//
// Shares of the analytic forecast's own terms, the schedule, padding, cache pressure, and the logarithms of the shape's
// dimensions; no raw times, rates or sizes of the GPU, so they cannot identify a card.
//
// Features are identified by name. Trees are grown on their order, so a weight file keeps the names it was trained with
// (estimate/feature_schema.h) and is rejected by a program with different ones. A feature whose meaning changes
// therefore needs a new name too.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "estimate/estimate.h"
#include "kernel/kernel.h"

namespace tilecast {

inline constexpr int kShapeFeatures = 10;  // the first this many numeric fields of the family

enum class Feature : std::uint8_t {
  // Logarithms of the forecast's own times, taken relative to the base.
  tensor_time,
  vector_time,
  xu_time,
  shared_time,
  l2_time,
  dram_time,
  launch_time,
  latency_time,
  bound_time,
  main_launch_time,
  // The kernel and its source.
  tensor_generation,
  source_code,
  math_bits,
  weight_bits,
  quantised_on_the_fly,
  // The longest launch's schedule.
  waves,
  last_wave_fullness,
  occupancy,
  balance,
  sms_used,
  busiest_tasks,
  steps_per_task,
  padding,
  split,
  tile_m,
  tile_n,
  // Caches and traffic.
  footprint_over_cache,
  copies_over_cache,
  l2_traffic_over_footprint,
  intensity,
  launches,
  ctas_per_sm,
  least_traffic_over_footprint,
  eager_runtime,
  // Fields of the family, kShapeFeatures of them; their names are the family's (shape_feature_names).
  first_of_shape,
  // For the forests that may know them.
  card = first_of_shape + kShapeFeatures,
  source_index,
};
inline constexpr int kTimeFeatures = static_cast<int>(Feature::main_launch_time) + 1;
inline constexpr int kFeatureCount = static_cast<int>(Feature::source_index) + 1;

constexpr std::size_t index_of(Feature feature) { return static_cast<std::size_t>(feature); }
// "tensor_time"; empty for the fields of a shape.
std::string_view name_of(Feature feature);

class Features {
 public:
  float& operator[](Feature feature) { return values_[index_of(feature)]; }
  float operator[](Feature feature) const { return values_[index_of(feature)]; }
  // Those of the shape, in the order of its fields; zero if the family has fewer.
  std::span<float, kShapeFeatures> shape() { return std::span(values_).subspan<kShapeBegin, kShapeFeatures>(); }
  std::span<const float, kShapeFeatures> shape() const {
    return std::span(values_).subspan<kShapeBegin, kShapeFeatures>();
  }
  // Logarithms of times.
  std::span<float, kTimeFeatures> times() { return std::span(values_).first<kTimeFeatures>(); }
  // All, as forests take them.
  std::span<const float, kFeatureCount> row() const { return values_; }

 private:
  static constexpr std::size_t kShapeBegin = index_of(Feature::first_of_shape);
  std::array<float, kFeatureCount> values_{};
};

// The fields of a family that are features, in order, with how each is seen: "log2(m)", "backward",
// "layout{tn|nn|nt|tt}". At most kShapeFeatures.
std::vector<std::string> shape_feature_names(const Shape& shape);

// How well a card is known, as given by Feature::card: its number among the seen ones, or one of these.
inline constexpr float kNothingSeen = -1, kSiblingSeen = -2;

// What does not depend on training: times as log2 of microseconds, the rest in final form.
Features raw_features(const Kernel& kernel, const Plan& plan, const Estimate& estimate, const Gpu& gpu,
                      const Context& context);

// The features the forests see. `base` is the time that residuals are relative to. `source_code` orders kernel sources
// by how far their rows lie from the analytic forecast. `card` and `source_index` are for the forests that may know
// them.
Features relative_features(const Features& raw, Seconds base, float source_code, float card, float source_index);

}  // namespace tilecast
