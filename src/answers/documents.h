// Answers as JSON documents: what the program prints with --json and what the C interface hands out. Field names are
// stable (docs/json.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "answers/step_rows.h"
#include "tilecast/calibrate.h"
#include "tilecast/collective.h"
#include "tilecast/diagnose.h"
#include "tilecast/gpu.h"
#include "tilecast/kernel.h"
#include "tilecast/model.h"
#include "tilecast/plan.h"
#include "tilecast/program.h"
#include "tilecast/retime.h"
#include "tilecast/serving.h"
#include "tilecast/tune.h"

namespace tilecast {

std::string forecast_json(const std::vector<KernelForecast>& forecasts);

std::string predict_json(const StepRows& rows);   // of one GPU each
std::string parallel_json(const StepRows& rows);  // of many
// What steps need of memory; of one GPU also the largest that fits.
Result<std::string> memory_document(const std::vector<StepQuery>& queries);

// Recorded PyTorch programs, one for each query; those that cannot be forecast say why.
std::string program_json(std::span<const Result<ProgramStep>> steps, std::span<const ProgramQuery> queries);

std::string gpus_json(const std::vector<GpuInfo>& gpus);
// A built-in card as a description that may be changed and given back in place of a name.
Result<std::string> editable_gpu_json(const std::string& name);
std::string gpu_json(const GpuInfo& gpu);
std::string constants_json(const GpuConstants& card);

std::string models_json(const std::vector<ModelInfo>& models);
std::string model_json(const ModelInfo& model);
std::string model_classes_json(const std::vector<std::string>& stems);

std::string collective_json(const std::vector<CollectiveAnswer>& answers);
std::string clusters_json(const std::vector<ClusterInfo>& clusters);

std::string simulate_json(const SimulationResult& run);

std::string plan_serve_json(const PlanServeQuery& query, const ServingPlan& plan);
// One deployment of it.
std::string planned_json(const PlanServeQuery& query, const ServingPlan& plan, const PlannedServing& planned);
std::string plan_train_json(const TrainingPlanResult& plan);

// No real run has so many different kernels; reports of hostile files stay small.
inline constexpr std::size_t kMostListed = 20000;
std::string diagnose_json(const DiagnosisReport& report);
std::string retime_json(const RetimeReport& report);

// `files`: those written (docs/tune.md).
std::string moe_tuning_json(const MoeTuning& tuning, const std::vector<std::string>& files);
std::string gemm_tuning_json(const GemmTuning& tuning);

// What only the caller knows: where the description went, and how long it took.
struct CalibrateRun {
  std::string written;  // empty: nowhere, so that it stands in the answer itself
  std::string judge;    // table; empty: none
  double seconds = 0;
};
std::string calibration_json_text(const CalibrationReport& report, const CalibrateRun& run);

}  // namespace tilecast
