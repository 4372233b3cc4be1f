// What a model lacks with an engine's own steps and may have with smaller ones, and how sure that it fits is: the rule
// by which `memory`, `predict`, `simulate` and `plan serve` say what fits.
#pragma once

#include <string>

#include "engine/serving_memory.h"
#include "parallel/layout.h"

namespace tilecast {

// A model as its ranks hold it (one: the default layout), and the engine's limits there.
struct FitQuestion {
  const ModelSpec& model;
  RankLayout layout;
  const EngineOptions& engine;
  const Gpu& gpu;
  ServingLimits limits;
  double fraction = 0;  // of memory, as the engine's flag has it; 0: its default
};

// Whether so much is left for keys and values that a server starts, though the forecast of memory errs a little.
bool room_is_sure(const CacheBudget& budget);

// "steps of 2048 tokens (chunked-prefill-size 2048)" with which it fits, as plans start it, where it does not with
// these limits; empty where it does, or does with no steps.
Result<std::string> steps_that_fit(const FitQuestion& asked);

// What to say of it: that it does not fit by the engine's own steps and does by smaller ones, or that what is left for
// keys and values is less than the forecast of memory is sure of; empty where it fits, or does not at all.
Result<std::string> fit_note(const FitQuestion& asked);

}  // namespace tilecast
