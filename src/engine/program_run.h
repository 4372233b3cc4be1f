// A recorded PyTorch program (model/program_file.h) as an engine's kernels, ready for any GPU.
#pragma once

#include <string>
#include <vector>

#include "engine/caching_allocator.h"
#include "engine/engine.h"
#include "engine/step.h"
#include "model/program_lower.h"

namespace tilecast {

// A distinct operator in one of the program's phases, and the position of its kernels.
struct OperatorUse {
  int op = 0, phase = 0;
  Count times = 0;
  bool known = true;
  std::size_t first = 0, kernels = 0;  // calls of the program
  Count workspace = 0;                 // bytes that libraries take while it runs
  std::string fused = {};              // what the compiler made of it and others; empty: it runs by itself
};

struct RecordedProgram {
  Program program;  // a call for each kernel of a use; a section for each phase
  std::vector<OperatorUse> uses;
  std::vector<int> use_of_call;   // by the file's calls; -1: it launches nothing
  double host_units = 0;          // of a step, in plain additions
  std::vector<Count> each;        // by the program's calls: launches of one call of its operator
  std::vector<double> beside;     // by the program's calls: the share that the step does not wait for
  std::vector<bool> inside;       // storages that a compiler never makes; empty: none
  std::vector<int> step_of_call;  // in the place of which call each runs; empty: in its own
  std::vector<int> born, dies;    // when a compiler makes storages and lets them go; empty: as recorded
  LibraryMemory libraries;        // beside the record's tensors
};

struct ProgramOptions {
  EngineKind kind = EngineKind::pytorch;  // pytorch, or compile
};

// Grids depend on the card, so its kernels are made for one card.
RecordedProgram as_kernels(const ProgramFile& file, const Gpu& gpu, const ProgramOptions& options = {});

// A step of it on the card it was made for.
struct RecordedForecast {
  ProgramForecast step;
  Seconds kernels;  // their own times summed, on a card that a profiler's pauses leave cool
  Seconds beside;   // of these, what runs beside others
};
Result<RecordedForecast> forecast_recorded(const RecordedProgram& recorded, const Gpu& gpu, Method method,
                                           const ModelSource* weights);

}  // namespace tilecast
