#include "estimate/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "estimate/tuning.h"
#include "kernel/shapes.h"

namespace tilecast {
namespace {

// log2, clamped to the range on which the learner's bins are best spent.
float log_ratio(double value, double least = -14, double most = 14) {
  if (!(value > 0)) return static_cast<float>(least);
  return std::clamp(std::log2(static_cast<float>(value)), static_cast<float>(least), static_cast<float>(most));
}

// The same for a whole number, which is usually small.
float log_count(Count n, double least = -14) {
  constexpr std::size_t kSmall = 512;
  static const std::array<float, kSmall> logs = [] {
    std::array<float, kSmall> all;
    for (std::size_t i = 0; i < kSmall; ++i) all[i] = std::log2(static_cast<float>(i));
    return all;
  }();
  if (n <= 0) return static_cast<float>(least);
  return n < Count{kSmall} ? logs[static_cast<std::size_t>(n)] : log_ratio(static_cast<double>(n), least);
}

// Times far below a thousandth of a microsecond mean no more than "none".
float log_time(Seconds t) { return log_ratio(in_microseconds(t), -40, 40); }

// Calls use(position, name, member) for the fields that are features: the code that names them and the code that fills
// them must agree.
template <class Use>
void for_each_shape_feature(const Shape& shape, Use use) {
  visit(
      [&](const auto& s) {
        using S = std::remove_cvref_t<decltype(s)>;
        std::size_t at = 0;
        S::fields(s, [&](std::string_view name, const auto& member, std::string_view, Need = Need::optional) {
          using T = std::remove_cvref_t<decltype(member)>;
          if constexpr (std::is_same_v<T, Count> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                        std::is_enum_v<T>)
            if (at < kShapeFeatures) use(at++, name, member);
        });
      },
      shape);
}

void add_shape(Features& f, const Shape& shape) {
  const auto values = f.shape();
  for_each_shape_feature(shape, [&](std::size_t at, std::string_view, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, Count>)
      values[at] = log_ratio(static_cast<double>(member), -1, 40);
    else values[at] = static_cast<float>(member);
  });
}

void add_schedule(Features& f, const Launch& launch, const Load& load, double sms) {
  f[Feature::waves] = log_count(load.waves);
  const double exact = static_cast<double>(launch.ctas) / (sms * load.occupancy);
  f[Feature::last_wave_fullness] = static_cast<float>(exact / std::ceil(std::max(exact, 1e-9)));
  f[Feature::occupancy] = log_count(load.occupancy);
  f[Feature::balance] = static_cast<float>(load.balance);
  f[Feature::sms_used] = static_cast<float>(static_cast<double>(load.sms_used) / sms);
  f[Feature::busiest_tasks] = log_count(load.tasks_busiest);
  f[Feature::steps_per_task] =
      log_ratio(load.steps_busiest / std::max<double>(1, static_cast<double>(load.tasks_busiest)));
  f[Feature::split] = log_count(launch.split);
  f[Feature::tile_m] = log_count(launch.tile.m, -1);
  f[Feature::tile_n] = log_count(launch.tile.n, -1);
  f[Feature::ctas_per_sm] = log_ratio(static_cast<double>(launch.ctas) / sms);
}

}  // namespace

std::string_view name_of(Feature feature) {
  switch (feature) {
    case Feature::tensor_time: return "tensor_time";
    case Feature::vector_time: return "vector_time";
    case Feature::xu_time: return "xu_time";
    case Feature::shared_time: return "shared_time";
    case Feature::l2_time: return "l2_time";
    case Feature::dram_time: return "dram_time";
    case Feature::launch_time: return "launch_time";
    case Feature::latency_time: return "latency_time";
    case Feature::bound_time: return "bound_time";
    case Feature::main_launch_time: return "main_launch_time";
    case Feature::tensor_generation: return "tensor_generation";
    case Feature::source_code: return "source_code";
    case Feature::math_bits: return "math_bits";
    case Feature::weight_bits: return "weight_bits";
    case Feature::quantised_on_the_fly: return "quantised_on_the_fly";
    case Feature::waves: return "waves";
    case Feature::last_wave_fullness: return "last_wave_fullness";
    case Feature::occupancy: return "occupancy";
    case Feature::balance: return "balance";
    case Feature::sms_used: return "sms_used";
    case Feature::busiest_tasks: return "busiest_tasks";
    case Feature::steps_per_task: return "steps_per_task";
    case Feature::padding: return "padding";
    case Feature::split: return "split";
    case Feature::tile_m: return "tile_m";
    case Feature::tile_n: return "tile_n";
    case Feature::footprint_over_cache: return "footprint_over_cache";
    case Feature::copies_over_cache: return "copies_over_cache";
    case Feature::l2_traffic_over_footprint: return "l2_traffic_over_footprint";
    case Feature::intensity: return "intensity";
    case Feature::launches: return "launches";
    case Feature::ctas_per_sm: return "ctas_per_sm";
    case Feature::least_traffic_over_footprint: return "least_traffic_over_footprint";
    case Feature::eager_runtime: return "eager_runtime";
    case Feature::first_of_shape: return "";
    case Feature::card: return "card";
    case Feature::source_index: return "source_index";
  }
  return "";
}

std::vector<std::string> shape_feature_names(const Shape& shape) {
  std::vector<std::string> names;
  for_each_shape_feature(shape, [&](std::size_t, std::string_view name, const auto& member) {
    using T = std::remove_cvref_t<decltype(member)>;
    std::string seen(name);
    if constexpr (std::is_same_v<T, Count>) seen = "log2(" + seen + ")";
    if constexpr (std::is_enum_v<T>) {
      seen += "{";
      for (const std::string_view choice : enum_names(T{})) (seen += choice) += "|";
      seen.back() = '}';
    }
    names.push_back(std::move(seen));
  });
  return names;
}

Features raw_features(const Kernel& kernel, const Plan& plan, const Estimate& e, const Gpu& gpu,
                      const Context& context) {
  Features f;
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
  const Bytes capacity = gpu.resident_capacity();
  const auto time = [&](Resource r) { return log_time(sums[static_cast<std::size_t>(r)]); };

  f[Feature::tensor_time] = time(Resource::tensor);
  f[Feature::vector_time] = time(Resource::vector);
  f[Feature::xu_time] = time(Resource::xu);
  f[Feature::shared_time] = time(Resource::shared);
  f[Feature::l2_time] = time(Resource::l2);
  f[Feature::dram_time] = time(Resource::dram);
  f[Feature::launch_time] = time(Resource::launch);
  f[Feature::latency_time] = time(Resource::latency);
  f[Feature::bound_time] = log_time(e.assumed_bound);
  f[Feature::main_launch_time] = log_time(main.latency);
  f[Feature::tensor_generation] = static_cast<float>(gpu.tensor_generation());
  f[Feature::math_bits] = static_cast<float>(bits_of(kernel.format.math));
  f[Feature::weight_bits] = static_cast<float>(kernel.format.weight_bits);
  f[Feature::quantised_on_the_fly] = kernel.format.quantise == Quantise::dynamic ? 1.0f : 0.0f;
  add_schedule(f, launch, main.load, gpu.sms);
  const Demand total = launch.total();
  const Ops useful = launch.required.tensor + launch.required.vector;
  f[Feature::padding] = in_ops(useful) > 0 ? log_ratio((total.tensor + total.vector) / useful, -1, 8) : 0.0f;
  f[Feature::footprint_over_cache] = log_ratio(footprint / capacity);
  f[Feature::copies_over_cache] =
      log_ratio(footprint * std::max(context.weight_copies, context.activation_copies) / capacity);
  f[Feature::l2_traffic_over_footprint] =
      log_ratio((total.l2_load + total.l2_store) / std::max(footprint, bytes(1)), -4, 10);
  f[Feature::intensity] = log_ratio(in_ops(useful) / std::max(1.0, in_bytes(footprint)), -6, 14);
  f[Feature::launches] = static_cast<float>(plan.launches.size());
  f[Feature::least_traffic_over_footprint] = log_ratio(least / std::max(footprint, bytes(1)), -6, 1);
  f[Feature::eager_runtime] = context.runtime == Runtime::eager ? 1.0f : 0.0f;
  add_shape(f, kernel.shape);
  return f;
}

Features relative_features(const Features& raw, Seconds base, float source_code, float card, float source_index) {
  Features f = raw;
  const auto log_base = std::log2(static_cast<float>(in_microseconds(base)));
  for (float& time : f.times()) time = std::clamp(time - log_base, -10.0f, 2.0f);  // a resource may be negligible
  // The bound and the main launch are close to the base.
  f[Feature::bound_time] = std::clamp(raw[Feature::bound_time] - log_base, -12.0f, 1.0f);
  f[Feature::main_launch_time] = std::clamp(raw[Feature::main_launch_time] - log_base, -6.0f, 1.0f);
  f[Feature::source_code] = source_code;
  f[Feature::card] = card;
  f[Feature::source_index] = source_index;
  return f;
}

}  // namespace tilecast
