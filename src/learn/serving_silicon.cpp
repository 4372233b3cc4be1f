// AIConfigurator's serving points: a closed loop of a number of requests at a time.
//
// Most were measured by InferenceMAX (github SemiAnalysisAI/InferenceMAX, benchmarks/*.sh, read as of late 2025): ten
// requests for each in flight, lengths drawn evenly between 0.8 of the nominal and the nominal, keys and values in fp8,
// no prefix cache, 8192 tokens a step under vLLM and 16384 under TensorRT-LLM. AIConfigurator's own ("gap analysis")
// have the nominal lengths.
#include <algorithm>
#include <map>
#include <set>

#include "cluster/registry.h"
#include "learn/endtoend_table.h"
#include "learn/serving.h"
#include "model/library.h"

namespace tilecast {
namespace {

const std::vector<std::string> kColumns = {
    "silicon_data_source", "backend", "model_path", "system", "precision", "mode", "isl", "osl", "gemm_quant_mode",
    "moe_quant_mode", "batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size",
    "silicon_ttft_ms", "silicon_tpot_ms"};

const std::map<std::string, std::string> kClusters = {{"h100_sxm", "H100-SXM"}, {"h200_sxm", "H200-SXM"},
                                                      {"b200_sxm", "B200"},     {"gb200", "GB200"},
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

std::optional<RankLayout> layout_of(const TableRow& row, const ModelSpec& model) {
  RankLayout layout;
  const auto size = [&](const char* column) { return std::max(1, static_cast<int>(row.number(column))); };
  layout.tp = size("tp_size"), layout.pp = size("pp_size");
  if (!has_experts(model)) return layout;
  layout.ep = size("moe_ep_size"), layout.expert_tp = size("moe_tp_size");
  if (layout.ep * layout.expert_tp != layout.tp) {
    if (layout.ep > 1) return std::nullopt;
    layout.expert_tp = layout.tp;
  }
  return layout;
}

std::string key_of(const TableRow& row) {
  std::string key;
  for (const std::string& column : kColumns)
    if (column != "silicon_data_source" && !column.starts_with("silicon_t")) key += row[column] + "|";
  return key;
}

bool is_clean(const TableRow& row) {
  return row["mode"] == "agg" && row.number("tp_size") <= 8 && row.number("attention_dp_size") <= 1 &&
         row.number("silicon_ttft_ms") < 10e3 && row.number("silicon_ttft_ms") > 0 && row.number("silicon_tpot_ms") > 0;
}

Result<std::optional<ServingCase>> case_of(const TableRow& row) {
  const std::string& path = row["model_path"];
  auto model = find_model(path.substr(path.find('/') + 1));
  if (!model) return std::move(model).error().at(row.place());
  const auto system = kClusters.find(row["system"]);
  const auto engine = engine_from(row["backend"]);
  if (!engine) return engine.error();
  const auto layout = layout_of(row, *model);
  if (system == kClusters.end() || is_sparse(*model) || !layout) return std::optional<ServingCase>();
  const auto precision = precision_of(row, *model);
  if (!precision) return std::optional<ServingCase>();
  const Cluster* cluster = built_in_cluster_of(system->second);
  if (!cluster) return std::optional<ServingCase>();

  ServingCase one;
  const Count concurrency = row.count("batch_size");
  one.label = {"silicon", cluster->gpu.name, row["backend"], model->name, "agg", "", concurrency, row.count("isl")};
  one.label.detail = std::string(precision->linear.name) + ", " + text_of(*layout) + ", " + row["isl"] + "/" + row["osl"];
  one.deployment.model = *std::move(model);
  one.deployment.engine.kind = *engine;
  one.deployment.engine.precision = *precision;
  one.deployment.gpu = cluster->gpu;
  if (layout->ranks() > 1) one.deployment.spread = RankSpread{*layout, *cluster};
  one.deployment.reuse = false;
  one.deployment.memory_fraction = 0.9;
  if (*engine == EngineKind::trtllm) one.deployment.max_tokens = 16384;
  if (*engine == EngineKind::vllm) one.deployment.max_tokens = 8192;
  const bool waits = one.deployment.model.name == "Llama-3.1-70B" && layout->tp < 8 && row["isl"] == row["osl"];
  if (*engine == EngineKind::trtllm && of_inference_max(row) && waits)
    one.deployment.wait_steps = 20, one.deployment.wait_tokens = 0.9;
  one.staggered = !of_inference_max(row);
  one.lengths = {row.number("isl"), row.number("osl"), of_inference_max(row) ? 0.8 : 1.0};
  one.concurrency = concurrency;

  one.requests = concurrency * 10;
  one.measured = {{"ttft", row.number("silicon_ttft_ms") / 1e3}, {"tpot", row.number("silicon_tpot_ms") / 1e3}};
  return std::optional<ServingCase>(std::move(one));
}

}  // namespace

Result<SiliconRows> silicon_cases(const std::string& path) {
  const auto rows = read_table(path, kColumns);
  if (!rows) return rows.error();
  SiliconRows read;
  std::set<std::string> seen;
  for (const TableRow& row : *rows) {
    ++read.rows;
    if (!is_clean(row)) {
      ++read.unclean;
      continue;
    }
    if (!seen.insert(key_of(row)).second) {
      ++read.repeated;
      continue;
    }
    auto one = case_of(row);
    if (!one) return std::move(one).error();
    if (*one) read.cases.push_back(**std::move(one));
    else ++read.declined;
  }
  return read;
}

}  // namespace tilecast
