// A recorded program over many cards: one rank's kernels with its collectives among them.
#pragma once

#include <string>
#include <vector>

#include "cluster/collective.h"
#include "engine/program_run.h"

namespace tilecast {

// Calls of one kind.
struct ProgramExchange {
  std::string op;  // "all_reduce"
  Count ranks = 0, calls = 0;
  Bytes bytes;  // of one call
  Seconds each;
  Interval interval;  // of one call
  std::string algorithm;
  bool seen = false;
};

struct SpreadStep {
  std::vector<ProgramExchange> exchanges;  // in order of their first call
  Seconds exchanged;                       // all of them, end to end
  Seconds exposed;                         // what the step waits for them
  Interval open;                           // ... if all are as short, or as long, as their intervals say
};

// `pace`: how much longer the step takes than its kernels do back to back, where the host sets the pace. Every stream
// runs its calls in order and waits as the record says; the collectives of a group run one after the other. Kernels
// beside others or beside collectives are taken to last no longer for it.
Result<SpreadStep> spread(const ProgramFile& file, const RecordedProgram& recorded, const ProgramForecast& forecast,
                          double pace, const Cluster& cluster);

}  // namespace tilecast
