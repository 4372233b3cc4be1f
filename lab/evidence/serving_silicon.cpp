// AIConfigurator's serving points: a closed loop of a number of requests at a time.
//
// Most were measured by InferenceX (SemiAnalysis, first called InferenceMAX), the rest by the tool's own authors ("gap
// analysis").
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cluster/registry.h"
#include "lab/evidence/endtoend_table.h"
#include "lab/evidence/serving.h"
#include "model/library.h"

namespace tilecast {
namespace {

const std::vector<std::string> kColumns = {"silicon_data_source",
                                           "backend",
                                           "model_path",
                                           "system",
                                           "precision",
                                           "mode",
                                           "isl",
                                           "osl",
                                           "gemm_quant_mode",
                                           "moe_quant_mode",
                                           "batch_size",
                                           "tp_size",
                                           "pp_size",
                                           "attention_dp_size",
                                           "moe_tp_size",
                                           "moe_ep_size",
                                           "prefill_num_workers",
                                           "prefill_tp_size",
                                           "prefill_pp_size",
                                           "prefill_attention_dp_size",
                                           "prefill_moe_tp_size",
                                           "prefill_moe_ep_size",
                                           "decode_num_workers",
                                           "decode_tp_size",
                                           "decode_pp_size",
                                           "decode_attention_dp_size",
                                           "decode_moe_tp_size",
                                           "decode_moe_ep_size",
                                           "silicon_ttft_ms",
                                           "silicon_tpot_ms"};

const std::map<std::string, std::string> kClusters = {{"h100_sxm", "H100-SXM"},      {"h200_sxm", "H200-SXM"},
                                                      {"b200_sxm", "B200"},          {"gb200", "GB200"},
                                                      {"a100_sxm", "A100-SXM-80GB"}, {"l40s", "L40S"}};

bool is_sparse(const ModelSpec& model) {
  for (const LayerRun& run : model.decoder->layers)
    if (const auto* mla = std::get_if<MlaSpec>(&run.layer.mixer); mla && mla->index_heads > 0) return true;
  return false;
}
bool has_experts(const ModelSpec& model) {
  for (const LayerRun& run : model.decoder->layers)
    if (std::holds_alternative<MoeSpec>(run.layer.feed_forward)) return true;
  return false;
}
bool has_latent(const ModelSpec& model) {
  for (const LayerRun& run : model.decoder->layers)
    if (std::holds_alternative<MlaSpec>(run.layer.mixer)) return true;
  return false;
}

bool of_inference_max(const TableRow& row) {
  return row["silicon_data_source"].find("aic-auto-gap-analysis") == std::string::npos;
}

// The checkpoint's own format where it has one of that width; else NVIDIA's, whose scales of activations are fixed.
std::string format_of(const std::string& mode, const ModelSpec& model) {
  if (mode.empty()) return "bf16";
  if (mode.starts_with("fp8"))
    return mode == "fp8_block" || model.quantization == "fp8_block" ? "fp8_block" : "fp8_static";
  return mode;
}

Result<Precision> precision_of(const TableRow& row, const ModelSpec& model) {
  const std::string linear = format_of(row["gemm_quant_mode"], model);
  const bool small = !row["gemm_quant_mode"].empty();
  auto p = precision_from(linear, small ? "fp8" : "");
  if (!p) return p;
  const auto experts = precision_from(format_of(row["moe_quant_mode"], model));
  if (!experts) return experts;
  p->experts = experts->linear;
  // Latent attention stays in bf16 where experts have four bits (DeepSeek-R1-FP4's and Kimi K2's checkpoints).
  if (has_latent(model) && experts->linear.weight_bits < 8) p->linear = p->activation;
  return p;
}

int size_of(const TableRow& row, const std::string& column) {
  return std::max(1, static_cast<int>(row.number(column.c_str())));
}

// Of the whole, or of the pool that columns begin with ("prefill_", "decode_"). Nothing, and `why`, where ranks do not
// multiply out.
std::optional<RankLayout> layout_of(const TableRow& row, const std::string& pool, const ModelSpec& model,
                                    std::string& why) {
  RankLayout layout;
  layout.tp = size_of(row, pool + "tp_size"), layout.pp = size_of(row, pool + "pp_size");
  if (!has_experts(model)) return layout;
  layout.ep = size_of(row, pool + "moe_ep_size"), layout.expert_tp = size_of(row, pool + "moe_tp_size");
  layout.dp = size_of(row, pool + "attention_dp_size");
  const int ranks = layout.ep * layout.expert_tp, attention = layout.tp * layout.dp;
  if (layout.dp == 1 && ranks < layout.tp && layout.tp % ranks == 0) layout.ep = 1, layout.expert_tp = layout.tp;
  else if (ranks != attention && layout.dp > 1) why = "attention dp: ranks do not multiply out";
  else if (ranks > attention) why = "attention dp not said: experts over more ranks than attention";
  else if (ranks != attention) why = "ranks do not multiply out";
  else if (layout.dp > 1 && layout.expert_tp > 1) why = "attention dp: ranks share the width of experts";
  if (why.empty()) return layout;
  return std::nullopt;
}

// Requests in flight. The rows' batch is of one data parallel rank.
Count concurrency_of(const TableRow& row) {
  constexpr std::string_view kName = "silicon_concurrency=";
  const std::string& source = row["silicon_data_source"];
  const auto at = source.find(kName);
  if (row["mode"] == "agg" && size_of(row, "attention_dp_size") == 1) return row.count("batch_size");
  if (at == std::string::npos) return 0;
  return to_count(source.substr(at + kName.size(), source.find(';', at) - at - kName.size())).value_or(0);
}

std::string key_of(const TableRow& row) {
  std::string key = std::to_string(concurrency_of(row));
  for (const std::string& column : kColumns)
    if (column != "silicon_data_source" && !column.starts_with("silicon_t")) key += "|" + row[column];
  return key;
}

// Why a row is not of the clean subset that the data's README names, or cannot be read; empty where it can.
std::string unclean(const TableRow& row) {
  const double ttft = row.number("silicon_ttft_ms");
  if (!(ttft > 0) || !(row.number("silicon_tpot_ms") > 0)) return "no figures";
  if (row["mode"] == "agg" && row.number("tp_size") > 8) return "tp above 8: tp x ep artefacts";
  if (ttft >= 10e3) return "TTFT of 10 s and more";
  if (row["mode"] == "agg") return "";
  return row["prefill_num_workers"].empty() ? "disaggregated, number of workers not said" : "";
}

// AIConfigurator's own runs, chosen on Llama 3.1 8B under TensorRT-LLM (the other models are the judge): what first
// tokens take beyond the engine's steps, client and server together; and how far answers' lengths lie apart. Its
// clients ask for equal ones (src/aiconfigurator/eval/benchmarks/genai_perf_runner.py, --output-tokens-stddev 0), which
// in a simulation march in step for ever, prompts waiting for each other; its first tokens show that they did not. The
// spread stands for whatever set them apart.
const Seconds kOwnFrontEnd = milliseconds(80);
constexpr double kOwnSpread = 0.3;

// As its scripts launch the engines (github SemiAnalysisAI/InferenceX, benchmarks/70b_*.sh, late 2025, dsr1_*.sh and
// single_node/qwen3.5_*.sh, 2026): no prefix cache, ten requests for each in flight, --random-range-ratio 0.8; SGLang
// on Blackwell with --scheduler-recv-interval 30, 10 below sixteen requests.
void set_as_inferencex(DeploymentOptions& d, const TableRow& row, EngineKind engine) {
  d.reuse = false;
  d.memory_fraction = 0.9;
  if (engine == EngineKind::vllm) {
    d.max_tokens = 8192;
    d.max_sequences = row["system"] == "b200_sxm" ? 512 : row.count("batch_size");
  } else if (engine == EngineKind::trtllm) {
    d.max_tokens = 16384;
    const bool waits = d.model.name == "Llama-3.1-70B" && row["isl"] == "1024" && row["osl"] == "1024";
    if (waits && row.count("tp_size") < 8) d.wait_steps = 20, d.wait_share = 0.9;
    d.balance_steps = 60;  // attention_dp_config
  } else {
    const bool blackwell = d.gpu.architecture == Architecture::blackwell, qwen = d.model.name.starts_with("Qwen");
    d.memory_fraction = row.count("tp_size") == 4 && !qwen && row["precision"] == "fp8" ? 0.95 : 0.82;
    d.chunk = d.max_tokens = (blackwell ? !qwen && row["precision"] == "fp4" : qwen) ? 16384 : 32768;
    if (blackwell) d.receive_steps = row.count("batch_size") >= 16 ? 30 : 10;
  }
}

// As AIConfigurator's generator sets the engines up for its own runs (github ai-dynamo/aiconfigurator,
// src/aiconfigurator/generator: backends/trtllm.py, rule_plugin/benchmark/*.rule): as many sequences as the client has
// in flight, and in a step the answers, one prompt and 1500 tokens. SGLang mixes answers into the prompts' steps.
void set_as_aiconfigurator(DeploymentOptions& d, const TableRow& row, EngineKind engine) {
  const Count concurrency = row.count("batch_size"), prompt = row.count("isl");
  d.max_sequences = concurrency;
  if (engine == EngineKind::trtllm) {
    d.max_tokens = concurrency + prompt + 1500;
    d.reuse = false;
    d.host_receive = kOwnFrontEnd;
  } else if (engine == EngineKind::sglang) {
    d.max_tokens = prompt + 1500;
    d.mixed_chunk = true;
  }
}

// Prompts and answers have workers of their own. Keys and values stay within a node or a rack where all of them fit
// one.
void set_apart(ServingCase& one, const TableRow& row, const RankLayout& prompts, const RankLayout& answers,
               const Cluster& cluster) {
  DeploymentOptions& d = one.deployment;
  d.reuse = false;
  if (d.engine.kind != EngineKind::sglang) d.max_tokens = 16384;
  one.prefill = d;
  d.replicas = size_of(row, "decode_num_workers"), one.prefill->replicas = size_of(row, "prefill_num_workers");
  const auto spread = [&](DeploymentOptions& pool, const RankLayout& layout) {
    if (layout.ranks() > 1) pool.spread = RankSpread{layout, cluster};
  };
  spread(d, answers), spread(*one.prefill, prompts);
  const Count gpus = d.replicas * answers.ranks() + one.prefill->replicas * prompts.ranks();
  if (gpus <= cluster.gpus_per_node || !cluster.inter) one.link = {cluster.pair_bandwidth(), cluster.intra.latency};
  else one.link = {cluster.inter->bandwidth, cluster.inter->latency};
}

// InferenceX draws lengths between 0.8 and 1 of the nominal ones; AIConfigurator's prompts and answers are equal.
Result<std::vector<Request>> requests_of(const TableRow& row, Count concurrency, EngineKind engine) {
  const bool theirs = of_inference_max(row);
  const double mean = theirs ? 0.9 : 1, spread = 1 / 0.9 - 1;
  const auto length = [&](const char* column, double apart) {
    return LengthDistribution{LengthDistribution::Kind::uniform,
                              std::max<Count>(1, std::llround(mean * row.number(column))), apart};
  };
  WorkloadOptions w;
  w.requests = 10 * concurrency;
  w.input = length("isl", theirs ? spread : 0), w.output = length("osl", theirs ? spread : kOwnSpread);
  auto requests = generate(w);
  // Its client, aiperf, makes a hundred prompts and sends them over and over (--num-dataset-entries, default 100), and
  // vLLM finds them in its cache.
  if (requests && !theirs && engine == EngineKind::vllm)
    for (std::size_t i = 0; i < requests->size(); ++i) {
      Request& r = (*requests)[i];
      r.prefix = static_cast<Count>(i % 100), r.prefix_tokens = r.input;
    }
  return requests;
}

// Nothing, and `why`, for rows that cannot be judged.
Result<std::optional<ServingCase>> case_of(const TableRow& row, std::string& why) {
  const std::string& path = row["model_path"];
  auto model = find_model(path.substr(path.find('/') + 1));
  if (!model) return std::move(model).error().at(row.place());
  const auto system = kClusters.find(row["system"]);
  const auto engine = engine_from(row["backend"]);
  if (!engine) return engine.error();
  const bool apart = row["mode"] != "agg";
  const Cluster* cluster = system == kClusters.end() ? nullptr : built_in_cluster_of(system->second);
  const auto precision = precision_of(row, *model);
  const Count concurrency = concurrency_of(row);
  why = !cluster            ? "another GPU"
        : is_sparse(*model) ? "sparse attention: " + model->name
        : !precision        ? "a format that is not known"
        : concurrency < 1   ? "no concurrency"
                            : "";
  if (!why.empty()) return std::optional<ServingCase>();
  const auto layout = layout_of(row, apart ? "decode_" : "", *model, why);
  const auto prompts = apart && layout ? layout_of(row, "prefill_", *model, why) : layout;
  if (!layout || !prompts) return std::optional<ServingCase>();

  ServingCase one;
  const std::string mode = apart ? "disagg" : layout->dp > 1 ? "agg, attention dp" : "agg";
  one.label = {"silicon", cluster->gpu.name, row["backend"], model->name, mode, "", concurrency, row.count("isl")};
  one.label.detail = std::string(precision->linear.name) + ", " + text_of(*layout) +
                     (apart ? " after " + text_of(*prompts) : "") + ", " + row["isl"] + "/" + row["osl"];
  one.deployment.model = *std::move(model);
  one.deployment.engine.kind = *engine;
  one.deployment.engine.precision = *precision;
  one.deployment.gpu = cluster->gpu;
  if (apart) set_apart(one, row, *prompts, *layout, *cluster);
  else if (layout->ranks() > 1) one.deployment.spread = RankSpread{*layout, *cluster};
  if (!apart && of_inference_max(row)) set_as_inferencex(one.deployment, row, *engine);
  else if (!apart) set_as_aiconfigurator(one.deployment, row, *engine);
  auto requests = requests_of(row, concurrency, *engine);
  if (!requests) return std::move(requests).error().at(row.place());
  one.requests = *std::move(requests);
  one.concurrency = concurrency;
  one.measured = {{"ttft", row.number("silicon_ttft_ms") * 1e-3}, {"tpot", row.number("silicon_tpot_ms") * 1e-3}};
  return std::optional<ServingCase>(std::move(one));
}

bool fits(const ServingCase& one) {
  return deploy(one.deployment, Method::roofline, nullptr) &&
         (!one.prefill || deploy(*one.prefill, Method::roofline, nullptr));
}

}  // namespace

Result<ServingCases> silicon_cases(const std::string& path) {
  const auto rows = read_table(path, kColumns);
  if (!rows) return rows.error();
  ServingCases read;
  std::set<std::string> seen;
  for (const TableRow& row : *rows) {
    std::string why = unclean(row);
    if (why.empty() && !seen.insert(key_of(row)).second) why = "a copy";
    if (why.empty()) {
      auto one = case_of(row, why);
      if (!one) return std::move(one).error();
      // Others that do not fit are an error: they were measured.
      if (*one && (*one)->label.mode != "agg" && !fits(**one)) why = (*one)->label.mode + ": does not fit as said";
      if (why.empty()) read.cases.push_back(**std::move(one));
    }
    if (!why.empty()) ++read.left_out[why];
  }
  return read;
}

}  // namespace tilecast
