#include "estimate/features.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "estimate/tuning.h"

namespace tilecast {
namespace {

// log2 kept inside what the learner's bins should spend themselves on.
float log_ratio(double value, double least = -14, double most = 14) {
  if (!(value > 0)) return static_cast<float>(least);
  return std::clamp(std::log2(static_cast<float>(value)), static_cast<float>(least), static_cast<float>(most));
}

// Times far below a microsecond's thousandth say no more than "none".
float log_time(Seconds t) { return log_ratio(in_microseconds(t), -40, 40); }

// log2 of the numeric fields of the shape, in declaration order; zero where the family has fewer.
void add_shape(Features& f, std::size_t at, const Shape& shape) {
  std::visit(
      [&](const auto& s) {
        using S = std::remove_cvref_t<decltype(s)>;
        int left = kShapeFeatures;
        S::fields(s, [&](std::string_view, const auto& member, std::string_view, Need = Need::optional) {
          using T = std::remove_cvref_t<decltype(member)>;
          if constexpr (std::is_same_v<T, Count> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                        std::is_enum_v<T>) {
            if (left-- <= 0) return;
            if constexpr (std::is_same_v<T, Count>) f[at++] = log_ratio(static_cast<double>(member), -1, 40);
            else f[at++] = static_cast<float>(member);
          }
        });
      },
      shape);
}

}  // namespace

Features raw_features(const Kernel& kernel, const Plan& plan, const Estimate& e, const Gpu& gpu,
                      const Context& context) {
  Features f{};
  std::size_t at = 0;
  ResourceTimes sums{};
  Bytes footprint, least;
  for (std::size_t i = 0; i < e.launches.size(); ++i) {
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += e.launches[i].achieved[r];
    least += e.launches[i].assumed_least_traffic.total();
    for (const Operand& operand : plan.launches[i].operands)
      if (operand.role != Operand::Role::workspace) footprint += operand.size;
  }
  const std::size_t index = longest_launch(e);
  const Launch& launch = plan.launches[index];
  const LaunchEstimate& main = e.launches[index];
  const Load& load = main.load;
  const double sms = gpu.sms;
  const Bytes capacity = gpu.resident_capacity();

  for (const Resource r : {Resource::tensor, Resource::vector, Resource::xu, Resource::shared, Resource::l2,
                           Resource::dram, Resource::launch, Resource::latency})
    f[at++] = log_time(sums[static_cast<std::size_t>(r)]);
  f[at++] = log_time(e.assumed_bound);
  f[at++] = log_time(main.latency);
  f[at++] = static_cast<float>(gpu.tensor_generation());
  f[at++] = 0;  // code of the source
  f[at++] = static_cast<float>(bits_of(kernel.format.math));
  f[at++] = static_cast<float>(kernel.format.weight_bits);
  f[at++] = kernel.format.quantise == Quantise::dynamic ? 1.0f : 0.0f;
  f[at++] = log_ratio(static_cast<double>(load.waves));
  const double exact = static_cast<double>(launch.ctas) / (sms * load.occupancy);
  f[at++] = static_cast<float>(exact / std::ceil(std::max(exact, 1e-9)));
  f[at++] = log_ratio(load.occupancy);
  f[at++] = static_cast<float>(load.balance);
  f[at++] = static_cast<float>(static_cast<double>(load.sms_used) / sms);
  f[at++] = log_ratio(static_cast<double>(load.tasks_busiest));
  f[at++] = log_ratio(load.steps_busiest / std::max<double>(1, static_cast<double>(load.tasks_busiest)));
  const Demand total = launch.total();
  const Ops useful = launch.required.tensor + launch.required.vector;
  f[at++] = in_ops(useful) > 0 ? log_ratio((total.tensor + total.vector) / useful, -1, 8) : 0.0f;
  f[at++] = log_ratio(launch.split);
  f[at++] = log_ratio(launch.tile.m, -1);
  f[at++] = log_ratio(launch.tile.n, -1);
  f[at++] = log_ratio(footprint / capacity);
  f[at++] = log_ratio(footprint * std::max(context.weight_copies, context.activation_copies) / capacity);
  f[at++] = log_ratio((total.l2_load + total.l2_store) / std::max(footprint, bytes(1)), -4, 10);
  f[at++] = log_ratio(in_ops(useful) / std::max(1.0, in_bytes(footprint)), -6, 14);
  f[at++] = static_cast<float>(plan.launches.size());
  f[at++] = log_ratio(static_cast<double>(launch.ctas) / sms);
  f[at++] = log_ratio(least / std::max(footprint, bytes(1)), -6, 1);
  f[at++] = context.runtime == Runtime::eager ? 1.0f : 0.0f;
  add_shape(f, at, kernel.shape);
  return f;
}

Features relative_features(const Features& raw, Seconds base, float source_code, float card, float source_index) {
  // The bound and the main launch are within sight of the base; a resource may be negligible.
  static constexpr std::array<std::pair<float, float>, kTimeFeatures> kRanges = {
      {{-10, 2}, {-10, 2}, {-10, 2}, {-10, 2}, {-10, 2}, {-10, 2}, {-10, 2}, {-10, 2}, {-12, 1}, {-6, 1}}};
  Features f = raw;
  const auto log_base = std::log2(static_cast<float>(in_microseconds(base)));
  for (std::size_t i = 0; i < kTimeFeatures; ++i)
    f[i] = std::clamp(raw[i] - log_base, kRanges[i].first, kRanges[i].second);
  f[kTimeFeatures + 1] = source_code;
  f[kCardFeature] = card;
  f[kFeatureCount - 1] = source_index;
  return f;
}

}  // namespace tilecast
