// One replica of a pool while a simulation runs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "serve/pool.h"

namespace tilecast {

// One engine: its cache, its scheduler, and the step that runs.
struct ServingReplica {
  ServingReplica(const PoolOptions& o, std::int32_t number)
      : options(o),
        number(number),
        cache(o.blocks, o.geometry, o.reuse, o.offload),
        scheduler(make_scheduler(o.limits, cache)) {}

  const PoolOptions& options;
  std::int32_t number;
  KvCache cache;
  std::unique_ptr<Scheduler> scheduler;
  StepPlan now, next;
  std::deque<StepPlan> flight;  // steps of a pipeline, the oldest first
  Seconds entry_free_at;        // when its first stage can take the next one
  Seconds last_end;             // of the youngest
  bool busy = false, planned = false;
  bool warm = false;                                      // has run a step
  StepSpent spent;                                        // on the step that runs
  Seconds free_at;                                        // when its last step ended
  Seconds link_free_at;                                   // when its last transfer ended
  AdapterSlots adapters{options.features.adapter_slots};  // that its GPUs hold
  Count held_back = 0;  // steps that prompts of its group have waited for the others' (the first of a group counts)
};

}  // namespace tilecast
