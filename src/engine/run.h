// A model's step from its description to its forecast: what `tilecast predict` calls.
#pragma once

#include <optional>
#include <variant>

#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/step.h"
#include "model/spec.h"
#include "model/workload.h"

namespace tilecast {

// A transformer known by its sizes, or a graph whose shapes are given (ONNX, a file of one's own).
using Model = std::variant<ModelSpec, Graph>;
const std::string& name_of(const Model& model);

struct Run {
  Model model;
  Workload workload;
  EngineOptions engine;
  TrainingSetup training;
};

// The run as kernels, ready for any GPU, and the forward graph they came from.
struct PreparedRun {
  Graph forward;  // as the engine runs it
  Program program;
  std::optional<CacheNeed> cache;
};
Result<PreparedRun> prepare(const Run& run);
// ... of a forward graph that somebody else built (parallel/split.h): the optimizer updates one of `shards` of it.
Result<PreparedRun> prepare(const Run& run, const Graph& forward, Count shards = 1);

struct RunForecast {
  StepForecast step;
  MemoryNeed memory;
  Bytes usable;
  double tokens_per_second = 0;
  double utilisation = 0;  // model FLOPs over the step's time and the card's dense peak in the products' format
  bool fits() const { return memory.total() <= usable; }
};
Result<RunForecast> forecast_run(const Run& run, const PreparedRun& prepared, const Gpu& gpu, Method method,
                                 const ModelSource* weights);

// Dense peak of the format that products run in; 0 where the card has none.
OpsPerSecond dense_peak(const Gpu& gpu, const Format& format);

// The most requests alike, or the longest context of each, that still fit; 0 where not even one does.
struct Largest {
  Count batch = 0, length = 0;
};
Result<Largest> largest_that_fits(const Run& run, const Gpu& gpu);

}  // namespace tilecast
