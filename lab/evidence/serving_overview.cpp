// TensorRT-LLM's performance overview, releases 0.10 to 1.1: output tokens a second of servers that requests without
// end wait for (`trtllm-bench throughput`).
//
// A configuration is one case, with the figure of the newest release that has it: it is nearest to the one that is
// simulated. Up to 0.18 it ran engines built by TensorRT; their limits are not stated: those of the simulated release
// are used, with a step that holds two prompts where one would fill it. Since then it runs PyTorch's, by
// commands that its pages state (docs/source/developer-guide/perf-overview.md): how many requests, all at once, the
// attention of experts' models data parallel, and limits that the benchmark finds for itself
// (tensorrt_llm/bench/build/tuning.py).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/memory.h"
#include "lab/evidence/endtoend_columns.h"
#include "lab/evidence/serving.h"
#include "serve/plan.h"
#include "serve/workload.h"
#include "support/arithmetic.h"
#include "support/random.h"

namespace tilecast {
namespace overview {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"e2e/trtllm_perf_overview.csv.gz"};
constexpr std::array<NameRule, 8> kGpus = {{{"H100 80GB HBM3", "H100-SXM"},
                                            {"H200 141GB HBM3", "H200-SXM"},
                                            {"H100", "H100-SXM"},
                                            {"H200", "H200-SXM"},
                                            {"A100-SXM4-80GB", "A100-SXM-80GB"},
                                            {"A100", "A100-SXM-80GB"},
                                            {"A100-PCIE-80GB", "A100-PCIe-80GB"},
                                            {"L40S", "L40S"}}};
constexpr std::array<NameRule, 27> kModels = {{{"GPT-J 6B", "GPT-J-6B"},
                                               {"GPTJ 6B", "GPT-J-6B"},
                                               {"LLaMA 7B", "Llama-2-7B"},
                                               {"LLaMA v2 7B", "Llama-2-7B"},
                                               {"LLaMA 70B", "Llama-2-70B"},
                                               {"LLaMA v2 70B", "Llama-2-70B"},
                                               {"LLaMA v3 8B", "Llama-3-8B"},
                                               {"LLaMA v3 70B", "Llama-3-70B"},
                                               {"LLaMA v3.1 8B", "Llama-3.1-8B"},
                                               {"Llama 3.1 8B", "Llama-3.1-8B"},
                                               {"LLaMA v3.1 70B", "Llama-3.1-70B"},
                                               {"Llama 3.1 70B", "Llama-3.1-70B"},
                                               {"LLaMA v3.1 405B", "Llama-3.1-405B"},
                                               {"Llama 3.1 405B", "Llama-3.1-405B"},
                                               {"LLaMA v3.3 70B", "Llama-3.3-70B"},
                                               {"Llama 3.3 70B", "Llama-3.3-70B"},
                                               {"Llama 4 Scout", "Llama-4-Scout"},
                                               {"Llama 4 Maverick", "Llama-4-Maverick"},
                                               {"LLaMA v4 Maverick", "Llama-4-Maverick"},
                                               {"Falcon 180B", "Falcon-180B"},
                                               {"Mistral 7B", "Mistral-7B-v0.3"},  // TensorRT's engines knew no window
                                               {"Mixtral 8x7B", "Mixtral-8x7B"},
                                               {"Mixtral 8x22B", "Mixtral-8x22B"},
                                               {"GPT-OSS 20B", "gpt-oss-20b"},
                                               {"GPT-OSS 120B", "gpt-oss-120b"},
                                               {"Qwen3 30B A3B", "Qwen3-30B-A3B"},
                                               {"Qwen3-30B-A3B", "Qwen3-30B-A3B"}}};
constexpr std::array<NameRule, 1> kEngines = {{{"TensorRT-LLM", "trtllm"}}};

// "0.14.0" before "0.19" before "1.0".
std::pair<Count, Count> release_of(const TableRow& row) {
  const std::string& text = row["engine_version"];
  const auto dot = text.find('.');
  if (dot == std::string::npos) return {count_in(text), 0};
  return {count_in(text.substr(0, dot)), count_in(text.substr(dot + 1, text.find('.', dot + 1) - dot - 1))};
}

std::string unusable(const TableRow& row) {
  if (!row["notes"].starts_with("infinite request rate")) return "a static batch or a first token";
  if (!row["metric"].starts_with("output_throughput") || !(row.number("value") > 0)) return "no throughput";
  if (!row["dp_ep"].empty()) return "data parallel attention";
  if (row["pp"] != "" && row["pp"] != "1") return "a pipeline";
  if (row.count("tp") < 1 || row.count("tp") != row.count("num_gpus")) return "layout not known";
  if (row.count("isl") < 1 || row.count("osl") < 1) return "no lengths";
  if (row["precision"] == "Mixed") return "formats differ between layers, and which is not said";
  return "";
}

// From 1.0 on, tables of models with experts over several GPUs count ranks without saying whether attention is data
// parallel over them, which other columns of the same releases are.
bool may_be_data_parallel(const TableRow& row, const ModelSpec& model) {
  return has_experts(model) && row.count("tp") > 1 && release_of(row) >= std::pair<Count, Count>{1, 0};
}

// ModelOpt's checkpoints keep keys and values in fp8 beside fp8 and nvfp4 products; gpt-oss is as it was published.
Result<Precision> precision_of(const TableRow& row, const ModelSpec& model) {
  if (model.name.starts_with("gpt-oss")) return precision_from(model.quantization);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kFormats = {
      {{"FP16", "fp16"}, {"FP8", "fp8"}, {"FP4", "nvfp4"}}};
  for (const auto& [table, ours] : kFormats)
    if (row["precision"] == table) return precision_from(std::string(ours), table == "FP16" ? "" : "fp8");
  return unknown_name("format", row["precision"]);
}

// Whether the pages of the row's release say how it was run.
bool stated(const TableRow& row) { return release_of(row) >= std::pair<Count, Count>{0, 19}; }

// As in the pages' table; elsewhere enough that beginning and end weigh little.
Count requests_for(const TableRow& row) {
  struct Stated {
    Count input, output, requests;
  };
  constexpr std::array<Stated, 15> kStated = {{{128, 128, 30000},
                                               {128, 2048, 3000},
                                               {128, 4096, 1500},
                                               {500, 2000, 3000},
                                               {1000, 1000, 3000},
                                               {1000, 2000, 1500},
                                               {1024, 1024, 3000},
                                               {1024, 2048, 1500},
                                               {1024, 8192, 1500},
                                               {1024, 32768, 1000},
                                               {2048, 128, 3000},
                                               {2048, 2048, 1500},
                                               {5000, 500, 1500},
                                               {8192, 1024, 1500},
                                               {20000, 2000, 1000}}};
  const Count input = row.count("isl"), output = row.count("osl");
  if (stated(row))
    for (const Stated& s : kStated)
      if (s.input == input && s.output == output) return s.requests;
  constexpr Count kTokens = 4'000'000, kFewest = 1000, kMost = 8000;
  return std::clamp(kTokens / (input + output), kFewest, kMost);
}

Result<std::vector<Request>> requests_of(const TableRow& row) {
  WorkloadOptions w;
  w.requests = requests_for(row);
  w.input.mean = row.count("isl"), w.output.mean = row.count("osl");
  return generate(w);
}

Count in_steps(double value, Count step) { return step * static_cast<Count>(std::ceil(value / real(step))); }

}  // namespace
}  // namespace overview

// tensorrt_llm/bench/build/tuning.py, calc_engine_setting and finetune_setting: as many sequences as the memory beside
// the weights holds keys of, as many tokens as bring in as many prompts as end. Prompts longer than that are cut
// (--enable_chunked_context of the pages' older commands): whole, they would not be admitted.
void set_bench_limits(DeploymentOptions& d, Count input, Count output) {
  const Count gpus = d.spread ? d.spread->layout.ranks() : 1;
  const double weights = real(parameters(d.model)) * d.engine.precision.linear.weight_bits / 8;
  const double room = 0.95 * (real(gpus) * in_bytes(d.gpu.dram.size) - weights);
  const double a_request = in_bytes(cache_bytes(cache_need(d.model), input + output, d.engine.precision));
  const double sequences = std::min(room / a_request, 4096.0);
  const double tokens = std::min(sequences * (1 + real(input) / real(output)), 32768.0);
  d.max_sequences = sequences < 256    ? std::max<Count>(64, overview::in_steps(sequences, 32))
                    : sequences < 1024 ? overview::in_steps(sequences, 128)
                                       : overview::in_steps(sequences, 256);
  d.max_tokens = tokens < 4096   ? std::max<Count>(2048, overview::in_steps(tokens, 256))
                 : tokens < 8192 ? overview::in_steps(tokens, 512)
                                 : overview::in_steps(tokens, 1024);
  d.chunked_prefill = true;
}

namespace overview {
namespace {

Result<ServingCase> case_of(const TableRow& row) {
  auto on = served_on(kOverviewSource, row, "engine");
  if (!on) return std::move(on).error();
  if (may_be_data_parallel(row, on->model)) return left_out_row("attention dp not said");
  const Count input = row.count("isl"), output = row.count("osl"), tp = row.count("tp");
  ServingCase one;
  one.label = {"overview", on->cluster->gpu.name, "trtllm", on->model.name, "offline", "", 0, input};
  one.label.detail = fmt::format("{}, tp {}, {}/{}, {}", row["precision"], tp, input, output, row["engine_version"]);
  DeploymentOptions& d = one.deployment;
  auto precision = precision_of(row, on->model);
  if (!precision) return std::move(precision).error();
  d.engine.kind = on->engine, d.engine.precision = *std::move(precision);
  d.model = std::move(on->model), d.gpu = on->cluster->gpu;
  if (tp > 1)
    d.spread = RankSpread{RankLayout{.tp = static_cast<int>(tp), .expert_tp = static_cast<int>(tp)}, *on->cluster};
  d.reuse = false;
  constexpr Count kStep = 8192;
  if (stated(row)) set_bench_limits(d, input, output);
  else if (2 * input > kStep) d.max_tokens = 2 * input;
  // moe_config.backend is CUTLASS: stated for some models and the default for the others.
  if (stated(row) && d.gpu.tensor_generation() == TensorGeneration::tcgen05 &&
      d.engine.precision.experts.id == FormatId::nvfp4)
    d.experts_kernel = KernelSource::moe_torch_flow;
  auto requests = requests_of(row);
  if (!requests) return std::move(requests).error();
  one.requests = *std::move(requests);
  const bool each = row["metric"] == "output_throughput_per_gpu";
  one.measured["throughput"] = row.number("value") * (each ? row.number("num_gpus") : 1);
  if (!deploy(d, Method::roofline, nullptr)) return left_out_row("does not fit as said");
  return one;
}

std::string configuration_of(const TableRow& row, const std::string& gpu, const std::string& model) {
  return fmt::format("{}|{}|{}|{}|{}|{}", gpu, model, row["precision"], row["tp"], row["isl"], row["osl"]);
}

}  // namespace
}  // namespace overview

constexpr SourceMapping kOverviewSource{
    .name = "overview",
    .from = "github.com/NVIDIA/TensorRT-LLM, performance overview of releases 0.10 to 1.1",
    .licence = "Apache-2.0",
    .files = overview::kFiles,
    .columns = kWholeModelColumns,
    .gpus = overview::kGpus,
    .models = overview::kModels,
    .engines = overview::kEngines,
    .protocol = {"trtllm-bench: requests without end, output tokens a second; tuned by the vendor"}};

Result<ServingCases> overview_cases(const std::string& path, Count one_in) {
  const auto table = read_table(kOverviewSource, path);
  if (!table) return table.error();
  ServingCases read;
  read.left_out = table->left_out;
  std::map<std::string, std::vector<const TableRow*>> releases;
  for (const TableRow& row : table->rows) {
    const auto gpu = row.gpu();
    const auto model = row.model();
    if (std::string why = overview::unusable(row); !why.empty()) leave_out(read.left_out, why);
    else if (!gpu) leave_out(read.left_out, gpu.error().problem);
    else if (!model) leave_out(read.left_out, model.error().problem);
    else releases[overview::configuration_of(row, gpu->name, *model)].push_back(&row);
  }
  for (const auto& [key, rows] : releases) {
    const auto newest = *std::max_element(rows.begin(), rows.end(), [](const TableRow* a, const TableRow* b) {
      return overview::release_of(*a) < overview::release_of(*b);
    });
    if (rows.size() > 1) leave_out(read.left_out, "an older release", static_cast<Count>(rows.size()) - 1);
    if (mixed(1, key) % static_cast<std::uint64_t>(one_in) != 0) leave_out(read.left_out, "not in the sample");
    else read.add(overview::case_of(*newest));
  }
  return read;
}

}  // namespace tilecast
