// What requests ask of a step beside its tokens: LoRA adapters, drafts that are to be checked, images and clips.
//
// The simulator counts them (StepBatch); what they cost is asked here. A pool without any pays nothing.
#pragma once

#include <functional>
#include <list>
#include <unordered_map>

#include "serve/step_cost.h"

namespace tilecast {

struct StepPlan;

struct RequestFeatures {
  using Cost = std::function<StepCost::Spent(const StepBatch&)>;
  Count adapter_slots = 0;  // LoRA adapters that a GPU holds; 0: none are served
  Seconds adapter_swap;     // of one of them from the host's memory, which the step waits for
  Cost adapters;            // products with the adapters in a step
  Cost drafts;              // making the drafts that the next step checks
  Seconds draft_on_host;    // ... of a request, where the host makes them
  Cost encoder;             // of images and clips before their prompts
};

struct StepExtra {
  Seconds gpu;     // beside the step's own kernels
  Seconds host;    // beside what the host does between steps
  Seconds before;  // what the step waits for
  double joules = 0;
};
StepExtra extra_of(const RequestFeatures& features, const StepBatch& batch);

// The adapters that one replica's GPUs hold, the one least recently used leaving first (vLLM's and SGLang's default).
class AdapterSlots {
 public:
  explicit AdapterSlots(Count slots) : slots_(slots) {}
  // Brings in those that a step needs and says in its batch how many there are, and how many had to come.
  void note(StepPlan& plan);

 private:
  bool bring(std::int32_t adapter);  // true where it was not there

  Count slots_;
  std::list<std::int32_t> order_;  // the last used at the end
  std::unordered_map<std::int32_t, std::list<std::int32_t>::iterator> place_;
};

}  // namespace tilecast
