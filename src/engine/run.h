// A model's step from its description to its forecast: what `tilecast predict` calls.
#pragma once

#include <optional>
#include <variant>

#include "engine/engine.h"
#include "engine/memory.h"
#include "engine/serving_memory.h"
#include "engine/step.h"
#include "model/spec.h"
#include "model/workload.h"

namespace tilecast {

// A transformer known by its sizes, or a graph with given shapes (ONNX, a user's graph file).
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
// ... for a forward graph built elsewhere (parallel/split.h): the optimizer updates one of `shards` of it.
Result<PreparedRun> prepare(const Run& run, const Graph& forward, Count shards = 1);

// The step an engine runs at startup to measure its memory besides keys and values: `tokens` of prompts, in as many
// prompts as the model's positions require.
Workload profile_workload(const ModelSpec& model, Count tokens);

// Whether an engine keeps a model's tower on the card even if no images are sent.
bool loads_tower(EngineKind engine);

// What a model's tower adds to that step's need on one GPU: its weights, which vLLM and SGLang load with the text part,
// and in vLLM's profile the pass over as many of the largest images as `tokens` hold, and what they become. `encoder`:
// the rank's share of it. Empty if the model has none.
Status add_tower(MemoryNeed& need, const ModelSpec& model, const ModelSpec& encoder, const EngineOptions& engine,
                 Count tokens, const Gpu& gpu);

// Whether the run's engine budgets its memory this way: it serves text from text.
bool is_budgeted(const Run& run);

// How much of a card's memory a run uses, and how much it may use.
struct RunMemory {
  MemoryNeed need;
  Bytes usable;
  Count cache_tokens = 0;  // whose keys and values the card has room for in all layers, windows unused; 0: none
};
Result<RunMemory> memory_of(const Run& run, const PreparedRun& prepared, const Gpu& gpu);

// A note about a context longer than the model was made for; empty if there is nothing to say.
std::string beyond_context(const Run& run);

struct RunForecast {
  ProgramForecast step;
  MemoryNeed memory;
  Bytes usable;
  Count cache_tokens = 0;  // as in RunMemory
  double tokens_per_second = 0;
  double utilisation = 0;  // model FLOPs over the step's time and the card's dense peak in the products' format
  bool fits() const { return memory.total() <= usable; }
};
Result<RunForecast> forecast_run(const Run& run, const PreparedRun& prepared, const Gpu& gpu, Method method,
                                 const ModelSource* weights);

// What most products of a run multiply on the card: in training, what its recipe casts to; in serving, what the engine
// unpacks formats to that the card does not multiply.
Format multiplied_format(const Run& run, const Gpu& gpu);

// Dense peak of the format that products run in; 0 if the card has none.
OpsPerSecond dense_peak(const Gpu& gpu, const Format& format);

// The most equal requests, or the longest context of each, that still fit; 0 if not even one does.
struct Largest {
  Count batch = 0, length = 0;
  bool by_model = false;  // the length ends where the model's positions do, not the memory
};
Result<Largest> largest_that_fits(const Run& run, const Gpu& gpu);

}  // namespace tilecast
