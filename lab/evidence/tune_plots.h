// The tuner's plots of docs/walkthrough.md and docs/tune.md, as SVG files.
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/tune_judge.h"

namespace tilecast {

// Forecast against measured time of every configuration of a fused MoE, one panel per shape; the engines' defaults and
// our pick are marked.
Result<std::string> configuration_plot(const std::vector<const TunedShape*>& shapes, const Gpu& gpu);

// Times over the exhaustive best, shapes side by side by tokens: the engines' defaults and our pick.
Result<std::string> gain_plot(const std::vector<TunedShape>& shapes, const Gpu& gpu);

// Times of whole steps, as tools/trace/moe.py writes them.
struct StepTime {
  std::string variant, step, runtime;
  double ms = 0, lowest = 0, highest = 0;
};
Result<std::vector<StepTime>> read_steps(const std::string& path);
// Bars of the plain launches of `prefill` and of the graph of `decode`, those with `cudnn` in their names included.
std::string step_plot(std::vector<StepTime> steps);

struct NamedPlot {
  std::string file, svg;
};
// All of them, from data/measurements.
Result<std::vector<NamedPlot>> tune_plots(const std::string& measurements);

}  // namespace tilecast
