// Flags of kernels, GPUs and clusters.
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
  CLI::App* list = app.add_subcommand("gpus", "list the GPUs Tilecast knows");
  list->add_flag("--json", options.json, "machine-readable output");
  list->footer("Example:\n  tilecast gpus");
  list->callback([&] { chosen = [&options] { return run_gpus(options.json); }; });

  CLI::App* gpu = app.add_subcommand("gpu", "show or check one GPU description");
  gpu->require_subcommand(1);
  gpu->footer("Example:\n  tilecast gpu show H100-SXM");
  CLI::App* show = gpu->add_subcommand("show", "everything known about a GPU, with sources");
  show->add_option("NAME", options.name, "a GPU's name, or a description file")->required();
  show->add_flag("--json", options.json, "machine-readable output");
  show->footer("Example:\n  tilecast gpu show H100-SXM");
  show->add_flag("--constants", options.constants, "the constants of the physics that its forecasts use");
  show->callback([&] {
    chosen = [&options] {
      return options.constants ? run_gpu_constants(options.name, options.json)
                               : run_gpu_show(options.name, options.json);
    };
  });
  CLI::App* check = gpu->add_subcommand("check", "validate a description file");
  check->add_option("FILE", options.file, "the file")->required();
  check->footer("Example:\n  tilecast gpu check my-gpu.json");
  check->callback([&] { chosen = [&options] { return run_gpu_check(options.file); }; });
}

void add_cluster_commands(CLI::App& app, CommOptions& options, Command& chosen) {
  CLI::App* list = app.add_subcommand("clusters", "list the clusters Tilecast knows");
  list->add_flag("--json", options.json, "machine-readable output");
  list->footer("Example:\n  tilecast clusters");
  list->callback([&] { chosen = [&options] { return run_clusters(options.json); }; });

  CollectiveCommand& o = options.one;
  CLI::App* one = app.add_subcommand("collective", "forecast one collective between GPUs");
  one->add_option("OP", o.op,
                  "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv; of experts' tokens: "
                  "dispatch, combine, prepare")
      ->required();
  one->add_option("--bytes", o.sizes, "message sizes, comma separated: 256, 64K, 1M (as nccl-tests' size)")
      ->delimiter(',');
  one->add_option("--tokens", o.tokens, "dispatch, combine: tokens of a rank, comma separated")->delimiter(',');
  one->add_option("--hidden", o.hidden, "dispatch, combine: elements of a token")->capture_default_str();
  one->add_option("--topk", o.topk, "dispatch, combine: experts of a token")->capture_default_str();
  one->add_option("--experts", o.experts, "dispatch, combine: experts on all ranks")->capture_default_str();
  one->add_option("--most-nodes", o.most_nodes, "dispatch, combine: nodes the experts of a token lie on (0: any)")
      ->capture_default_str();
  one->add_option("--sms", o.sms, "deepep: SMs its kernels get")->capture_default_str();
  one->add_flag("--balanced", o.balanced, "dispatch, combine: a token's experts on as many ranks as they can");
  one->add_option("--ranks", o.ranks, "GPUs that take part (default: all of the cluster)");
  one->add_option("--local", o.local,
                  "of them on one node, while the node's other GPUs make the same call (default: all, alone)");
  one->add_option("--cluster", o.clusters,
                  "clusters, comma separated: hgx-h100 (grows to the ranks), hgx-h100:4 (nodes), 64xH100, or a file")
      ->delimiter(',')
      ->required();
  one->add_option("--nodes", o.nodes, "nodes of the cluster (default: its description's)");
  one->add_option("--library", o.library,
                  "nccl (default), or an engine's own all-reduce: vllm (custom), sglang, trtllm; dispatch, combine: "
                  "deepep (default), deepep-ll, trtllm-one-sided, trtllm-two-sided");
  one->add_option("--dtype", o.dtype, "number format (default: bf16; of dispatch fp8 with scales)");
  one->add_flag("--eager", o.eager, "engines: launched by the host, not from a CUDA graph");
  one->add_flag("--json", o.json, "machine-readable output (docs/json.md)");
  one->footer(
      "Example:\n  tilecast collective all_reduce --bytes 64K,1M,64M --ranks 8 --cluster hgx-h100-8,hgx-b200-8\n\n"
      "More examples:\n  tilecast collective all_reduce --bytes 256K --ranks 4 --cluster hgx-h200-8 --library vllm\n"
      "  tilecast collective all_gather --bytes 1G --cluster hgx-h100-8 --nodes 4\n"
      "  tilecast collective dispatch --tokens 128,4096 --topk 8 --experts 256 --ranks 32 --cluster hgx-h200 --library "
      "deepep-ll");
  one->callback([&] { chosen = [&o] { return run_collective(o); }; });

}

}  // namespace tilecast
