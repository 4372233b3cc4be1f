// AIConfigurator's serving points (aiconfigurator/e2e_silicon_sample.csv.gz): a model, an engine, equal or nearly equal
// lengths, a concurrency; mean TTFT and TPOT. Most come from InferenceX (SemiAnalysis), the rest from runs of the
// tool's own authors.
#include <set>

#include "gpu/registry.h"
#include "learn/endtoend_table.h"
#include "learn/serving.h"
#include "model/library.h"

namespace tilecast {
namespace {

const std::vector<std::string> kColumns = {"silicon_data_source",
                                           "backend",
                                           "backend_version",
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
                                           "silicon_ttft_ms",
                                           "silicon_tpot_ms"};

// The clean subset as the data's README has it: aggregated, tp up to 8, no attention DP, TTFT under ten seconds.
bool clean(const TableRow& row) {
  const std::string& dp = row["attention_dp_size"];
  return row["mode"] == "agg" && row.number("tp_size") >= 1 && row.number("tp_size") <= 8 &&
         (dp.empty() || row.number("attention_dp_size") <= 1) && row.number("silicon_ttft_ms") < 10000;
}

std::string gpu_name(const std::string& system) {
  if (system == "h100_sxm") return "H100-SXM";
  if (system == "h200_sxm") return "H200-SXM";
  if (system == "b200_sxm") return "B200";
  return system == "gb200" ? "GB200" : "";
}

// Names of number formats in the table, and ours.
std::string dtype_of(const TableRow& row) {
  const std::string& mode = row["gemm_quant_mode"];
  if (mode == "nvfp4" || mode == "fp8" || mode == "fp8_block") return mode;
  if (row["precision"] == "fp4") return "nvfp4";
  return row["precision"] == "fp8" ? "fp8" : "bf16";
}

bool of_inferencex(const TableRow& row) {
  return row["silicon_data_source"].find("aic-auto-gap-analysis") == std::string::npos;
}

// As its scripts launch the engines (github SemiAnalysisAI/InferenceX, benchmarks/70b_*.sh, 2025): no prefix cache, fp8
// keys and values with quantised weights, ten requests for each in flight, --random-range-ratio 0.8.
void set_as_inferencex(DeploymentOptions& d, const TableRow& row, EngineKind engine) {
  d.reuse = false;
  if (engine == EngineKind::vllm) {
    d.max_tokens = 8192;
    d.max_sequences = row["system"] == "h200_sxm" ? row.count("batch_size") : 512;
  } else if (engine == EngineKind::trtllm) {
    d.max_tokens = row.count("isl") + row.count("osl") + 200;  // its max_seq_len
    if (row.count("isl") == 1024 && row.count("osl") == 1024 && row.count("tp_size") < 8)
      d.wait_steps = 20, d.wait_share = 0.9;
  }
}

Result<ServingCase> case_of(const TableRow& row, EngineKind engine) {
  ServingCase one;
  auto model = find_model(row["model_path"]);
  if (!model) return std::move(model).error().at(row.place());
  const Count concurrency = row.count("batch_size");
  one.label = {"silicon",   gpu_name(row["system"]), std::string(name_of(engine)), model->name, "serve", dtype_of(row),
               concurrency, row.count("isl")};
  DeploymentOptions& d = one.deployment;
  d.model = *std::move(model);
  d.gpu = *find_gpu(one.label.gpu);
  d.engine.kind = engine;
  const bool inferencex = of_inferencex(row);
  auto precision = precision_from(one.label.detail, inferencex && one.label.detail != "bf16" ? "fp8" : "");
  if (!precision) return std::move(precision).error().at(row.place());
  d.engine.precision = *std::move(precision);
  if (inferencex) set_as_inferencex(d, row, engine);
  one.label.detail += inferencex ? ", InferenceX" : "";
  // InferenceX draws lengths between 0.8 and 1 of the nominal ones. The others' are not said; answers that end a little
  // apart keep requests from marching in step, as they do not over a long run.
  const double mean = inferencex ? 0.9 : 1, spread = inferencex ? 1 / 0.9 - 1 : 0.1;
  WorkloadOptions w;
  w.requests = 10 * concurrency;
  w.input = {LengthDistribution::Kind::uniform, std::max<Count>(1, std::llround(mean * row.number("isl"))), spread};
  w.output = {LengthDistribution::Kind::uniform, std::max<Count>(1, std::llround(mean * row.number("osl"))), spread};
  auto requests = generate(w);
  if (!requests) return std::move(requests).error().at(row.place());
  one.requests = *std::move(requests);
  one.concurrency = concurrency;
  one.measured = {{"ttft", row.number("silicon_ttft_ms") * 1e-3}, {"tpot", row.number("silicon_tpot_ms") * 1e-3}};
  return one;
}

}  // namespace

Result<ServingCases> silicon_cases(const std::string& path) {
  const auto rows = read_table(path, kColumns);
  if (!rows) return rows.error();
  ServingCases cases;
  std::set<std::string> seen;
  for (const TableRow& row : *rows) {
    if (!clean(row)) {
      ++cases.left_out["outside the clean subset"];
      continue;
    }
    std::string key;
    for (const std::string& column : kColumns)
      if (column != "silicon_data_source") key += row[column] + "|";
    std::string why;
    if (!seen.insert(key).second) why = "a copy";
    else if (row.number("tp_size") > 1 || row.number("pp_size") > 1 || row.number("moe_ep_size") > 1)
      why = "several GPUs";
    else if (gpu_name(row["system"]).empty()) why = "another GPU";
    else if (row.number("batch_size") < 1 || row.number("silicon_tpot_ms") <= 0) why = "figures missing";
    else if (!find_model(row["model_path"])) why = "unknown model";
    const auto engine = engine_from(row["backend"]);
    if (why.empty() && !engine) why = "another engine";
    if (!why.empty()) {
      ++cases.left_out[why];
      continue;
    }
    auto one = case_of(row, *engine);
    if (!one) return std::move(one).error();
    // Some say tp 1 of models that no single card holds: experts were spread.
    if (!deploy(one->deployment, Method::roofline, nullptr)) {
      ++cases.left_out["several GPUs"];
      continue;
    }
    cases.cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilecast
