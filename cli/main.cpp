// The command line: parses, calls, prints. Every command is a function from options to Result<text>.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "tilecast/version.h"

int main(int argc, char** argv) {
  using namespace tilecast;
  CLI::App app("Tilecast forecasts how long deep-learning work takes on a GPU, without running it.", "tilecast");
  app.require_subcommand(1);
  app.footer("Example:\n  tilecast predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 32 --context 2048");
  app.set_version_flag("--version", "tilecast " + std::string(version()));
  KernelOptions kernel_options;
  GpuOptions gpu_options;
  ModelCommandOptions model_options;
  CollectiveOptions collective_options;
  SimulateOptions simulate_options;
  Command chosen;
  add_kernel_command(app, kernel_options, chosen);
  add_model_commands(app, model_options, chosen);
  PlanTrainOptions plan_train_options;
  PlanServeOptions plan_serve_options;
  add_plan_commands(app, plan_train_options, plan_serve_options, chosen);
  add_simulate_command(app, simulate_options, chosen);
  DiagnoseOptions diagnose_options;
  add_diagnose_command(app, diagnose_options, chosen);
  TuneOptions tune_options;
  add_tune_commands(app, tune_options, chosen);
  add_gpu_commands(app, gpu_options, chosen);
  add_cluster_commands(app, collective_options, chosen);
  CalibrateOptions calibrate_options;
  add_calibrate_command(app, calibrate_options, chosen);
  return run_program(app, chosen, argc, argv);
}
