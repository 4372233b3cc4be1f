#include "estimate/tuning.h"

#include <algorithm>
#include <cmath>

#include "estimate/forecast.h"

namespace tilecast {
namespace {

double us(const ResourceTimes& times, Resource r) { return in_microseconds(times[static_cast<std::size_t>(r)]); }

// p-norm of two times: 1 adds them, large takes the longer.
double norm(double a, double b, double p) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (!(shorter > 0)) return longer;
  return longer * std::pow(1 + std::pow(shorter / longer, p), 1 / p);
}

// The pipes of an SM, joined as forecast.cpp does.
double math_time(const ResourceTimes& times, Character character) {
  const double pipes =
      std::max({us(times, Resource::tensor), us(times, Resource::vector), us(times, Resource::shared)});
  return norm(pipes, us(times, Resource::xu), character == Character::attention ? 2.0 : 4.0);
}

}  // namespace

std::size_t longest_launch(const Estimate& e) {
  std::size_t longest = 0;
  for (std::size_t i = 1; i < e.launches.size(); ++i)
    if (e.launches[i].latency > e.launches[longest].latency) longest = i;
  return longest;
}

Terms terms_of(const Plan& plan, const Estimate& analytic) {
  const std::size_t longest = longest_launch(analytic);
  Terms terms;
  terms.looped = has_main_loop(plan.launches[longest]);
  terms.overlap = static_cast<float>(overlap_exponent(plan.launches[longest]));
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const LaunchEstimate& e = analytic.launches[i];
    const auto add = [](float& sum, double value) { sum += static_cast<float>(value); };
    add(terms.floor, in_microseconds(e.floor));
    if (terms.looped ? !has_main_loop(plan.launches[i]) : i != longest) {
      add(terms.helpers, in_microseconds(e.latency - e.floor));
      continue;
    }
    add(terms.math, math_time(e.achieved, plan.launches[i].character));
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
  const double math = t.math * f[Tuning::math], l2 = t.l2 * f[Tuning::l2], dram = t.dram * f[Tuning::dram];
  const double waiting = t.waiting * f[Tuning::waiting];
  const double p = 1 + (t.overlap - 1) * f[Tuning::overlap];
  const double body = t.looped ? norm(std::max({math, waiting, l2}) + t.prologue * f[Tuning::prologue], dram, p)
                               : norm(norm(math, std::max(dram, l2), 4), waiting, p);
  return body + t.helpers * f[Tuning::helpers] + t.floor * f[Tuning::floor] + rates.extra_floor_us;
}

}  // namespace tilecast
