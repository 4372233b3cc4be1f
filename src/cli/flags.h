// The flags of every command, in four files because CLI11 takes ten seconds to compile; they and main.cpp are the only
// ones that include it. Each function adds commands to the program; a command chosen on the command line sets `chosen`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/accuracy_command.h"
#include "cli/calibrate_command.h"
#include "cli/collective_command.h"
#include "cli/diagnose_command.h"
#include "cli/endtoend_command.h"
#include "cli/evaluate_command.h"
#include "cli/gpu_command.h"
#include "cli/import_command.h"
#include "cli/kernel_command.h"
#include "cli/papers_command.h"
#include "cli/parallel_command.h"
#include "cli/plan_serve_command.h"
#include "cli/predict_command.h"
#include "cli/simulate_command.h"
#include "cli/train_command.h"
#include "cli/tune_command.h"

namespace CLI {
class App;
}

namespace tilecast {

using Command = std::function<Result<std::string>()>;

struct GpuOptions {
  bool json = false;
  std::string name, file;
};

struct DataOptions {
  ImportCommand import_;
  TrainCommand train;
  EvaluateCommand evaluate;
  CalibrateCommand calibrate;
  AccuracyCommand accuracy;
  PapersCommand papers;
  EndToEndCommand end_to_end;
};
struct CommOptions {
  CollectiveCommand one;
  CollectivesCommand judge;
  bool json = false;
};

// flags_kernels.cpp: kernels, GPUs, clusters.
void add_kernel_command(CLI::App& app, KernelOptions& options, Command& chosen);
void add_gpu_commands(CLI::App& app, GpuOptions& options, Command& chosen);
void add_cluster_commands(CLI::App& app, CommOptions& options, Command& chosen);

// flags_models.cpp: models, plans, serving, traces, tuning.
void add_model_commands(CLI::App& app, PredictOptions& options, LayoutOptions& layout, Command& chosen);
void add_plan_commands(CLI::App& app, PlanOptions& train, PlanServeOptions& serve, Command& chosen);
void add_simulate_command(CLI::App& app, SimulateOptions& options, Command& chosen);
void add_diagnose_command(CLI::App& app, DiagnoseOptions& options, Command& chosen);
void add_tune_commands(CLI::App& app, TuneOptions& options, TuneJudgeOptions& judge, Command& chosen);

// flags_data.cpp: measured rows, training, evaluation.
void add_data_commands(CLI::App& app, DataOptions& options, Command& chosen);
void add_papers_command(CLI::App& app, PapersCommand& options, Command& chosen);
void add_end_to_end_command(CLI::App& app, EndToEndCommand& options, Command& chosen);

}  // namespace tilecast
