// The flags of every command, in three files because CLI11 takes ten seconds to compile; they and main.cpp are the only
// ones that include it. Each function adds commands to the program; a command chosen on the command line sets `chosen`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/commands/calibrate_command.h"
#include "cli/commands/collective_command.h"
#include "cli/commands/diagnose_command.h"
#include "cli/commands/gpu_command.h"
#include "cli/commands/kernel_command.h"
#include "cli/commands/plan_serve_command.h"
#include "cli/commands/plan_train_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/tune_command.h"
#include "cli/terminal/program.h"

namespace tilecast {

// flags_kernels.cpp: kernels, GPUs, clusters, traces, tuning, calibration.
void add_kernel_command(CLI::App& app, KernelOptions& options, Command& chosen);
void add_gpu_commands(CLI::App& app, GpuOptions& options, Command& chosen);
void add_cluster_commands(CLI::App& app, CollectiveOptions& options, Command& chosen);
void add_diagnose_command(CLI::App& app, DiagnoseOptions& options, Command& chosen);
void add_tune_commands(CLI::App& app, TuneOptions& options, Command& chosen);
void add_calibrate_command(CLI::App& app, CalibrateOptions& options, Command& chosen);

// flags_serving.cpp: serving and plans.
void add_plan_commands(CLI::App& app, PlanTrainOptions& train, PlanServeOptions& serve, Command& chosen);
void add_simulate_command(CLI::App& app, SimulateOptions& options, Command& chosen);

// flags_models.cpp: models.
void add_model_commands(CLI::App& app, ModelCommandOptions& options, Command& chosen);

}  // namespace tilecast
