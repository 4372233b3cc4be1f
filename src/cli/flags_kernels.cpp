// Flags of kernels, GPUs and clusters.
#include <CLI/CLI.hpp>
#include <cstdint>

#include "cli/flags.h"
#include "support/text.h"

namespace tilecast {

namespace {

// One subcommand per kernel family, with a flag per field of its shape.

}  // namespace

namespace {

void add_families(CLI::App& kernel, KernelOptions& options, Command& chosen) {
  for (const Family& family : families()) {
    std::string name(family.info.name);
    CLI::App* sub = kernel.add_subcommand(name, std::string(family.info.summary));
    sub->fallthrough();
    sub->ignore_underscore();
    sub->footer(
        "Also --gpu, --dtype, --method, --runtime, --warmth, --explain and --json: `tilecast kernel --help`.\n\n"
        "Example:\n  tilecast kernel " +
        name + " " + std::string(family.info.example) + " --gpu A100-SXM-80GB,H100-SXM,B200");
    if (std::string hyphened = name; hyphened.find('_') != std::string::npos) {
      for (char& c : hyphened)
        if (c == '_') c = '-';
      sub->alias(hyphened);
    }
    for (const FieldInfo& field : family.fields) {
      const std::string flag = "--" + field.name;
      const std::string help = field.help + (field.need == Need::required ? " (required)" : "");
      const auto keep = [&options, name = field.name](const std::string& text) {
        options.dims.emplace_back(name, text);
      };
      if (field.kind == "yes/no")  // --gated, or --gated=no for one that is on by default
        sub->add_flag_function(
               flag, [keep](std::int64_t on) { keep(on > 0 ? "1" : "0"); }, help)
            ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
      else sub->add_option_function<std::string>(flag, keep, help)->type_name(field.kind);
    }
    sub->callback([&options, &chosen, name] {
      options.family = name;
      chosen = [&options] { return run_kernel(options); };
    });
  }
}

}  // namespace

namespace {

std::string format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return join(names, " ");
}

}  // namespace

void add_kernel_command(CLI::App& app, KernelOptions& options, Command& chosen) {
  CLI::App* kernel = app.add_subcommand("kernel", "forecast one kernel on one or more GPUs");
  kernel->require_subcommand(1);
  kernel->fallthrough(false);
  kernel->footer(
      "`tilecast kernel FAMILY --help` lists the family's flags.\n\nExample:\n"
      "  tilecast kernel gemm --m 4096 --n 4096 --k 4096 --gpu A100-SXM-80GB,H100-SXM,B200 --explain");
  kernel->add_option("--gpu", options.gpus, "GPU names or description files, comma separated")->delimiter(',');
  kernel->add_option("--dtype", options.dtype, "number format: " + format_names())->capture_default_str();
  kernel->add_option("--method", options.method, "tilecast, analytic (nothing learned), roofline, neusight or synperf")
      ->capture_default_str();
  kernel->add_option("--runtime", options.runtime, "graph or eager: how kernels are launched")->capture_default_str();
  kernel->add_option("--warmth", options.warmth, "model (weights cold, activations warm), warm or cold")
      ->capture_default_str();
  kernel->add_option("--weight-copies", options.weight_copies, "copies of the weights a warm benchmark rotates")
      ->capture_default_str();
  kernel->add_option("--weights", options.weights, "weights of `tilecast train` in place of the shipped ones");
  kernel->add_option("--engine", options.engine, "who launches it: vllm, sglang, trtllm or pytorch");
  kernel->add_option("--kernel-source", options.kernel_source, "with --engine: which of its kernels");
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
  show->callback([&] { chosen = [&options] { return run_gpu_show(options.name, options.json); }; });
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

  CLI::App* judge = app.add_subcommand("collectives", "compare forecasts of collectives with measured ones");
  judge->add_option("--data", options.judge.data, "folder with aiconfigurator/ and synperf/")->required();
  judge->add_option("--fit", options.judge.fit, "also write the constants fitted (data/collectives/constants.txt)");
  judge->footer("Example:\n  tilecast collectives --data ../shared/data");
  judge->callback([&] { chosen = [&options] { return run_collectives(options.judge); }; });
}

}  // namespace tilecast
