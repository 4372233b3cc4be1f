// `tilecast predict MODEL ...` and `tilecast memory MODEL ...`: a model's step on several GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/run.h"
#include "support/result.h"

namespace tilecast {

struct PredictOptions {
  std::string model;
  std::vector<std::string> gpus;
  std::string mode = "prefill";
  Count batch = 1;
  Count seq = 0;         // tokens of a prompt or a training sequence
  Count context = 0;     // decode: tokens already cached
  Count new_tokens = 1;  // decode: tokens of a step
  Count source = 0;      // encoder-decoder: tokens of the source
  std::string requests;  // "8x1+2048,2x512": count x new tokens + cached
  std::vector<std::string> dtypes;
  std::string kv_dtype;
  std::vector<std::string> engines;
  std::string era = "current";
  std::string attention = "fused";
  bool all_logits = false;
  bool no_cache = false;
  std::string recompute = "none";
  std::string optimizer = "adamw";
  std::string mixed = "none";
  Count accumulation = 1;
  bool no_update = false;
  bool dropout = false;
  bool static_cache = false, fused_norms = false, fused_optimizer = false;
  std::vector<std::string> dims;  // ONNX: name=value
  bool allow_unknown = false;
  std::string method = "tilecast";
  std::string weights;
  bool compare = false;
  bool kernels = false;  // list every kernel call
  std::string trace;
  bool json = false;
};

// One way to run the model: a GPU, a number format and an engine.
struct Variant {
  Gpu gpu;
  Run run;
  PreparedRun prepared;
  RunForecast forecast;
  std::optional<Error> refused = {};  // why it cannot run; there is no forecast then
};

// Every combination of engine and number format.
Result<std::vector<Run>> runs_from(const PredictOptions& options);
// ... on every GPU. One that cannot run is said to be so beside the others; an error only where none can.
Result<std::vector<Variant>> forecast_variants(const PredictOptions& options);
std::vector<Variant> those_that_run(const std::vector<Variant>& variants);

Result<std::string> run_predict(const PredictOptions& options);
Result<std::string> run_memory(const PredictOptions& options);
std::string context_note(const Run& run);  // a line about a context that the model was not made for; empty otherwise
Result<std::string> run_models(bool json);
// The classes a config.json may name.
Result<std::string> run_model_classes(bool json);

// Views.
std::string grouped(Count n);          // 131072 -> "131,072"
std::string_view item_of(const Run& run);  // what a batch is counted in: token, image or clip
std::string describe(const Run& run);  // "decode 32 × 1 token after 2,048"
std::string predict_table(const std::vector<Variant>& variants);
std::string breakdown_text(const Variant& variant);
std::string compare_table(const std::vector<Variant>& variants);
std::string kernels_table(const Variant& variant);
std::string predict_json(const std::vector<Variant>& variants);
// Chrome's trace format: opens in Perfetto and chrome://tracing.
std::string trace_json(const std::vector<Variant>& variants);

}  // namespace tilecast
