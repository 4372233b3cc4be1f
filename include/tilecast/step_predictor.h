// Times of an engine's steps, one after the other: for simulators of engines that schedule by themselves.
//
//   auto steps = tilecast::StepPredictor::make({.model = "Llama-3.1-8B", .gpu = "H100-SXM"});
//   if (steps) use(steps->time(prompts, decodes));
//
// A step takes what forecast(StepQuery) of the same requests says, but for what lies between requests that are nearly
// alike (docs/method.md): some microseconds where its like was asked before, some milliseconds where not.
#pragma once

#include <memory>
#include <span>

#include "tilecast/result.h"
#include "tilecast/step.h"
#include "tilecast/units.h"

namespace tilecast {

class StepPredictor {
 public:
  struct Prompt {
    Count fresh = 0;   // tokens computed in the step
    Count cached = 0;  // tokens of the same request before them
  };

  // Model, GPU or cluster, engine, formats and layout are the query's; its mode and requests must be left open. Of
  // several replicas (dp) it refuses to speak: ask for one.
  static Result<StepPredictor> make(const StepQuery& query);

  StepPredictor(StepPredictor&& other) noexcept;
  StepPredictor& operator=(StepPredictor&& other) noexcept;
  ~StepPredictor();

  // The step that computes these prompts and one token of each request that decodes, given the tokens cached of each.
  // Any number of threads may ask; they take turns.
  Result<Seconds> time(std::span<const Prompt> prompts, std::span<const Count> decodes) const;

 private:
  struct Kept;
  explicit StepPredictor(std::unique_ptr<Kept> kept);
  std::unique_ptr<Kept> kept_;
};

}  // namespace tilecast
