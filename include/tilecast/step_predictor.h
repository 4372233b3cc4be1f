// Times of a sequence of an engine's steps, for simulators that do their own scheduling.
//
//   auto steps = tilecast::StepPredictor::make({.model = "Llama-3.1-8B", .gpu = "H100-SXM"});
//   if (steps) use(steps->time(prompts, decodes));
//
// A step takes what forecast(StepQuery) says for the same requests, except that nearly equal requests are treated as
// one (docs/python.md): some microseconds if a similar step was asked before, some milliseconds if not.
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

  // Model, GPU or cluster, engine, formats and layout are the query's; its mode and requests must be left open. Several
  // replicas (dp) are rejected: ask for one.
  static Result<StepPredictor> make(const StepQuery& query);

  StepPredictor(StepPredictor&& other) noexcept;
  StepPredictor& operator=(StepPredictor&& other) noexcept;
  ~StepPredictor();

  // The step that computes these prompts and one token per decoding request, given the cached tokens of each. Any
  // number of threads may ask; they take turns.
  Result<Seconds> time(std::span<const Prompt> prompts, std::span<const Count> decodes) const;

 private:
  struct Kept;
  explicit StepPredictor(std::unique_ptr<Kept> kept);
  std::unique_ptr<Kept> kept_;
};

}  // namespace tilecast
