#include "lab/fit/triton_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tilecast {
namespace {

struct TritonConstant {
  std::string_view name;
  double TritonConstants::*value;
  double low, high;
};
constexpr std::array<TritonConstant, 8> kConstants = {{{"warpgroup_shared", &TritonConstants::warpgroup_shared, 0.8, 2},
                                                       {"load_slots", &TritonConstants::load_slots, 2, 60},
                                                       {"latency", &TritonConstants::latency, 500, 3000},
                                                       {"piece", &TritonConstants::piece, 0.005, 0.2},
                                                       {"prologue", &TritonConstants::prologue, 1000, 10000},
                                                       {"step_norm", &TritonConstants::step_norm, 1.5, 20},
                                                       {"dram_norm", &TritonConstants::dram_norm, 1.5, 20},
                                                       {"idle_cta", &TritonConstants::idle_cta, 50, 4000}}};

constexpr double kTemperature = 0.015;  // forecasts this close (relative) are about as likely to be picked
constexpr double kGoodness = 4;         // weight exp(-kGoodness (t / best - 1)) of a configuration's residual

double loss_of(const TunedShape& shape, const std::vector<RankedConfig>& ranked) {
  double best = HUGE_VAL;
  for (const auto& [config, us] : shape.in_turns) best = std::min(best, us);
  double weights = 0, first = 0, second = 0, regret = 0, chances = 0;
  for (const RankedConfig& one : ranked) {
    const double us = shape.us.at(one.config);
    const double weight = std::exp(-kGoodness * (us / best - 1)),
                 residual = std::log(in_microseconds(one.forecast) / us);
    weights += weight, first += weight * residual, second += weight * residual * residual;
    const double chance = std::exp(-(one.forecast / ranked.front().forecast - 1) / kTemperature);
    chances += chance, regret += chance * std::min(1.0, us / best - 1);
  }
  const double mean = first / weights;
  return std::sqrt(std::max(0.0, second / weights - mean * mean)) + 0.1 * std::abs(mean) + 3 * regret / chances;
}

}  // namespace

Result<double> tune_loss(std::span<const TunedShape> shapes, const Gpu& gpu, const TritonConstants& constants) {
  const Format format = *format_from("bf16");
  double sum = 0;
  for (const TunedShape& shape : shapes) {
    std::vector<TritonConfig> configs;
    for (const auto& [config, us] : shape.us) configs.push_back(config);
    const auto ranked = shape.layer.empty() ? rank_gemm(shape.gemm, format, gpu, configs, constants)
                                            : rank_fused_moe(shape.moe, format, gpu, configs, true, constants);
    if (!ranked) return ranked.error();
    sum += loss_of(shape, *ranked);
  }
  return sum / static_cast<double>(std::max<std::size_t>(1, shapes.size()));
}

Result<TritonConstants> fit_constants(std::span<const TunedShape> shapes, const Gpu& gpu, const TritonConstants& start,
                                      int steps, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random()) + 0.5) / 4294967296.0; };
  std::array<double, kConstants.size()> widths;
  widths.fill(0.25);
  TritonConstants best = start;
  Result<double> lowest = tune_loss(shapes, gpu, best);
  if (!lowest) return lowest.error();
  for (int step = 0; step < steps; ++step) {
    TritonConstants next = best;
    std::vector<std::size_t> moved;
    for (auto count = 1 + random() % 3; count > 0; --count) {
      const std::size_t at = random() % kConstants.size();
      const TritonConstant& one = kConstants[at];
      next.*one.value = std::clamp(next.*one.value * std::exp(widths[at] * (4 * uniform() - 2)), one.low, one.high);
      moved.push_back(at);
    }
    const Result<double> loss = tune_loss(shapes, gpu, next);
    if (!loss) return loss.error();
    const bool better = *loss < *lowest;
    if (better) best = next, lowest = loss;
    for (const std::size_t at : moved) widths[at] = std::clamp(widths[at] * (better ? 1.3 : 0.97), 0.03, 0.5);
  }
  return best;
}

std::string text_of(const TritonConstants& constants) {
  std::string text;
  for (const TritonConstant& one : kConstants) text += fmt::format("{:<18}{:.4g}\n", one.name, constants.*one.value);
  return text;
}

}  // namespace tilecast
