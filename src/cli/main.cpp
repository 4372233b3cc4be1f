// The command line: parses, calls, prints. Every command is a function from options to Result<text>; this is the only
// file that writes to the terminal.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/flags.h"
#include "support/text.h"

namespace {

using namespace tilecast;

// Arguments, last first as CLI11 wants them, with flags spelled as we spell them: --q_len is --q-len.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (std::string& word : arguments)
    if (word.starts_with("--")) std::replace(word.begin(), std::find(word.begin(), word.end(), '='), '_', '-');
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// What is wrong with the command line, in one line. CLI11 says of an unknown command only that one is required.
std::string problem_of(const CLI::App& app, const CLI::ParseError& stop) {
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  const std::vector<std::string> strays = deepest->remaining();
  if (!strays.empty() && deepest->get_require_subcommand_min() > 0) {
    std::vector<std::string> known;
    for (const CLI::App* sub : deepest->get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
    return error("unknown command '" + strays.front() + "'",
                 suggestion(strays.front(), known, "one of " + join(known, ", ")))
        .line();
  }
  std::string text = stop.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + " (add --help to see what a command takes)";
}

}  // namespace
int main(int argc, char** argv) {
  CLI::App app("Tilecast forecasts how long deep-learning work takes on a GPU, without running it.", "tilecast");
  app.require_subcommand(1);
  app.footer("Example:\n  tilecast predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 32 --context 2048");
  app.set_version_flag("--version", "tilecast " TILECAST_VERSION);
  KernelOptions kernel_options;
  GpuOptions gpu_options;
  DataOptions data_options;
  PredictOptions predict_options;
  CommOptions comm_options;
  SimulateOptions simulate_options;
  Command chosen;
  add_kernel_command(app, kernel_options, chosen);
  LayoutOptions layout_options;
  add_model_commands(app, predict_options, layout_options, chosen);
  PlanOptions plan_options;
  PlanServeOptions plan_serve_options;
  add_plan_commands(app, plan_options, plan_serve_options, chosen);
  add_simulate_command(app, simulate_options, chosen);
  DiagnoseOptions diagnose_options;
  add_diagnose_command(app, diagnose_options, chosen);
  TuneOptions tune_options;
  TuneJudgeOptions judge_options;
  add_tune_commands(app, tune_options, judge_options, chosen);
  add_gpu_commands(app, gpu_options, chosen);
  add_cluster_commands(app, comm_options, chosen);
  add_data_commands(app, data_options, chosen);
  add_papers_command(app, data_options.papers, chosen);
  add_end_to_end_command(app, data_options.end_to_end, chosen);

  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0) return app.exit(stop);  // --help, --version
    std::fprintf(stderr, "tilecast: %s\n", problem_of(app, stop).c_str());
    return 2;
  }
  const Result<std::string> output = chosen();
  if (!output) {
    std::fprintf(stderr, "tilecast: %s\n", output.error().line().c_str());
    return 2;
  }
  std::fputs(output->c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
