// `tilecast predict MODEL ...` and `tilecast memory MODEL ...`: a model's step on GPUs and clusters; `tilecast models`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answers/step_rows.h"
#include "tilecast/memory.h"
#include "tilecast/model.h"
#include "tilecast/step.h"

namespace tilecast {

struct PredictOptions {
  StepQuery query;
  StepLists lists;
  bool compare = false;
  bool kernels = false;  // list every kernel call
  std::string trace;     // a file for Perfetto
  std::string chakra;    // a folder for execution traces
  bool json = false;
  std::optional<Error> refusal = {};  // of a flag's value
};

struct MemoryOptions {
  MemoryQuery query;
  StepLists lists;
  bool json = false;
  std::optional<Error> refusal = {};
};

struct ModelsOptions {
  ModelQuery query;      // one of them, or a file's; none: all
  bool classes = false;  // those a config.json may name, in place of models
  bool json = false;
  std::optional<Error> refusal = {};
};

// What flags of commands about models fill.
struct ModelCommandOptions {
  PredictOptions predict;
  MemoryOptions memory;
  ModelsOptions models;
};

Result<std::string> run_predict(const PredictOptions& options);
Result<std::string> run_memory(const MemoryOptions& options);
Result<std::string> run_models(const ModelsOptions& options);

}  // namespace tilecast
