// Flags of models on one GPU and many.
#include <CLI/CLI.hpp>

#include "cli/flags/arguments.h"
#include "cli/flags/flags.h"
#include "tilecast/model.h"

namespace tilecast {

namespace {

// What `predict` and `memory` ask one by one.
void add_lists(CLI::App& sub, StepLists& lists) {
  sub.add_option("--gpu", lists.gpus, "GPU names or description files, comma separated")->delimiter(',');
  sub.add_option("--dtype", lists.dtypes, "number formats, comma separated (default: the checkpoint's)")->delimiter(',');
  sub.add_option("--engine", lists.engines,
                 "pytorch (eager), compile, cudagraph, vllm, sglang, trtllm, comma separated (default: vllm where the "
                 "model generates, else pytorch)")
      ->delimiter(',');
  sub.add_option("--cluster", lists.clusters, "clusters by name (`tilecast clusters`) or file (docs/clusters.md)")
      ->delimiter(',')
      ->group("Many GPUs");
}
const std::vector<std::string> kLists = {"gpu", "dtype", "engine", "cluster"};

}  // namespace

void add_model_commands(CLI::App& app, ModelCommandOptions& options, Command& chosen) {
  PredictOptions& p = options.predict;
  CLI::App* predict = app.add_subcommand("predict", step_question().summary);
  add_arguments(*predict, arguments_of(p.query), p.refusal, kLists);
  add_lists(*predict, p.lists);
  predict->add_option("--export-chakra", p.chakra, "also write execution traces for ASTRA-sim there (docs/chakra.md)")
      ->group("Many GPUs");
  predict->add_flag("--compare", p.compare, "classes of operators side by side");
  predict->add_flag("--kernels", p.kernels, "every kernel of the step");
  predict->add_option("--trace", p.trace,
                      "also write a Chrome trace (opens in Perfetto); with --cluster, one lane a pipeline rank");
  predict->add_flag("--json", p.json, "machine-readable output (docs/json.md)");
  predict->footer(examples_text(step_question()));
  predict->callback([&] { chosen = answered(p.refusal, [&p] { return run_predict(p); }); });

  MemoryOptions& m = options.memory;
  CLI::App* memory = app.add_subcommand("memory", memory_question().summary);
  add_arguments(*memory, arguments_of(m.query), m.refusal, kLists);
  add_lists(*memory, m.lists);
  memory->add_flag("--json", m.json, "machine-readable output (docs/json.md)");
  memory->footer(examples_text(memory_question()));
  memory->callback([&] { chosen = answered(m.refusal, [&m] { return run_memory(m); }); });

  ModelsOptions& list = options.models;
  CLI::App* models = app.add_subcommand("models", models_question().summary);
  models->add_flag("--json", list.json, "machine-readable output");
  models->add_flag("--classes", list.classes, "the classes whose config.json is understood, instead");
  models->footer(examples_text(models_question()));
  models->callback([&] { chosen = [&list] { return run_models(list); }; });
}

}  // namespace tilecast
