// Pipeline parallelism: micro-batches through stages, task by task.
//
// A model is cut into ranks x chunks virtual stages, in order; `stage_at` says which of them a rank holds: with one
// chunk one run of layers, with more several, far apart.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tilecast/layout.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

Result<PipelineSchedule> pipeline_schedule_from(std::string_view name);

// One micro-batch in one virtual stage.
struct StageTimes {
  Seconds forward;
  Seconds backward_input;   // gradients of activations: what the stage before waits for
  Seconds backward_weight;  // gradients of weights
  // Of forward, and of the gradients: exchanges that another micro-batch's computing may hide (tokens of experts).
  Seconds forward_exchange = {}, backward_exchange = {};
};

struct Pipeline {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int ranks = 1, chunks = 1;
  int micro_batches = 1;
  std::vector<StageTimes> stages;  // ranks x chunks
  Seconds send;                    // of a micro-batch's activations to the next rank
  double exchange_share = 0;       // of a GPU that exchanges hold while they run
};

// Computing that takes `compute` alone, and an exchange beside it that takes `exchange`: both together, the exchange
// holding `share` of the GPU while it runs.
Seconds together(Seconds compute, Seconds exchange, double share);

// A forward and a backward of two micro-batches at once: each computes while the other exchanges.
Seconds paired(const StageTimes& forward, const StageTimes& backward, double share);

// What a schedule cannot run (interleaved: micro-batches that are no multiple of ranks; chunks on other schedules).
Status check(const Pipeline& pipeline);
inline constexpr int kMostMicroBatches = 1'000'000, kMostVirtualStages = 100'000;
inline constexpr Count kMostInAV = 1'000'000;  // micro-batches times ranks: a V is gone through task by task

enum class PipelinePhase : std::uint8_t { forward, backward, backward_input, backward_weight };
std::string_view name_of(PipelinePhase phase);
struct PipelineTask {
  int rank = 0, chunk = 0, micro_batch = 0;
  PipelinePhase phase = PipelinePhase::forward;
  Seconds begin, end;
};
struct PipelineTimeline {
  Seconds total;
  std::vector<Seconds> busy;   // of each rank
  std::vector<Seconds> saved;  // of each rank: what pairs take less than their two tasks one after the other
  // Micro-batch activations of a chunk alive at once on each rank, at most: from the begin of forward to the end of the
  // last task that reads them (the gradients of weights, where they are a task of their own).
  std::vector<double> kept;
  std::vector<PipelineTask> tasks;  // in order of begin, a rank after the other
  // Share of the ranks' time that nobody uses.
  double bubble() const;
};
// Both take what `check` accepts. A task begins as soon as its rank is free and what it reads has arrived; a rank takes
// its tasks in the schedule's order.
PipelineTimeline simulate(const Pipeline& pipeline);

// The same without tasks: as soon as a state repeats, later by a constant, the repetitions that follow are added at
// once. Where none does before the micro-batches end, it takes as many steps as they do.
PipelineTimeline summarise(const Pipeline& pipeline);

}  // namespace tilecast
