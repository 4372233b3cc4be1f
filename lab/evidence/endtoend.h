// Whole models that somebody measured, as runs that can be forecast: what `tilecast endtoend` judges.
//
// A case is one or several steps of a model (runs), and figures that were measured of them: each figure a weighted sum
// of parts of those steps. Readers of tables make cases; judge_cases() forecasts them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/host_units.h"
#include "engine/run.h"
#include "lab/evidence/endtoend_result.h"
#include "lab/evidence/endtoend_table.h"
#include "lab/train/train_all.h"
#include "parallel/forecast.h"
#include "tilecast/result.h"

namespace tilecast {

// Of a run's forecast.
enum class Part : std::uint8_t { step, forward, backward, optimizer, memory, last_memory, first_reserved };
// memory: of the fullest rank; last_memory: of the last pipeline stage's; first_reserved: what PyTorch's allocator holds
// on the first stage's
struct Term {
  std::size_t run = 0;
  double weight = 1;
  Part part = Part::step;
};
struct Figure {
  std::string name;
  double measured = 0;  // seconds, or bytes
  std::vector<Term> terms;
  std::vector<std::pair<std::string, double>> others = {};
  double tokens = 0;  // a throughput: so many tokens over the terms' time
};

// What launching one operator at a time and timing it adds, where weights were trained on such rows alone.
struct EagerTiming {
  Seconds floor;  // of the smallest kernels: the host's call takes longer than they do
  Seconds gap;    // of larger ones, on top of the kernel: events, and its start
};

// A host as it was while a row was measured.
struct HostPace {
  HostCode code = HostCode::modules;
  Seconds addition;  // of a plain one on the card, from its call to the next one's
};

// Over which GPUs a case's runs are spread, and how.
struct OverGpus {
  RankLayout layout;
  Cluster cluster;
  Count micro_batch = 0;
  std::string links = std::string(kPlainSource);  // whose measurements of collectives are meant
  Seconds per_step = {};  // what the host adds to a step of several ranks beside what it adds to one
  LateRanks late = {};    // as in StepPricing
  double longer = 1;      // kernels take, for what runs beside those that are counted
};

struct EndToEndCase {
  EndToEndLabel label;
  std::vector<Run> runs;
  std::vector<Figure> figures;
  std::optional<std::size_t> must_fit = {};  // the run whose memory says whether the case fits
  bool untimed_loss = false;                 // the forward pass of the loss was not timed
  std::optional<EagerTiming> eager = {};     // the weights' rows were timed so; a model's kernels follow each other
  std::optional<HostCost> host = {};         // where others launch the engine's kernels than the engine does
  std::optional<HostPace> pace = {};         // ... or how fast the host was that launched PyTorch's operators
  std::optional<OverGpus> spread = {};       // several GPUs; `label.gpu` is the cluster's
};

using EndToEndCases = ReadCases<EndToEndCase>;  // of one source's table

// The declared sources of whole models; lab/evidence/serving.h has those of serving.
extern const SourceMapping kOwnModelsSource, kOwnStepsSource, kArgonneSource, kTrtllmSource, kSynperfModelsSource, kMosaicSource,
    kMegatronSource, kBridgeSource, kNemoSource, kNeusightModelsSource, kUltrascaleSource, kOwnTrainingSource,
    kMlperfTrainingSource;

// Weights may be null for methods that need none. A case without a forecast (a card that has no fp8, say) is counted in
// `without` where that is given, else it is an error that names the case.
Result<std::vector<EndToEndResult>> judge_cases(const std::vector<EndToEndCase>& cases, Method method,
                                                const ModelSource* weights, LeftOutRows* without = nullptr);

// Contexts to price in place of all `steps` steps from `first` on, each with the number of steps it stands for: the
// trapezoid rule over five points, which misses the full sum by less than 0.5 % (endtoend_test).
struct ContextPoint {
  Count context = 0;
  double steps = 0;
};
std::vector<ContextPoint> context_points(Count first, Count steps);

// A run of a model known by name.
Result<Run> run_of(const std::string& model, EngineKind engine, const std::string& dtype, Workload workload);

// Our own measurements of an H200 (data/measurements/h200_models.csv): steps of inference and training, their phases
// and peak memory.
Result<EndToEndCases> h200_cases(const std::string& path);
// ... and steps as programs run them (data/measurements/h200_steps.csv.gz): plain decoders in graphs and one by one, vision,
// speech, encoder-decoder models, training. `detail` says on which half of the models choices were made.
Result<EndToEndCases> h200_step_cases(const std::string& path);
// ... and training steps of a few layers (data/measurements/h200_training_steps.csv.gz): bf16 and fp8, recomputation, adapters,
// with the allocator's peak. `detail` says on which sizes choices were made.
Result<EndToEndCases> h200_training_cases(const std::string& path);
// Static batches generated by vLLM and TensorRT-LLM on one, two or four A100s (as the 40 GB card) or H100s
// (e2e/argonne_llm_inference_bench.csv.gz): prompt and generation together.
Result<EndToEndCases> argonne_cases(const std::string& path);
// TensorRT-LLM's own static batches and first tokens (e2e/trtllm_perf_overview.csv.gz, releases 0.5 to 0.9).
Result<EndToEndCases> trtllm_cases(const std::string& path);
// SGLang and vLLM on one GPU and several (synperf/e2e_real): prefill, the median decode step and the total, of the
// median run.
Result<EndToEndCases> synperf_cases(const std::string& folder);

// MPT models trained with FSDP on 8 to 512 GPUs (e2e/train_mosaicml_llm_foundry.csv.gz): tokens a second.
Result<EndToEndCases> mosaic_cases(const std::string& path);

// Megatron-LM's continuous tests (e2e/train_megatron_lm_ci_golden.csv.gz): the last rank's peak memory, and step times.
Result<EndToEndCases> megatron_cases(const std::string& path);

// NVIDIA's own tables of training (e2e/train_megatron_bridge.csv.gz, train_nemo_megatron_readme.csv.gz): tokens a
// second of the rows whose model and layout are known; nothing is recomputed. `source` is one of the two.
Result<EndToEndCases> nemo_cases(const std::string& path, const SourceMapping& source);

// nanotron's scaling runs on 8 to 512 H100s (ultrascale/training.csv.gz): tokens a second and peak memory of those that
// finished; of those that failed, whether they are said to fit.
Result<EndToEndCases> ultrascale_cases(const std::string& path);

// MLPerf Training v5.1 (mlperf_training/v5.1.csv.gz): steps of the rows whose layout and precision are known, the
// repetitions of a run as one. `detail` says on which half choices were made.
Result<EndToEndCases> mlperf_cases(const std::string& path);

// NeuSight's models on one GPU each (neusight/e2e_labels.csv): totals, and the two passes of training steps.
Result<EndToEndCases> neusight_cases(const std::string& folder);
// Tilecast trained on the rows NeuSight's experiment allows: kernels_train of NVIDIA GPUs; or those of AMD's, where the
// train tables hold no products and the test tables stand in. `folder` holds neusight/.
Result<Weights> train_for_neusight(const std::string& folder, Vendor vendor, int threads, const Progress& progress);
// ... and the eager timing inside those rows: by the smallest pointwise kernels, and by what is left of a straight line
// through larger ones at no bytes.
Result<std::map<std::string, EagerTiming>> eager_timings(const std::string& folder);
// Of a GPU that has none: that of its architecture, else the middle one of all.
EagerTiming timing_of(const std::map<std::string, EagerTiming>& timings, const Gpu& gpu);
// Single operators of the same models (e2e_perop), priced as they were timed: alone and eagerly. `detail` is the kind.
struct JudgedOperators {
  std::vector<EndToEndResult> results;
  LeftOutRows left_out;  // of this vendor's cards; cards that are not known are counted with NVIDIA's
};
Result<JudgedOperators> judge_neusight_operators(const std::string& folder, Vendor vendor,
                                                 const std::map<std::string, EagerTiming>& timings,
                                                 const ModelSource& weights);

}  // namespace tilecast
