// The flags of every command. CLI11 takes long to compile, so that all of it is here, in arguments.cpp and in the
// terminal's program.cpp.
#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/calibrate_command.h"
#include "cli/commands/collective_command.h"
#include "cli/commands/diagnose_command.h"
#include "cli/commands/gpu_command.h"
#include "cli/commands/kernel_command.h"
#include "cli/commands/plan_serve_command.h"
#include "cli/commands/plan_train_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/retime_command.h"
#include "cli/commands/rows_picture.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/tune_command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/manual_commands.h"
#include "cli/flags/row_examples.h"
#include "cli/flags/rows_flags.h"
#include "cli/terminal/program.h"
#include "service/http/run.h"
#include "service/mcp/run.h"
#include "support/text.h"
#include "tilecast/build.h"
#include "tilecast/model.h"

namespace tilecast {
namespace {

// "--gpu, --dtype, ..., --explain and --json": what every family takes beside its dimensions.
std::string common_flags(KernelOptions& options) {
  std::vector<std::string> flags;
  for (const BoundArgument& argument : arguments_of(options.query)) flags.push_back("--" + argument.about.name);
  for (const char* flag : {"--explain", "--csv", "--plot"}) flags.emplace_back(flag);
  return join(flags, ", ") + " and --json";
}

// One subcommand per kernel family, with a flag per dimension.
void add_families(CLI::App& kernel, KernelOptions& options, RowsOptions& rows, Command& chosen) {
  const std::string common = common_flags(options);
  for (const KernelFamily& family : kernel_families()) {
    CLI::App* sub = kernel.add_subcommand(family.name, family.summary);
    sub->fallthrough();
    sub->ignore_underscore();
    sub->footer("Also " + common + ": `tilecast kernel --help`.\n\n" + family_examples(family));
    if (std::string hyphened = family.name; hyphened.find('_') != std::string::npos) {
      std::replace(hyphened.begin(), hyphened.end(), '_', '-');
      sub->alias(hyphened);
    }
    // Dimensions go to the query as texts: shape_from() reads and checks them.
    std::vector<BoundArgument> dims;
    for (const Argument& dim : family.dims)
      dims.push_back({dim,
                      [&options, name = dim.name](std::string_view text) {
                        options.query.dims.emplace_back(name, text);
                        return Status(Ok{});
                      },
                      {}});
    for (BoundArgument& dim : dims) {
      dim.about.help += dim.about.required ? " (required)" : "";
      dim.about.required = false;  // the shape's own check says what it is for
    }
    add_arguments(*sub, std::move(dims), options.refusal);
    sub->callback([&options, &rows, &chosen, sub, name = family.name] {
      options.query.family = name;
      chosen =
          with_rows(*sub, {"kernel", {"explain"}}, rows, options.refusal, [&options] { return run_kernel(options); });
    });
  }
}

void add_kernel_command(CLI::App& app, KernelOptions& options, RowsOptions& rows, Command& chosen) {
  CLI::App* kernel = app.add_subcommand("kernel", kernel_question().summary);
  kernel->require_subcommand(1);
  kernel->fallthrough(false);
  kernel->footer("`tilecast kernel FAMILY --help` lists the family's flags.\n\n" + all_examples(kernel_question()));
  kernel->add_option("--gpu", options.gpus, "GPU names or description files, comma separated")->delimiter(',');
  kernel->add_option("--dtype", options.dtypes, "number formats, comma separated (default bf16)")->delimiter(',');
  add_arguments(*kernel, arguments_of(options.query), options.refusal, {"gpu", "dtype"});
  kernel->add_flag("--explain", options.explain, "show plan, schedule, demands and a roofline");
  kernel->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*kernel, rows, Ranges::taken);
  add_families(*kernel, options, rows, chosen);
}

void add_gpu_commands(CLI::App& app, GpuOptions& options, RowsOptions& rows, Command& chosen) {
  CLI::App* list = app.add_subcommand("gpus", gpus_question().summary);
  list->add_flag("--json", options.json, "machine-readable output");
  add_rows_flags(*list, rows, Ranges::refused);
  list->footer(all_examples(gpus_question()));
  list->callback([&, list] {
    chosen = with_rows(*list, {"gpus"}, rows, options.refusal, [&options] { return run_gpus(options); });
  });

  CLI::App* gpu = app.add_subcommand("gpu", "show or check one GPU description");
  gpu->require_subcommand(1);
  gpu->footer("Examples:\n  tilecast gpu show H100-SXM\n  tilecast gpu check data/gpus/h100-sxm.json");
  CLI::App* show = gpu->add_subcommand("show", gpu_question().summary);
  add_arguments(*show, arguments_of(options.query), options.refusal);
  show->add_flag("--json", options.json, "machine-readable output");
  show->footer(all_examples(gpu_question()));
  show->add_flag("--constants", options.constants, "the constants of the physics that its forecasts use");
  add_rows_flags(*show, rows, Ranges::refused);
  show->callback([&, show] {
    chosen = with_rows(*show, {"gpu"}, rows, options.refusal,
                       [&options] { return options.constants ? run_gpu_constants(options) : run_gpu_show(options); });
  });
  CLI::App* check = gpu->add_subcommand("check", "validate a description file");
  check->add_option("FILE", options.file, "the file")->required();
  check->footer("Example:\n  tilecast gpu check data/gpus/h100-sxm.json");
  check->callback([&] { chosen = [&options] { return run_gpu_check(options); }; });
}

void add_cluster_commands(CLI::App& app, CollectiveOptions& options, RowsOptions& rows, Command& chosen) {
  CLI::App* list = app.add_subcommand("clusters", clusters_question().summary);
  list->add_flag("--json", options.json, "machine-readable output");
  add_rows_flags(*list, rows, Ranges::refused);
  list->footer(all_examples(clusters_question()));
  list->callback([&, list] {
    chosen = with_rows(*list, {"clusters"}, rows, options.refusal, [&options] { return run_clusters(options); });
  });

  CLI::App* one = app.add_subcommand("collective", collective_question().summary);
  add_arguments(*one, arguments_of(options.query), options.refusal, {"bytes", "tokens", "cluster"});
  one->add_option("--bytes", options.sizes,
                  "message sizes, lists or ranges: 256, 64K,1MB, 8..1G*2 (`tilecast --help` has the units)")
      ->delimiter(',');
  one->add_option("--tokens", options.tokens, "dispatch, combine: tokens of a rank, a list or range")->delimiter(',');
  one->add_option("--cluster", options.clusters,
                  "clusters, comma separated: hgx-h100 (grows to the ranks), hgx-h100:4 (nodes), 64xH100, or a file; "
                  "@hdr200 after one for another fabric between nodes")
      ->delimiter(',')
      ->required();
  one->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*one, rows, Ranges::taken);
  one->footer(all_examples(collective_question()));
  one->callback([&, one] {
    chosen = with_rows(*one, {"collective"}, rows, options.refusal, [&options] { return run_collective(options); });
  });
}

void add_diagnose_command(CLI::App& app, DiagnoseOptions& o, RowsOptions& rows, Command& chosen) {
  CLI::App* sub = app.add_subcommand("diagnose", diagnose_question().summary);
  add_arguments(*sub, arguments_of(o.query), o.refusal);
  sub->add_option("--html", o.html, "also write a page with plots to this file");
  sub->add_option("--svg", o.svg,
                  "also write the plots alone, to this with _families.svg, _ceilings.svg and _busy.svg");
  sub->add_option("--top", o.top, "kernels to list")->capture_default_str();
  sub->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*sub, rows, Ranges::refused);
  sub->footer(all_examples(diagnose_question()));
  sub->callback([&, sub] {
    chosen = with_rows(*sub, {"diagnose", {"html", "svg", "top"}}, rows, o.refusal, [&o] { return run_diagnose(o); });
  });
}

void add_retime_command(CLI::App& app, RetimeOptions& o, RowsOptions& rows, Command& chosen) {
  CLI::App* sub = app.add_subcommand("retime", retime_question().summary);
  add_arguments(*sub, arguments_of(o.query), o.refusal);
  sub->add_option("--top", o.top, "kernels to list")->capture_default_str();
  sub->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*sub, rows, Ranges::refused);
  sub->footer(all_examples(retime_question()));
  sub->callback([&, sub] {
    chosen = with_rows(*sub, {"retime", {"top"}}, rows, o.refusal, [&o] { return run_retime(o); });
  });
}

void add_tune_commands(CLI::App& app, TuneOptions& o, RowsOptions& rows, Command& chosen) {
  CLI::App* tune = app.add_subcommand("tune", "rank Triton configurations by forecast, for engines to load");
  tune->require_subcommand(1);
  tune->footer(first_examples({tune_moe_question(), tune_gemm_question()}));
  CLI::App* moe = tune->add_subcommand("fused-moe", tune_moe_question().summary);
  add_arguments(*moe, arguments_of(o.moe), o.refusal);
  add_arguments(*moe, arguments_of(o.measuring), o.refusal);
  moe->add_option("-o,--output", o.out, "also write the files that vLLM and SGLang load into this folder");
  add_arguments(*moe, arguments_of(o.files), o.refusal);
  moe->add_flag("--json", o.json, "machine-readable output (docs/tune.md)");
  add_rows_flags(*moe, rows, Ranges::refused);
  moe->footer(all_examples(tune_moe_question()));
  moe->callback([&, moe] {
    chosen = with_rows(*moe, {"tune fused-moe", {"output", "device-name", "triton"}}, rows, o.refusal,
                       [&o] { return run_tune_fused_moe(o); });
  });

  CLI::App* gemm = tune->add_subcommand("gemm", tune_gemm_question().summary);
  add_arguments(*gemm, arguments_of(o.gemm), o.refusal);
  add_arguments(*gemm, arguments_of(o.measuring), o.refusal);
  gemm->add_flag("--json", o.json, "machine-readable output (docs/tune.md)");
  add_rows_flags(*gemm, rows, Ranges::taken);
  gemm->footer(all_examples(tune_gemm_question()));
  gemm->callback(
      [&, gemm] { chosen = with_rows(*gemm, {"tune gemm"}, rows, o.refusal, [&o] { return run_tune_gemm(o); }); });
}

void add_calibrate_command(CLI::App& app, CalibrateOptions& options, RowsOptions& rows, Command& chosen) {
  CLI::App* sub = app.add_subcommand("calibrate", calibrate_question().summary);
  add_arguments(*sub, arguments_of(options.query), options.refusal);
  sub->add_option("-o,--output,--out", options.out, "the description to write; every command takes it as --gpu")
      ->required();
  sub->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*sub, rows, Ranges::refused);
  sub->footer(all_examples(calibrate_question()));
  sub->callback([&, sub] {
    chosen = with_rows(*sub, {"calibrate"}, rows, options.refusal, [&options] { return run_calibrate(options); });
  });
}

// What `predict` and `memory` ask one by one.
void add_lists(CLI::App& sub, StepLists& lists) {
  sub.add_option("--gpu", lists.gpus, "GPU names or description files, comma separated")->delimiter(',');
  sub.add_option("--dtype", lists.dtypes, "number formats, comma separated (default: the checkpoint's)")
      ->delimiter(',');
  sub.add_option("--engine", lists.engines,
                 "pytorch (eager), compile, cudagraph, pytorch-graph, vllm, sglang, trtllm, comma separated (default: "
                 "vllm where the "
                 "model generates, else pytorch)")
      ->delimiter(',');
  sub.add_option("--cluster", lists.clusters, "clusters by name (`tilecast clusters`) or file (docs/clusters.md)")
      ->delimiter(',')
      ->group("Many GPUs");
}
const std::vector<std::string> kLists = {"gpu", "dtype", "engine", "cluster"};

void add_model_commands(CLI::App& app, ModelCommandOptions& options, RowsOptions& rows, Command& chosen) {
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
  add_rows_flags(*predict, rows, Ranges::taken);
  predict->footer(all_examples(step_question()));
  predict->callback([&, predict] {
    chosen = with_rows(*predict, {"predict", {"compare", "kernels", "trace", "export-chakra"}}, rows, p.refusal,
                       [&p] { return run_predict(p); });
  });

  MemoryOptions& m = options.memory;
  CLI::App* memory = app.add_subcommand("memory", memory_question().summary);
  add_arguments(*memory, arguments_of(m.query), m.refusal, kLists);
  add_lists(*memory, m.lists);
  memory->add_flag("--json", m.json, "machine-readable output (docs/json.md)");
  add_rows_flags(*memory, rows, Ranges::taken);
  memory->footer(all_examples(memory_question()));
  memory->callback(
      [&, memory] { chosen = with_rows(*memory, {"memory"}, rows, m.refusal, [&m] { return run_memory(m); }); });

  ModelsOptions& list = options.models;
  CLI::App* models = app.add_subcommand("models", models_question().summary);
  std::vector<BoundArgument> one = arguments_of(list.query);
  for (BoundArgument& argument : one) argument.about.required = false;  // none: all of them
  add_arguments(*models, std::move(one), list.refusal);
  models->add_flag("--json", list.json, "machine-readable output");
  models->add_flag("--classes", list.classes, "the classes whose config.json is understood, instead");
  add_rows_flags(*models, rows, Ranges::refused);
  models->footer(all_examples(models_question()));
  models->callback([&, models] {
    chosen = with_rows(*models, {"models"}, rows, list.refusal, [&list] { return run_models(list); });
  });
}

constexpr const char* kJsonHelp = "machine-readable output (docs/json.md)";

void add_plan_commands(CLI::App& app, PlanTrainOptions& train, PlanServeOptions& serve, RowsOptions& rows,
                       Command& chosen) {
  CLI::App* plan = app.add_subcommand("plan", "search for the best way to run a model on many GPUs");
  plan->require_subcommand(1);
  plan->footer(first_examples({plan_serve_question(), plan_train_question()}));

  CLI::App* serving = plan->add_subcommand("serve", plan_serve_question().summary);
  add_arguments(*serving, arguments_of(serve.query), serve.refusal);
  serving->add_option("--save-dir", serve.save_dir,
                      "also write a new folder: for each of the best plans scripts, configurations and manifests");
  serving->add_option("--save-top", serve.save_top,
                      "how many of the best plans it holds (default " + std::to_string(kSavedPlans) + ")");
  serving->add_option("--html", serve.html, "also write a page with tables and pictures to this file");
  serving->add_option("--svg", serve.svg,
                      "also write the pictures alone, to this with _pareto.svg, _load.svg and _timeline.svg");
  serving->add_flag("--json", serve.json, kJsonHelp);
  add_rows_flags(*serving, rows, Ranges::taken);
  serving->footer(all_examples(plan_serve_question()));
  serving->callback([&, serving] {
    chosen = with_rows(*serving, {"plan serve", {"save-dir", "save-top", "html", "svg"}}, rows, serve.refusal,
                       [&serve] { return run_plan_serve(serve); });
  });

  CLI::App* training = plan->add_subcommand("train", plan_train_question().summary);
  add_arguments(*training, arguments_of(train.query), train.refusal);
  training->add_option("--svg", train.svg, "also write a picture of how it scales to this file");
  training->add_flag("--json", train.json, kJsonHelp);
  add_rows_flags(*training, rows, Ranges::taken);
  training->footer(all_examples(plan_train_question()));
  training->callback([&, training] {
    chosen =
        with_rows(*training, {"plan train", {"svg"}}, rows, train.refusal, [&train] { return run_plan_train(train); });
  });
}

void add_simulate_command(CLI::App& app, SimulateOptions& options, RowsOptions& rows, Command& chosen) {
  CLI::App* sub = app.add_subcommand("simulate", simulate_question().summary);
  add_arguments(*sub, arguments_of(options.query), options.refusal);
  sub->add_option("--requests", options.requests, "also write every request to this CSV file");
  sub->add_option("--timeline", options.timeline, "also write a Chrome trace of the steps (opens in Perfetto)");
  sub->add_flag("--json", options.json, kJsonHelp);
  add_rows_flags(*sub, rows, Ranges::taken);
  sub->footer(all_examples(simulate_question()));
  sub->callback([&, sub] {
    chosen = with_rows(*sub, {"simulate", {"requests", "timeline"}}, rows, options.refusal,
                       [&options] { return run_simulate(options); });
  });
}

void add_http_command(CLI::App& app, HttpOptions& options, Refusal& refusal, Command& chosen) {
  CLI::App* sub = app.add_subcommand("http", http_question().summary);
  add_arguments(*sub, arguments_of(options), refusal);
  sub->footer(examples_text(http_question()));
  sub->callback([&] {
    chosen = answered(refusal, [&options]() -> Answer {
      const auto served = run_http(options, served_drawings());
      return served ? Answer(Result<std::string>(std::string())) : Answer(served.error());
    });
  });
}

void add_mcp_command(CLI::App& app, McpOptions& options, Refusal& refusal, Command& chosen) {
  CLI::App* sub = app.add_subcommand("mcp", mcp_question().summary);
  add_arguments(*sub, arguments_of(options), refusal);
  sub->footer(examples_text(mcp_question()));
  sub->callback([&] {
    chosen = answered(refusal, [&options]() -> Answer {
      const auto served = run_mcp(options);
      return served ? Answer(Result<std::string>(std::string())) : Answer(served.error());
    });
  });
}

}  // namespace

int run_tilecast(int argc, char** argv) {
  CLI::App app("Tilecast forecasts how long deep-learning work takes on a GPU, without running it.", "tilecast");
  app.require_subcommand(1);
  app.footer(
      "Numbers: k, M, B and T are powers of 1000 (800k, 15T), Ki, Mi and Gi of 1024 (8Ki is 8192). Bytes: 64KB is "
      "64000,\n"
      "64KiB is 65536, and so is 64K, as in nccl-tests.\n"
      "Lists and ranges for any number: --batch 1,8,64, 1..8 (each), 8..64:8 (steps), 8..64*2 or 8..64x2 (factors); "
      "the\n"
      "question is asked for every combination (docs/cli.md).\n\n"
      "Example:\n  tilecast predict Llama-3.1-8B --gpu H100-SXM,B200 --mode decode --batch 32 --context 2048");
  app.set_version_flag("--version", [] { return build_text(build_info()); });
  KernelOptions kernel_options;
  GpuOptions gpu_options;
  ModelCommandOptions model_options;
  CollectiveOptions collective_options;
  SimulateOptions simulate_options;
  RowsOptions rows_options;
  Command chosen;
  add_kernel_command(app, kernel_options, rows_options, chosen);
  add_model_commands(app, model_options, rows_options, chosen);
  PlanTrainOptions plan_train_options;
  PlanServeOptions plan_serve_options;
  add_plan_commands(app, plan_train_options, plan_serve_options, rows_options, chosen);
  add_simulate_command(app, simulate_options, rows_options, chosen);
  DiagnoseOptions diagnose_options;
  add_diagnose_command(app, diagnose_options, rows_options, chosen);
  RetimeOptions retime_options;
  add_retime_command(app, retime_options, rows_options, chosen);
  TuneOptions tune_options;
  add_tune_commands(app, tune_options, rows_options, chosen);
  add_gpu_commands(app, gpu_options, rows_options, chosen);
  add_cluster_commands(app, collective_options, rows_options, chosen);
  CalibrateOptions calibrate_options;
  add_calibrate_command(app, calibrate_options, rows_options, chosen);
  HttpOptions http_options;
  Refusal http_refusal;
  add_http_command(app, http_options, http_refusal, chosen);
  McpOptions mcp_options;
  Refusal mcp_refusal;
  add_mcp_command(app, mcp_options, mcp_refusal, chosen);
  ManualOptions manual_options;
  add_manual_commands(app, manual_options, chosen);
  if (is_completion_request(argc, argv)) return complete_words(app, argc, argv);
  return run_program(app, chosen, argc, argv);
}

}  // namespace tilecast
