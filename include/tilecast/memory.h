// A question: how much GPU memory does a model's step need, does it fit, and what is the largest that does?
//
//   auto memory = tilecast::forecast(tilecast::MemoryQuery{
//       {.model = "Llama-3.1-70B", .gpu = "B200", .mode = tilecast::Mode::decode, .batch = 16, .context = 8192}});
//   if (memory && memory->fits()) use(memory->largest_batch);
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilecast/step.h"

namespace tilecast {

struct MemoryQuery {
  StepQuery step;  // its method and weights do not matter: memory does not depend on time
};

struct MemoryForecast {
  StepSetting setting;
  std::vector<StepMemory> stages;  // per rank, by pipeline stage; a single one for one GPU
  // The most equal requests, or the longest context of each, that still fit; 0: not even one, or unknown (a training
  // over several GPUs, whose micro-batches keep it small).
  Count largest_batch = 0, longest_sequence = 0;
  bool ended_by_model = false;  // the sequence is limited by the model's positions, not by memory
  std::vector<std::string> notes;
  bool fits() const {
    for (const StepMemory& stage : stages)
      if (!stage.fits()) return false;
    return true;
  }
};

Result<MemoryForecast> forecast(const MemoryQuery& query);
// One answer per query, in order; whatever they share is made once.
std::vector<Result<MemoryForecast>> forecast(std::span<const MemoryQuery> queries);

const Question& memory_question();
std::vector<BoundArgument> arguments_of(MemoryQuery& query);

}  // namespace tilecast
