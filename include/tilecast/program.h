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
  std::string program = {};  // a file of tilecast.torch, plain or gzip
  std::string gpu = {};
  // pytorch, which runs it as recorded, or compile, which fuses it; empty: compile where it was recorded so.
  std::optional<EngineKind> engine = {};
  Method method = Method::tilecast;
  std::string weights = {};  // a weight file in place of the shipped ones
  // Of a program over many cards: what they are and how they are joined, as for collectives (tilecast/collective.h).
  // Empty: as many of `gpu` as it runs over; `gpu` may be empty where this is not.
  std::string cluster = {};
};

// Time by what calls have in common.
struct ProgramShare {
  std::string name;
  Seconds time;
  Count calls = 0, launches = 0;
  bool known = true;  // of an operator: false where it is priced by its bytes
};

struct ProgramModule {
  std::string path;                                 // "" is the model itself
  Seconds forward, backward, recompute, optimizer;  // with the modules inside
  Seconds own;                                      // all phases, without them
};

struct ProgramMemory {
  Bytes peak;                     // of what the allocator hands out, as torch.cuda.max_memory_allocated counts it
  Bytes reserved;                 // what it takes from the driver
  Bytes resting;                  // handed out after the step
  Bytes asked;                    // the record's own peak, without rounding and libraries
  Bytes card;                     // all of the card's
  std::string peak_module;        // where the peak is
  std::vector<Bytes> over_calls;  // handed out while each call runs
  bool fits() const { return reserved <= card; }
};

// Collectives of one kind, of a program over many cards.
struct ProgramCollectives {
  std::string op;
  Count ranks = 0, calls = 0;
  Bytes bytes;  // of one call, as tilecast/collective.h counts them
  Seconds each;
  std::string algorithm;
};

struct ProgramStep {
  std::string program, torch, gpu;
  std::string cluster;         // of a program over many cards
  Count ranks = 1;             // cards that it runs over; everything else is of one of them
  Seconds exchanged, exposed;  // all collectives end to end; what the step waits for them
  std::vector<ProgramCollectives> collectives;
  EngineKind engine = EngineKind::pytorch;
  Method method = Method::tilecast;
  Seconds time;                 // the whole step
  Interval interval;            // 80 %
  Seconds kernels;              // kernels' own times, summed, as a profiler shows them
  Seconds gpu_time, host_time;  // kernels back to back; the host's work
  Seconds bound;
  bool host_bound = false;
  Count calls = 0, launches = 0;
  double flops = 0;  // model FLOPs
  double mfu = 0;
  Seen seen = Seen::no;
  double recognised = 1;  // share of the kernels' time that comes from operators with a rule
  std::vector<ProgramShare> by_phase, by_operator, by_class;
  std::vector<ProgramModule> modules;  // in order of their first call
  std::vector<ProgramShare> unknown;   // operators priced by their bytes
  ProgramMemory memory;
};

// Whether a path names a recorded program.
bool is_program(const std::string& path);
// A record says itself what it computes: of a step's arguments (tilecast/step.h), others than model, gpu, cluster,
// engine, method and weights are refused.
Status check_program_arguments(const StepQuery& query);

Result<ProgramStep> forecast(const ProgramQuery& query);
// One answer per query, in order; a file that several name is read once.
std::vector<Result<ProgramStep>> forecast(std::span<const ProgramQuery> queries);

std::vector<BoundArgument> arguments_of(ProgramQuery& query);

}  // namespace tilecast
