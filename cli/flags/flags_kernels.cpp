// Flags of kernels, GPUs and clusters, of traces, tuning and calibration.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/flags/arguments.h"
#include "cli/flags/flags.h"
#include "support/text.h"

namespace tilecast {

namespace {

// One subcommand per kernel family, with a flag per dimension.
void add_families(CLI::App& kernel, KernelOptions& options, Command& chosen) {
  for (const KernelFamily& family : kernel_families()) {
    CLI::App* sub = kernel.add_subcommand(family.name, family.summary);
    sub->fallthrough();
    sub->ignore_underscore();
    sub->footer(
        "Also --gpu, --dtype, --method, --runtime, --warmth, --explain and --json: `tilecast kernel --help`.\n\n"
        "Example:\n  tilecast kernel " +
        family.name + " " + family.example + " --gpu A100-SXM-80GB,H100-SXM,B200");
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
    sub->callback([&options, &chosen, name = family.name] {
      options.query.family = name;
      chosen = answered(options.refusal, [&options] { return run_kernel(options); });
    });
  }
}

}  // namespace

void add_kernel_command(CLI::App& app, KernelOptions& options, Command& chosen) {
  CLI::App* kernel = app.add_subcommand("kernel", kernel_question().summary);
  kernel->require_subcommand(1);
  kernel->fallthrough(false);
  kernel->footer("`tilecast kernel FAMILY --help` lists the family's flags.\n\n" + examples_text(kernel_question()));
  kernel->add_option("--gpu", options.gpus, "GPU names or description files, comma separated")->delimiter(',');
  add_arguments(*kernel, arguments_of(options.query), options.refusal, {"gpu"});
  kernel->add_flag("--explain", options.explain, "show plan, schedule, demands and a roofline");
  kernel->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  add_families(*kernel, options, chosen);
}

void add_gpu_commands(CLI::App& app, GpuOptions& options, Command& chosen) {
  CLI::App* list = app.add_subcommand("gpus", gpus_question().summary);
  list->add_flag("--json", options.json, "machine-readable output");
  list->footer(examples_text(gpus_question()));
  list->callback([&] { chosen = [&options] { return run_gpus(options); }; });

  CLI::App* gpu = app.add_subcommand("gpu", "show or check one GPU description");
  gpu->require_subcommand(1);
  gpu->footer(examples_text(gpu_question()));
  CLI::App* show = gpu->add_subcommand("show", gpu_question().summary);
  add_arguments(*show, arguments_of(options.query), options.refusal);
  show->add_flag("--json", options.json, "machine-readable output");
  show->footer(examples_text(gpu_question()));
  show->add_flag("--constants", options.constants, "the constants of the physics that its forecasts use");
  show->callback([&] {
    chosen = answered(options.refusal,
                      [&options] { return options.constants ? run_gpu_constants(options) : run_gpu_show(options); });
  });
  CLI::App* check = gpu->add_subcommand("check", "validate a description file");
  check->add_option("FILE", options.file, "the file")->required();
  check->footer("Example:\n  tilecast gpu check my-gpu.json");
  check->callback([&] { chosen = [&options] { return run_gpu_check(options); }; });
}

void add_cluster_commands(CLI::App& app, CollectiveOptions& options, Command& chosen) {
  CLI::App* list = app.add_subcommand("clusters", clusters_question().summary);
  list->add_flag("--json", options.json, "machine-readable output");
  list->footer(examples_text(clusters_question()));
  list->callback([&] { chosen = [&options] { return run_clusters(options); }; });

  CLI::App* one = app.add_subcommand("collective", collective_question().summary);
  add_arguments(*one, arguments_of(options.query), options.refusal, {"bytes", "tokens", "cluster"});
  one->add_option("--bytes", options.sizes, "message sizes, comma separated: 256, 64K, 1M (as nccl-tests' size)")
      ->delimiter(',');
  one->add_option("--tokens", options.tokens, "dispatch, combine: tokens of a rank, comma separated")->delimiter(',');
  one->add_option("--cluster", options.clusters,
                  "clusters, comma separated: hgx-h100 (grows to the ranks), hgx-h100:4 (nodes), 64xH100, or a file")
      ->delimiter(',')
      ->required();
  one->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  one->footer(examples_text(collective_question()));
  one->callback([&] { chosen = answered(options.refusal, [&options] { return run_collective(options); }); });
}

void add_diagnose_command(CLI::App& app, DiagnoseOptions& o, Command& chosen) {
  CLI::App* sub = app.add_subcommand("diagnose", diagnose_question().summary);
  add_arguments(*sub, arguments_of(o.query), o.refusal);
  sub->add_option("--html", o.html, "also write a page with plots to this file");
  sub->add_option("--svg", o.svg,
                  "also write the plots alone, to this with _families.svg, _ceilings.svg and _busy.svg");
  sub->add_option("--top", o.top, "kernels to list")->capture_default_str();
  sub->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  sub->footer(examples_text(diagnose_question()));
  sub->callback([&] { chosen = answered(o.refusal, [&o] { return run_diagnose(o); }); });
}

void add_tune_commands(CLI::App& app, TuneOptions& o, Command& chosen) {
  CLI::App* tune = app.add_subcommand("tune", "rank Triton configurations by forecast, for engines to load");
  tune->require_subcommand(1);
  CLI::App* moe = tune->add_subcommand("fused-moe", tune_moe_question().summary);
  add_arguments(*moe, arguments_of(o.moe), o.refusal);
  add_arguments(*moe, arguments_of(o.measuring), o.refusal);
  moe->add_option("-o,--output", o.out, "also write the files that vLLM and SGLang load into this folder");
  add_arguments(*moe, arguments_of(o.files), o.refusal);
  moe->add_flag("--json", o.json, "machine-readable output (docs/tune.md)");
  moe->footer(examples_text(tune_moe_question()));
  moe->callback([&] { chosen = answered(o.refusal, [&o] { return run_tune_fused_moe(o); }); });

  CLI::App* gemm = tune->add_subcommand("gemm", tune_gemm_question().summary);
  add_arguments(*gemm, arguments_of(o.gemm), o.refusal);
  add_arguments(*gemm, arguments_of(o.measuring), o.refusal);
  gemm->add_flag("--json", o.json, "machine-readable output (docs/tune.md)");
  gemm->footer(examples_text(tune_gemm_question()));
  gemm->callback([&] { chosen = answered(o.refusal, [&o] { return run_tune_gemm(o); }); });
}

void add_calibrate_command(CLI::App& app, CalibrateOptions& options, Command& chosen) {
  CLI::App* sub = app.add_subcommand("calibrate", calibrate_question().summary);
  add_arguments(*sub, arguments_of(options.query), options.refusal);
  sub->add_option("-o,--out", options.out, "the description to write; every command takes it as --gpu")->required();
  sub->add_flag("--json", options.json, "machine-readable output (docs/json.md)");
  sub->footer(examples_text(calibrate_question()));
  sub->callback([&] { chosen = answered(options.refusal, [&options] { return run_calibrate(options); }); });
}

}  // namespace tilecast
