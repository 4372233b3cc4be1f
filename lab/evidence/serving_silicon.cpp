// AIConfigurator's serving points: a closed loop of a number of requests at a time.
//
// Most were measured by InferenceX (SemiAnalysis, first called InferenceMAX), the rest by the tool's own authors ("gap
// analysis").
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "cluster/registry.h"
#include "lab/evidence/endtoend_table.h"
#include "lab/evidence/serving.h"
#include "model/library.h"
#include "serve/plan.h"

namespace tilecast {
namespace silicon {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"aiconfigurator/e2e_silicon_sample.csv.gz"};
constexpr std::array<SourceColumn, 30> kColumns = {
    {{"silicon_data_source", "who measured, and notes"},
     {"backend", "the engine"},
     {"model_path", "the model, as Hugging Face calls it", ColumnRole::model},
     {"system", "the card", ColumnRole::gpu},
     {"precision", "of the checkpoint, roughly"},
     {"mode", "agg, or disagg: pools of their own for prompts and answers"},
     {"isl", "tokens of a prompt"},
     {"osl", "tokens of an answer"},
     {"gemm_quant_mode", "format of linear layers"},
     {"moe_quant_mode", "format of experts"},
     {"batch_size", "requests in flight, of one data parallel rank"},
     {"tp_size", "tensor parallel ranks"},
     {"pp_size", "pipeline stages"},
     {"attention_dp_size", "data parallel ranks of attention"},
     {"moe_tp_size", "ranks that share an expert's width"},
     {"moe_ep_size", "ranks that share the experts"},
     {"prefill_num_workers", "of the pool of prompts: workers"},
     {"prefill_tp_size", "of the pool of prompts: tensor parallel ranks"},
     {"prefill_pp_size", "of the pool of prompts: pipeline stages"},
     {"prefill_attention_dp_size", "of the pool of prompts: data parallel ranks of attention"},
     {"prefill_moe_tp_size", "of the pool of prompts: ranks that share an expert's width"},
     {"prefill_moe_ep_size", "of the pool of prompts: ranks that share the experts"},
     {"decode_num_workers", "of the pool of answers: workers"},
     {"decode_tp_size", "of the pool of answers: tensor parallel ranks"},
     {"decode_pp_size", "of the pool of answers: pipeline stages"},
     {"decode_attention_dp_size", "of the pool of answers: data parallel ranks of attention"},
     {"decode_moe_tp_size", "of the pool of answers: ranks that share an expert's width"},
     {"decode_moe_ep_size", "of the pool of answers: ranks that share the experts"},
     {"silicon_ttft_ms", "mean time to the first token"},
     {"silicon_tpot_ms", "mean time of a further token"}}};
constexpr std::array<NameRule, 3> kEngines = {{{"vllm", "vllm"}, {"sglang", "sglang"}, {"trtllm", "trtllm"}}};

bool has_latent(const ModelSpec& model) {
  for (const LayerRun& run : model.decoder->layers)
    if (std::holds_alternative<MlaSpec>(run.layer.mixer)) return true;
  return false;
}

std::string after(const std::string& text, std::string_view name) {
  const auto at = text.find(name);
  return at == std::string::npos ? std::string() : text.substr(at + name.size(), 10);
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

// MiniMax-M2.5 in fp8 on B200: both scripts before April 2026 have --enable-expert-parallel, neither --kv-cache-dtype.
bool is_fp8_minimax(const TableRow& row) {
  return row["model_path"].ends_with("MiniMax-M2.5") && row["system"] == "b200_sxm" && row["precision"] == "fp8";
}
bool is_early(const TableRow& row) { return after(row["silicon_data_source"], "measured=").starts_with("2026-03"); }

// Quantised checkpoints ask for a cache in fp8. InferenceX's scripts give vLLM that flag (--kv-cache-dtype) on
// Blackwell, and on Hopper for Llama 3.1 70B alone (benchmarks/70b_fp8_h100_slurm.sh, 70b_fp8_h200_slurm.sh); without
// it vLLM of 2025 keeps keys and values in bf16.
bool keeps_fp8(const TableRow& row) {
  const bool blackwell = row["system"].starts_with("b200") || row["system"].starts_with("gb200");
  const bool asks =
      (blackwell && !(is_fp8_minimax(row) && is_early(row))) || row["model_path"].ends_with("Llama-3.1-70B");
  if (of_inference_max(row) && row["backend"] == "vllm" && !asks) return false;
  return !row["gemm_quant_mode"].empty();
}

Result<Precision> precision_of(const TableRow& row, const ModelSpec& model) {
  const std::string of_experts = format_of(row["moe_quant_mode"], model);
  std::string linear = format_of(row["gemm_quant_mode"], model);
  // Checkpoints whose experts are scaled by blocks have all their products so (Qwen3.5-397B-A17B-FP8, GLM-5-FP8:
  // weight_block_size), be the rows' word for linear layers "fp8" alone.
  if (linear == "fp8_static" && of_experts == "fp8_block") linear = of_experts;
  auto p = precision_from(linear, keeps_fp8(row) ? "fp8" : "");
  if (!p) return p;
  auto experts = precision_from(of_experts);
  if (!experts) return experts;
  p->experts = experts->linear;
  // Latent attention stays in bf16 where experts have four bits (DeepSeek-R1-FP4's and Kimi K2's checkpoints).
  if (has_latent(model) && experts->linear.weight_bits < 8) p->linear = p->projections = p->shared = p->activation;
  return p;
}

int size_of(const TableRow& row, const std::string& column) {
  constexpr double kMostRanks = 1000;  // of an axis
  return static_cast<int>(std::clamp(row.number(column), 1.0, kMostRanks));
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

// InferenceX' labels of pools that are apart are not always what its recipes start (github SemiAnalysisAI/InferenceX):
// - H200 under TensorRT-LLM, until its pull request 919 of March 2026 ("TP/EP/DP-attn values now match actual recipe
//   files"): the pool for prompts of 8192 tokens is tensor parallel, that for 1024 tokens has data parallel attention.
//   (B200's share the width of experts, which is not modelled beside data parallel attention; which two rows of GB200's
//   are meant cannot be told.)
// - Kimi K2.5 under vLLM on GB200 (srt-slurm-recipes/kimik2.5/vllm/gb200-fp4): attention of prompts is data parallel
//   (dep4), that of answers over more than four ranks too (dep8, dep16; four are tep4).
constexpr std::string_view kLabelsMended = "2026-03-20";
void mend_labels(const TableRow& row, RankLayout& prompts, RankLayout& answers) {
  const auto to_tensor = [](RankLayout& layout) { layout.tp *= std::exchange(layout.dp, 1); };
  const auto to_data = [](RankLayout& layout) { layout.dp *= std::exchange(layout.tp, 1); };
  const std::string day = after(row["silicon_data_source"], "measured=");
  if (row["backend"] == "trtllm" && row["system"] == "h200_sxm" && !day.empty() && day < kLabelsMended) {
    if (row["isl"] == "8192") to_tensor(prompts);
    if (row["isl"] == "1024") to_data(prompts);
  }
  if (row["backend"] == "vllm" && row["system"].starts_with("gb200") && row["model_path"].ends_with("Kimi-K2.5")) {
    to_data(prompts);
    if (answers.ranks() > 4) to_data(answers);
  }
}

// No script has a flag for data parallel attention; what is labelled so has the times of tp 2 with ep 2, to 1 %.
void mend_label(const TableRow& row, RankLayout& layout) {
  if (!is_fp8_minimax(row)) return;
  if (is_early(row)) layout.ep *= std::exchange(layout.expert_tp, 1);
  if (layout.dp > 1) layout.dp = 1, layout.ep = layout.tp;
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

// Why a row is not in the clean subset that the data's README names, or cannot be read; empty if it is and can be.
std::string unclean(const TableRow& row) {
  const double ttft = row.number("silicon_ttft_ms");
  if (!(ttft > 0) || !(row.number("silicon_tpot_ms") > 0)) return "no figures";
  if (row["mode"] == "agg" && row.number("tp_size") > 8) return "tp above 8: tp x ep artefacts";
  if (ttft >= 10e3) return "TTFT of 10 s and more";
  if (row["mode"] == "agg") return "";
  return row["prefill_num_workers"].empty() ? "disaggregated, number of workers not said" : "";
}

// Dynamo's front end (NVIDIA's, in Rust) stands before all pools that are apart (github SemiAnalysisAI/InferenceX,
// benchmarks/multi_node/srt-slurm-recipes: "frontend: type: dynamo", whatever the engine) and before AIConfigurator's
// own runs (src/aiconfigurator/eval/service.py). What first tokens take beyond the engine's steps, client and server
// together, was chosen on AIConfigurator's own runs of Llama 3.1 8B under TensorRT-LLM. It turns prompts into tokens on
// several threads, so that none waits for another's: 128 prompts of 2000 tokens at a time under vLLM have their first
// token after 88 ms.
const Seconds kDynamoFrontEnd = milliseconds(80);
// Dynamo hands tokens over from the engine's Python one at a time (its pull request 10609, "streaming overhead"): of a
// request in a step, together with vLLM's own 12.7 us. Chosen on Llama 3.1 8B in fp8 under vLLM 0.12 on H200.
const Seconds kDynamoPerSequence = microseconds(29);
void set_behind_dynamo(DeploymentOptions& d) {
  d.host_receive = kDynamoFrontEnd;
  d.host_per_prompt_token = seconds(0);
}

// How far answers' lengths lie apart in AIConfigurator's own runs, chosen on the same. Its clients ask for equal ones
// (src/aiconfigurator/eval/benchmarks/genai_perf_runner.py, --output-tokens-stddev 0), which in a simulation march in
// lockstep for ever, prompts waiting for each other; its first tokens show that they did not. The spread stands for
// whatever set them apart.
constexpr double kOwnSpread = 0.3;

// Rows do not say whether DeepSeek's own next-token layers proposed tokens. InferenceX' images do: TensorRT-LLM ran
// 1.2.0rc6.post2 without them and 1.2.0rc6.post3 with them (its pull request 1489); 1.1.0rc2.post2 ran with them from
// 14 January 2026 on (412, of two days before, which brought them).
bool proposes_tokens(const TableRow& row) {
  const std::string& source = row["silicon_data_source"];
  // Qwen3.5 in fp8 under SGLang: with them in v0.5.9-cu130 (its pull request 898, three tokens a step), without them in
  // v0.5.9-cu130-amd64 (918).
  if (row["backend"] == "sglang" && row["mode"] == "agg" && row["model_path"].find("Qwen3.5") != std::string::npos)
    return source.ends_with("sglang:v0.5.9-cu130") ||
           (row["system"] == "b200_sxm" && row["tp_size"] == "4" && row["moe_tp_size"] == "4" &&
            row["gemm_quant_mode"].starts_with("fp8"));
  if (row["backend"] != "trtllm" || !of_inference_max(row) || source.find("release:") == std::string::npos)
    return false;
  if (source.find("1.2.0rc6.post3") != std::string::npos) return true;
  return source.find("1.1.0rc2.post2") != std::string::npos && after(source, "measured=") >= "2026-01-14";
}

// What was run.
std::string key_of(const TableRow& row) {
  std::string key = std::to_string(concurrency_of(row)) + (proposes_tokens(row) ? " with drafts" : "");
  for (const SourceColumn& column : kColumns)
    if (!column.name.starts_with("silicon_")) key += "|" + row[std::string(column.name)];
  return key;
}

// What was measured where and how, whatever model it is filed under: InferenceX' runs of DeepSeek-R1 are in the sample
// as DeepSeek-V3's too, to the last digit.
std::string run_of(const TableRow& row) {
  std::string key = row["silicon_ttft_ms"] + "|" + row["silicon_tpot_ms"] + "|" + std::to_string(concurrency_of(row));
  for (const char* column : {"backend", "system", "mode", "isl", "osl"}) key += "|" + row[column];
  return key;
}

// Three tokens a step, one where attention's ranks are data parallel (benchmarks/dsr1_*_trt_mtp.sh). NVIDIA publishes
// 2.16 times the speed with three on a B200 node (TensorRT-LLM's blog on DeepSeek R1's MTP): with these, 2.6 tokens a
// step that takes a fifth longer. A draft is one layer of 61 and the head. Qwen3.5's, of one layer of 60, are taken to
// be accepted as often: nobody publishes how often they are.
constexpr double kMtpAcceptance = 0.72, kMtpDraftCost = 0.04;
void propose_tokens(DeploymentOptions& d, bool attention_dp) {
  d.speculation = {attention_dp ? 1 : 3, kMtpAcceptance};
  d.draft_cost = kMtpDraftCost;
}

// DeepSeek under TensorRT-LLM (dsr1_*_trt*.sh): a step holds the answers and one prompt. From the middle of January
// 2026 on, with release 1.2.0rc6, scripts without drafts ask for 8192 tokens at least.
void set_deepseek_trtllm(DeploymentOptions& d, const TableRow& row) {
  const bool hopper = d.gpu.architecture == Architecture::hopper, apart = size_of(row, "attention_dp_size") > 1;
  d.max_sequences = row.count("batch_size");
  if (proposes_tokens(row)) propose_tokens(d, apart);
  const Count a_step = d.max_sequences * (1 + d.speculation.draft) + row.count("isl");
  d.max_tokens = (a_step + 127) / 64 * 64;
  const bool newer = row["silicon_data_source"].find("1.2.0rc6") != std::string::npos;
  if (newer && !hopper && d.speculation.draft == 0) d.max_tokens = std::max<Count>(d.max_tokens, 8192);
  d.memory_fraction = hopper ? 0.75 : 0.8;
}

// SGLang on Blackwell reads new requests every 30 steps, every 10 below sixteen requests; every 30 always with
// Qwen3.5's four bits (qwen3.5_fp4_b200.sh), every 10 always with DeepSeek's eight on four cards (dsr1_fp8_b200.sh,
// where 32 run at most).
void set_sglang_as_inferencex(DeploymentOptions& d, const TableRow& row) {
  const bool blackwell = d.gpu.architecture == Architecture::blackwell, qwen = d.model.name.starts_with("Qwen");
  const bool four_bits = row["precision"] == "fp4";
  const bool four_cards = !qwen && row.count("tp_size") == 4 && row["precision"] == "fp8";
  d.memory_fraction = four_cards ? 0.95 : 0.82;
  d.chunk = d.max_tokens = four_cards ? 8192 : (blackwell ? !qwen && four_bits : qwen) ? 16384 : 32768;
  if (four_cards) d.max_sequences = 32;
  const bool rare = four_cards ? false : (qwen && four_bits) || row.count("batch_size") >= 16;
  if (blackwell) d.receive_steps = rare ? 30 : 10;
  // GLM 5's scripts have --enable-flashinfer-allreduce-fusion; nvfp4's nightly images pull requests 19889 and 21019.
  const bool april = row["silicon_data_source"].find("nightly-dev-202604") != std::string::npos;
  if ((blackwell && row["model_path"].ends_with("GLM-5")) || (qwen && april)) d.engine.fused_sums = true;
  d.engine.merged_scans = qwen && april;
  d.cold_start = kInferencexColdStart;
  if (!proposes_tokens(row)) return;
  propose_tokens(d, false);
  d.max_sequences = std::max<Count>(128, row.count("batch_size"));  // qwen3.5_fp8_b200_mtp.sh
}

// As its scripts launch the engines (github SemiAnalysisAI/InferenceX, benchmarks/70b_*.sh, late 2025, dsr1_*.sh and
// single_node/qwen3.5_*.sh, 2026): no prefix cache, ten requests for each in flight, --random-range-ratio 0.8.
void set_as_inferencex(DeploymentOptions& d, const TableRow& row, EngineKind engine) {
  d.reuse = false;
  d.memory_fraction = 0.9;
  if (engine == EngineKind::vllm) {
    const bool b200 = row["system"] == "b200_sxm";  // whose scripts ask for fuse_allreduce_rms
    d.max_tokens = 8192, d.max_sequences = b200 ? 512 : row.count("batch_size");
    d.engine.fused_sums = b200 || after(row["silicon_data_source"], "vllm-openai:v0.") >= "17";
  } else if (engine == EngineKind::trtllm) {
    d.max_tokens = 16384;
    const bool waits = d.model.name == "Llama-3.1-70B" && row["isl"] == "1024" && row["osl"] == "1024";
    if (waits && row.count("tp_size") < 8) d.wait_steps = 20, d.wait_share = 0.9;
    d.balance_steps = 60;  // attention_dp_config
    if (d.model.name.starts_with("DeepSeek")) set_deepseek_trtllm(d, row);
  } else {
    set_sglang_as_inferencex(d, row);
  }
}

// vLLM plans a step while the one before runs since 0.14 without being asked (its pull request 27614). Files of
// AIConfigurator's own runs are called by release: ".../vllm/0.12.0/...".
bool before_async(const std::string& source) {
  const auto minor = to_count(after(source, "/vllm/0.").substr(0, after(source, "/vllm/0.").find('.')));
  return minor && *minor < 14;
}

// As AIConfigurator's generator sets the engines up for its own runs (github ai-dynamo/aiconfigurator,
// src/aiconfigurator/generator: backends/trtllm.py, rule_plugin/benchmark/*.rule): as many sequences as the client has
// in flight, and in a step the answers, one prompt and 1500 tokens. SGLang mixes answers into the prompts' steps.
void set_as_aiconfigurator(DeploymentOptions& d, const TableRow& row, EngineKind engine) {
  const Count concurrency = row.count("batch_size"), prompt = row.count("isl");
  d.max_sequences = concurrency;
  set_behind_dynamo(d);
  // Its client reads answers in several processes, where InferenceX's has one event loop that tokens hold up.
  d.host_per_streaming = seconds(0);
  if (engine == EngineKind::trtllm) {
    d.max_tokens = concurrency + prompt + 1500;
    d.reuse = false;
  } else if (engine == EngineKind::vllm) {
    d.overlapped = !before_async(row["silicon_data_source"]);
    d.host_per_sequence = kDynamoPerSequence;
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
  set_behind_dynamo(d);
  one.prefill = d;
  // kimik2.5/vllm/gb200-fp4: all2all-backend flashinfer_nvlink_one_sided, which is TensorRT-LLM's; SGLang's recipes use
  // DeepEP. fuse_allreduce_rms; enforce-eager for prompts alone.
  const bool vllm = d.engine.kind == EngineKind::vllm;
  if (vllm) d.engine.fused_sums = one.prefill->engine.fused_sums = true;
  d.engine.transport = one.prefill->engine.transport = vllm ? ExpertTransport::one_sided : ExpertTransport::deepep;
  one.prefill->eager = d.engine.kind == EngineKind::vllm;
  d.replicas = size_of(row, "decode_num_workers"), one.prefill->replicas = size_of(row, "prefill_num_workers");
  const auto spread = [&](DeploymentOptions& pool, const RankLayout& layout) {
    if (layout.ranks() > 1) pool.spread = RankSpread{layout, cluster};
  };
  spread(d, answers), spread(*one.prefill, prompts);
  const Count gpus = d.replicas * answers.ranks() + one.prefill->replicas * prompts.ranks();
  if (gpus <= cluster.gpus_per_node || !cluster.inter) one.link = {cluster.pair_bandwidth(), cluster.intra.latency};
  else one.link = {cluster.inter->bandwidth, cluster.inter->latency};
}

// A third of InferenceX' runs of SGLang on Blackwell compile kernels while their first requests wait for 70 s: in its
// own table (serving_inferencex.cpp) the same configuration has a mean first token of 7 s on one day and of 0.6 on
// another, with the same median. The sample has means alone. First tokens of a run are left out where they take longer
// than 1.5 s and what the first of ten waves adds at 12,000 tokens of prompts a second, half of what the slowest of
// those runs reach: engines that compile nothing do not.
bool waits_for_compiler(const TableRow& row, const DeploymentOptions& d, Count concurrency) {
  constexpr double kSettled = 1.5, kWaves = 10, kLeastRate = 12e3;  // s, tokens a second
  if (!of_inference_max(row) || row["backend"] != "sglang" || row["mode"] != "agg") return false;
  const double wave = static_cast<double>(concurrency) * row.number("isl");
  return d.gpu.architecture == Architecture::blackwell &&
         row.number("silicon_ttft_ms") * 1e-3 > kSettled + wave / 2 / kWaves / kLeastRate;
}

// AIConfigurator's client, aiperf, makes a hundred prompts (--num-dataset-entries, its default) and sends them over and
// over, before a run twice as many as are in flight, to warm the server up
// (src/aiconfigurator/generator/config/backend_templates/benchmark/bench_run.sh.j2): vLLM finds those in its cache.
constexpr Count kOwnPrompts = 100;
const Seconds kAfterWarmUp = seconds(3600);  // when all of that has surely ended
Count warm_up(std::vector<Request>& requests, Count concurrency) {
  const Count first = std::min(kOwnPrompts, 2 * concurrency);
  Request asked = requests.front();
  asked.output = 1;
  for (Request& r : requests) r.arrival = kAfterWarmUp;
  requests.insert(requests.begin(), static_cast<std::size_t>(first), asked);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& r = requests[i];
    r.prefix = static_cast<Count>(i) % kOwnPrompts, r.prefix_tokens = r.input;
  }
  return first;
}

// InferenceX draws lengths between 0.8 and 1 of the nominal ones; AIConfigurator's prompts and answers are equal.
Result<std::vector<Request>> requests_of(const TableRow& row, Count concurrency) {
  const bool theirs = of_inference_max(row);
  const double mean = theirs ? 0.9 : 1, spread = 1 / 0.9 - 1;
  const auto length = [&](const char* column, double apart) {
    return LengthDistribution{LengthDistribution::Kind::uniform,
                              std::max<Count>(1, std::llround(mean * row.number(column))), apart};
  };
  WorkloadOptions w;
  w.requests = 10 * concurrency;
  w.input = length("isl", theirs ? spread : 0), w.output = length("osl", theirs ? spread : kOwnSpread);
  return generate(w);
}

// What a point runs.
struct PointAsked {
  ModelSpec model;
  EngineKind engine;
  Precision precision;
  const Cluster* cluster;
  Count concurrency;
};
Result<PointAsked> point_asked(const TableRow& row) {
  auto on = served_on(kSiliconSource, row, "backend");
  if (!on) return std::move(on).error();
  if (!on->model.decoder) return left_out_row("a model that generates nothing: " + on->model.name);
  auto precision = precision_of(row, on->model);
  if (!precision) return unknown_name("format", row["gemm_quant_mode"] + "/" + row["moe_quant_mode"]);
  const Count concurrency = concurrency_of(row);
  if (concurrency < 1) return left_out_row("no concurrency");
  if (concurrency > 100'000) return left_out_row("more than 100000 requests at a time");
  return PointAsked{std::move(on->model), on->engine, *std::move(precision), on->cluster, concurrency};
}

Result<ServingCase> case_of(const TableRow& row) {
  auto asked = point_asked(row);
  if (!asked) return std::move(asked).error();
  const Cluster& cluster = *asked->cluster;
  const bool apart = row["mode"] != "agg";
  std::string why;
  auto layout = layout_of(row, apart ? "decode_" : "", asked->model, why);
  auto prompts = apart && layout ? layout_of(row, "prefill_", asked->model, why) : layout;
  if (!layout || !prompts) return left_out_row(why);
  if (apart) mend_labels(row, *prompts, *layout);
  else mend_label(row, *layout);

  ServingCase one;
  const std::string mode = apart ? "disagg" : layout->dp > 1 ? "agg, attention dp" : "agg";
  one.label = {"silicon", cluster.gpu.name,   row["backend"],  asked->model.name, mode,
               "",        asked->concurrency, row.count("isl")};
  one.label.detail = std::string(asked->precision.linear.name) + ", " + text_of(*layout) +
                     (apart ? " after " + text_of(*prompts) : "") + ", " + row["isl"] + "/" + row["osl"];
  if (proposes_tokens(row)) one.label.detail += ", drafts";
  one.label.measured_by = of_inference_max(row) ? "inferencex" : "aiconfigurator";
  one.deployment.model = std::move(asked->model);
  one.deployment.engine.kind = asked->engine;
  one.deployment.engine.precision = asked->precision;
  one.deployment.gpu = cluster.gpu;
  if (apart) set_apart(one, row, *prompts, *layout, cluster);
  else if (layout->ranks() > 1) one.deployment.spread = RankSpread{*layout, cluster};
  if (!apart && of_inference_max(row)) set_as_inferencex(one.deployment, row, asked->engine);
  else if (!apart) set_as_aiconfigurator(one.deployment, row, asked->engine);
  auto requests = requests_of(row, asked->concurrency);
  if (!requests) return std::move(requests).error();
  one.requests = *std::move(requests);
  if (!of_inference_max(row) && asked->engine == EngineKind::vllm)
    one.warm_up = warm_up(one.requests, asked->concurrency);
  one.concurrency = asked->concurrency;
  one.measured = {{"tpot", row.number("silicon_tpot_ms") * 1e-3}};
  if (!waits_for_compiler(row, one.deployment, one.concurrency))
    one.measured["ttft"] = row.number("silicon_ttft_ms") * 1e-3;
  if (!deploy(one.deployment, Method::roofline, nullptr) ||
      (one.prefill && !deploy(*one.prefill, Method::roofline, nullptr)))
    return left_out_row(mode + ": does not fit as said");
  return one;
}

// The clean runs that are filed under a model.
Result<std::set<std::string>> runs_of(const std::string& path, std::string_view model) {
  const auto table = read_table(kSiliconSource, path);
  if (!table) return table.error();
  std::set<std::string> runs;
  for (const TableRow& row : table->rows)
    if (row["model_path"].ends_with(model) && unclean(row).empty()) runs.insert(run_of(row));
  return runs;
}

}  // namespace
}  // namespace silicon

// Its cards ("h100_sxm") are aliases in data/gpus.
constexpr SourceMapping kSiliconSource{
    .name = "silicon",
    .from = "github.com/ai-dynamo/aiconfigurator, its sample of serving points; most by InferenceX",
    .licence = "Apache-2.0",
    .files = silicon::kFiles,
    .columns = silicon::kColumns,
    .engines = silicon::kEngines,
    .protocol = {"a closed loop of so many requests at a time; means over requests"}};

Result<ServingCases> silicon_cases(const std::string& path) {
  const auto named_r1 = silicon::runs_of(path, "DeepSeek-R1");
  if (!named_r1) return named_r1.error();
  std::set<std::string> seen;
  return read_cases<ServingCase>(kSiliconSource, path, [&](const TableRow& row) -> Result<ServingCase> {
    if (std::string why = silicon::unclean(row); !why.empty()) return left_out_row(std::move(why));
    if (!seen.insert(silicon::key_of(row)).second) return left_out_row("a copy");
    if (row["model_path"].ends_with("DeepSeek-V3") && named_r1->contains(silicon::run_of(row)))
      return left_out_row("a copy of DeepSeek-R1's row under another name");
    return silicon::case_of(row);
  });
}

}  // namespace tilecast
