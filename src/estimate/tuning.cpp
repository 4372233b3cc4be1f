#include "estimate/tuning.h"

#include <algorithm>
#include <cmath>

#include "estimate/forecast.h"

namespace tilecast {
namespace {

double us(const ResourceTimes& times, Resource r) { return in_microseconds(times[static_cast<std::size_t>(r)]); }

}  // namespace

std::size_t longest_launch(const Estimate& e) {
  std::size_t longest = 0;
  for (std::size_t i = 1; i < e.launches.size(); ++i)
    if (e.launches[i].latency > e.launches[longest].latency) longest = i;
  return longest;
}

Terms terms_of(const Plan& plan, const Estimate& analytic, const Overlap& overlap) {
  const std::size_t longest = longest_launch(analytic);
  Terms terms;
  terms.looped = has_main_loop(plan.launches[longest]);
  terms.overlap = static_cast<float>(overlap_exponent(plan.launches[longest], overlap));
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const LaunchEstimate& e = analytic.launches[i];
    const auto add = [](float& sum, double value) { sum += static_cast<float>(value); };
    add(terms.floor, in_microseconds(e.floor));
    if (terms.looped ? !has_main_loop(plan.launches[i]) : i != longest) {
      add(terms.helpers, in_microseconds(e.latency - e.floor));
      continue;
    }
    add(terms.math, in_microseconds(seconds(math_time(e.achieved, plan.launches[i].character, overlap))));
    add(terms.l2, us(e.achieved, Resource::l2));
    add(terms.dram, us(e.achieved, Resource::dram));
    add(terms.waiting, us(e.achieved, Resource::latency));
    add(terms.prologue, us(e.achieved, Resource::launch) - in_microseconds(e.floor));
  }
  return terms;
}

TunedRates tuned_rates(const Tuning& tuning, double floor_law) {
  TunedRates rates;
  for (std::size_t i = 0; i < rates.factors.size(); ++i)
    rates.factors[i] = std::exp(static_cast<double>(tuning.log_factors[i]));
  rates.extra_floor_us = tuning.extra_floor_us * floor_law;
  return rates;
}

double tuned_time(const Terms& t, const TunedRates& rates) {
  const auto& f = rates.factors;
  const LaunchParts parts{t.math * f[Tuning::math], t.l2 * f[Tuning::l2], t.dram * f[Tuning::dram],
                          t.waiting * f[Tuning::waiting], t.prologue * f[Tuning::prologue]};
  const double overlap = 1 + (t.overlap - 1) * f[Tuning::overlap];
  return join_parts(parts, t.looped, overlap) + t.helpers * f[Tuning::helpers] + t.floor * f[Tuning::floor] +
         rates.extra_floor_us;
}

}  // namespace tilecast
