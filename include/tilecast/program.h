// A question: how long does a recorded PyTorch program take on a GPU it never ran on?
//
//   auto step = tilecast::forecast(tilecast::ProgramQuery{.program = "my-model.json.gz", .gpu = "B200"});
//   if (step) use(step->time, step->interval, step->memory.peak);
//
// Programs are recorded by the Python package tilecast.torch, without a GPU (docs/program.md).
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"
#include "tilecast/run.h"
#include "tilecast/step.h"
#include "tilecast/units.h"

namespace tilecast {

struct ProgramQuery {
  std::string program = {};  // a file written by tilecast.torch, plain or gzip
  std::string gpu = {};
  // pytorch, which runs it as recorded, or compile, which fuses it; empty: compile where it was recorded so.
  std::optional<EngineKind> engine = {};
  Method method = Method::tilecast;
  std::string weights = {};  // a weight file instead of the shipped one
  // For a program over many cards: which cards and how they are connected, as for collectives (tilecast/collective.h).
  // Empty: as many of `gpu` as it runs over; `gpu` may be empty if this is not.
  std::string cluster = {};
};

// Time of calls grouped by something they have in common.
struct ProgramShare {
  std::string name;
  Seconds time;
  Count calls = 0, launches = 0;
  bool known = true;  // for an operator: false if it is priced by its bytes
};

struct ProgramModule {
  std::string path;                                 // "" is the model itself
  Seconds forward, backward, recompute, optimizer;  // with the modules inside
  Seconds own;                                      // all phases, without them
};

struct ProgramMemory {
  Bytes peak;                     // as allocated, counted like torch.cuda.max_memory_allocated
  Bytes reserved;                 // what the allocator takes from the driver
  Bytes resting;                  // still allocated after the step
  Bytes asked;                    // the record's own peak, without rounding and libraries
  Bytes card;                     // total memory of the card
  std::string peak_module;        // where the peak is
  std::vector<Bytes> over_calls;  // allocated while each call runs
  bool fits() const { return reserved <= card; }
};

// Collectives of one kind, in a program over many cards.
struct ProgramCollectives {
  std::string op;
  Count ranks = 0, calls = 0;
  Bytes bytes;  // per call, as tilecast/collective.h counts them
  Seconds each;
  std::string algorithm;
};

struct ProgramStep {
  std::string program, torch, gpu;
  std::string cluster;         // for a program over many cards
  Count ranks = 1;             // cards it runs over; everything else is for one of them
  Seconds exchanged, exposed;  // all collectives end to end; how long the step waits for them
  std::vector<ProgramCollectives> collectives;
  EngineKind engine = EngineKind::pytorch;
  Method method = Method::tilecast;
  Seconds time;                 // the whole step
  Interval interval;            // 80 %
  Seconds kernels;              // sum of the kernels' own times, as a profiler shows it
  Seconds gpu_time, host_time;  // kernels back to back; the host's work
  Seconds bound;
  bool host_bound = false;
  Count calls = 0, launches = 0;
  double flops = 0;  // model FLOPs
  double mfu = 0;
  Seen seen = Seen::no;
  double recognised = 1;  // share of the kernels' time in operators with a rule
  std::vector<ProgramShare> by_phase, by_operator, by_class;
  std::vector<ProgramModule> modules;  // in order of their first call
  std::vector<ProgramShare> unknown;   // operators priced by their bytes
  ProgramMemory memory;
};

// Whether a path names a recorded program.
bool is_program(const std::string& path);
// The record determines what is computed: of a step's arguments (tilecast/step.h), all but model, gpu, cluster, engine,
// method and weights are rejected.
Status check_program_arguments(const StepQuery& query);

Result<ProgramStep> forecast(const ProgramQuery& query);
// One answer per query, in order; a file named by several queries is read once.
std::vector<Result<ProgramStep>> forecast(std::span<const ProgramQuery> queries);

std::vector<BoundArgument> arguments_of(ProgramQuery& query);

}  // namespace tilecast
