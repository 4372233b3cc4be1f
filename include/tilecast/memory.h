// A question: what does a model's step need of a GPU's memory, does it fit, and what is the largest that does?
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
  StepQuery step;  // its method and weights do not matter: memory does not ask how long
};

struct MemoryForecast {
  StepSetting setting;
  std::vector<StepMemory> stages;  // of each rank, by pipeline stage; one of one GPU
  // One GPU: the most requests alike, or the longest context of each, that still fit; 0: not even one, or not known.
  Count largest_batch = 0, longest_sequence = 0;
  bool ended_by_model = false;  // the sequence ends where the model's positions do, not the memory
  std::vector<std::string> notes;
  bool fits() const {
    for (const StepMemory& stage : stages)
      if (!stage.fits()) return false;
    return true;
  }
};

Result<MemoryForecast> forecast(const MemoryQuery& query);
// One answer per query, in order; what several share is made once.
std::vector<Result<MemoryForecast>> forecast(std::span<const MemoryQuery> queries);

const Question& memory_question();
std::vector<BoundArgument> arguments_of(MemoryQuery& query);

}  // namespace tilecast
