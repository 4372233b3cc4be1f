#include "estimate/calibrated.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "constants/estimate.h"
#include "estimate/calibration_levels.h"
#include "kernel/attention_sources.h"
#include "kernel/shapes.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr std::string_view kSustained = "|sustained";

}  // namespace

CalibrationStanding calibration_standing(const Calibration* calibration, std::string_view key,
                                         std::string_view variant) {
  CalibrationStanding standing;
  if (!calibration) return standing;
  standing.any = true;
  standing.variant = variant;
  standing.factors = calibration->factors;
  const auto family = calibration->families.find(key);
  if (family == calibration->families.end()) return standing;
  standing.family = &family->second;
  standing.offset = family->second.offset;
  for (std::size_t i = 0; i < standing.factors.size(); ++i) standing.factors[i] += family->second.factors[i];
  for (const std::string& level : variant_levels(variant))
    if (const auto own = family->second.sources.find(level); own != family->second.sources.end())
      standing.offset += own->second;
  return standing;
}

namespace {

// Operands whose rows are not a multiple of 16 bytes run other kernels: cuBLAS has some for even numbers of elements
// and some for odd ones.
std::string_view alignment_of(Count n, Count k) {
  if (n % 2 != 0 || k % 2 != 0) return "|odd";
  return n % 8 != 0 || k % 8 != 0 ? "|even" : "";
}

}  // namespace

std::string calibration_variant(const Kernel& kernel, const Context& context) {
  std::string variant(context.engine.text());
  variant += "/";
  variant += kept_as(context.kernel_source).text();
  variant += "|";
  variant += name_of(context.runtime);
  variant += "|";
  variant += name_of(context.warmth);
  visit(
      [&](const auto& shape) {
        using S = std::remove_cvref_t<decltype(shape)>;
        if constexpr (std::is_same_v<S, Gemm> || std::is_same_v<S, Bmm>) variant += alignment_of(shape.n, shape.k);
        S::fields(shape, [&](std::string_view name, const auto& member, std::string_view, Need = Need::optional) {
          using T = std::remove_cvref_t<decltype(member)>;
          if constexpr (std::is_same_v<T, bool>) {
            if (member) variant += "|" + std::string(name);
          } else if constexpr (std::is_enum_v<T>) {
            variant += "|" + std::string(enum_names(T{})[static_cast<std::size_t>(member)]);
          }
        });
      },
      kernel.shape);
  if (context.run == RunLength::sustained) variant += kSustained;
  return variant;
}

bool is_sustained(std::string_view variant) { return variant.ends_with(kSustained); }

std::vector<std::string> variant_levels(std::string_view variant) {
  std::vector<std::string> levels = {std::string(variant_source(variant))};
  if (is_sustained(variant)) levels.push_back(levels.front() + std::string(kSustained));
  levels.emplace_back(variant);
  return levels;
}

std::string_view variant_source(std::string_view variant) { return variant.substr(0, variant.find('|')); }

bool is_eager(std::string_view variant) {
  return variant.substr(variant_source(variant).size()).starts_with("|" + std::string(name_of(Runtime::eager)));
}

TunedRates with_factors(const TunedRates& rates, const CardFactors& factors) {
  const auto factor = [&](CardTerm term) {
    return std::exp(static_cast<double>(factors[static_cast<std::size_t>(term)]));
  };
  TunedRates changed = rates;
  changed.factors[Tuning::math] *= factor(CardTerm::math);
  changed.factors[Tuning::l2] *= factor(CardTerm::l2);
  changed.factors[Tuning::dram] *= factor(CardTerm::dram);
  changed.factors[Tuning::helpers] *= factor(CardTerm::dram);  // helpers stream
  changed.factors[Tuning::waiting] *= factor(CardTerm::latency);
  changed.factors[Tuning::prologue] *= factor(CardTerm::latency);
  changed.factors[Tuning::floor] *= factor(CardTerm::floor);
  changed.extra_floor_us *= factor(CardTerm::floor);
  return changed;
}

CalibrationPlace calibration_place(const Features& f, Seconds base) {
  CalibrationPlace place{};
  std::size_t at = 0;
  const auto add = [&](float value, float scale) { place[at++] = value / scale; };
  // Shares of the time (the features are their logarithms): what limits the kernel.
  for (const Feature time : {Feature::tensor_time, Feature::vector_time, Feature::l2_time, Feature::dram_time,
                             Feature::launch_time, Feature::latency_time, Feature::bound_time})
    add(std::exp2(std::min(f[time], 0.5f)), 0.5f);
  add(std::log2(static_cast<float>(in_microseconds(base))), 4);
  add(f[Feature::last_wave_fullness], 0.5f);
  add(f[Feature::sms_used], 0.5f);
  add(f[Feature::ctas_per_sm], 4);
  add(f[Feature::footprint_over_cache], 4);
  add(f[Feature::tile_m], 1.5f);
  add(f[Feature::tile_n], 1.5f);
  for (const float dimension : f.shape()) add(dimension, 5);
  return place;
}

double likeness(const CalibrationPlace& a, std::string_view variant_a, const CalibrationPlace& b,
                std::string_view variant_b, double reach) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  const double shared = variant_a == variant_b                                   ? 1.0
                        : variant_source(variant_a) == variant_source(variant_b) ? kSameSource
                                                                                 : kAnySource;
  // Rough rather than smooth (Matern 1/2): tiles and waves make steps.
  return shared * std::exp(-std::sqrt(static_cast<double>(sum)) / reach);
}

LogCorrection log_correction(const CalibrationStanding& standing, const Terms& terms, const TunedRates& rates,
                             const CalibrationPlace& place) {
  LogCorrection log;
  if (!standing.any) return log;
  log.card = std::log(tuned_time(terms, with_factors(rates, standing.factors)) / tuned_time(terms, rates));
  log.rest = static_cast<double>(standing.offset);
  if (standing.family)
    for (const CalibrationPoint& point : standing.family->points)
      log.rest += static_cast<double>(point.weight) * likeness(place, standing.variant, point.place, point.variant,
                                                               static_cast<double>(standing.family->reach));
  log.card = std::clamp<double>(log.card, -kMostCorrection, kMostCorrection);
  log.rest = std::clamp<double>(log.rest, -kMostCorrection, kMostCorrection);
  return log;
}

}  // namespace tilecast
