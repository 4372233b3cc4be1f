// Flags of serving and of plans.
#include <CLI/CLI.hpp>

#include "cli/flags/arguments.h"
#include "cli/flags/flags.h"

namespace tilecast {
namespace {

constexpr const char* kJsonHelp = "machine-readable output (docs/json.md)";

}  // namespace

void add_plan_commands(CLI::App& app, PlanTrainOptions& train, PlanServeOptions& serve, Command& chosen) {
  CLI::App* plan = app.add_subcommand("plan", "search for the best way to run a model on many GPUs");
  plan->require_subcommand(1);

  CLI::App* serving = plan->add_subcommand("serve", plan_serve_question().summary);
  add_arguments(*serving, arguments_of(serve.query), serve.refusal);
  serving->add_flag("--json", serve.json, kJsonHelp);
  serving->footer(examples_text(plan_serve_question()));
  serving->callback([&] { chosen = answered(serve.refusal, [&serve] { return run_plan_serve(serve); }); });

  CLI::App* training = plan->add_subcommand("train", plan_train_question().summary);
  add_arguments(*training, arguments_of(train.query), train.refusal);
  training->add_flag("--json", train.json, kJsonHelp);
  training->footer(examples_text(plan_train_question()));
  training->callback([&] { chosen = answered(train.refusal, [&train] { return run_plan_train(train); }); });
}

void add_simulate_command(CLI::App& app, SimulateOptions& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("simulate", simulate_question().summary);
  add_arguments(*sub, arguments_of(options.query), options.refusal);
  sub->add_option("--requests", options.requests, "also write every request to this CSV file");
  sub->add_option("--timeline", options.timeline, "also write a Chrome trace of the steps (opens in Perfetto)");
  sub->add_flag("--json", options.json, kJsonHelp);
  sub->footer(examples_text(simulate_question()));
  sub->callback([&] { chosen = answered(options.refusal, [&options] { return run_simulate(options); }); });
}

}  // namespace tilecast
