// InferenceX (SemiAnalysis, first called InferenceMAX): a closed loop of `concurrency` requests, ten of them for each
// one in flight, all started at once, lengths even between 0.8 and 1 of the nominal ones, no prefix cache.
//
// Runs of one configuration on several days are one case. Figures are medians over requests: a third of the runs on
// B200 compile kernels while their first requests wait for over a minute, which means cannot be cleaned of; such runs
// have no throughput to judge.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cluster/registry.h"
#include "lab/evidence/endtoend_table.h"
#include "lab/evidence/serving.h"
#include "model/library.h"

namespace tilecast {
namespace inferencex {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"inferencemax/serving.csv.gz"};
constexpr std::array<SourceColumn, 20> kColumns = {
    {{"gpu", "the card", ColumnRole::gpu},
     {"model", "the model, as Hugging Face calls it", ColumnRole::model},
     {"precision", "fp4: mxfp4 of gpt-oss, nvfp4 of DeepSeek; fp8: DeepSeek's scales of blocks"},
     {"engine", "the engine"},
     {"engine_version", "... and its release"},
     {"speculative", "none, or what proposes tokens"},
     {"disaggregated", "1: pools of their own for prompts and answers"},
     {"dp_attention", "true: attention's ranks are data parallel"},
     {"isl", "most tokens of a prompt"},
     {"osl", "most tokens of an answer"},
     {"concurrency", "requests in flight"},
     {"tp", "tensor parallel ranks"},
     {"ep", "ranks that share the experts"},
     {"num_gpus", "how many cards"},
     {"ttft_median_ms", "median time to the first token"},
     {"ttft_p99_ms", "... and what one in a hundred exceeds"},
     {"tpot_median_ms", "median time of a further token"},
     {"e2el_median_ms", "median time of a whole request"},
     {"output_tokens_per_s_per_gpu", "tokens of answers a second"},
     {"settings", "flags of the server, in words"}}};
constexpr std::array<NameRule, 2> kEngines = {{{"vllm", "vllm"}, {"sglang", "sglang"}}};

// First tokens that take a minute wait for kernels to be compiled, not for the engine.
constexpr double kCompiling = 60e3;  // ms

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string unusable(const TableRow& row) {
  if (row["speculative"] != "none") return "speculative decoding";
  if (row["disaggregated"] != "0") return "pools apart";
  if (row["dp_attention"] != "false") return "data parallel attention";
  if (row.count("concurrency") < 1 || row.count("concurrency") > 100'000) return "no concurrency";
  if (row.count("isl") < 1 || row.count("osl") < 1) return "no lengths";
  if (!(row.number("ttft_median_ms") > 0) || !(row.number("tpot_median_ms") > 0)) return "no figures";
  if (row.count("tp") != row.count("num_gpus") || row.count("tp") < 1 || row.count("tp") > 8) return "layout not known";
  return "";
}

// gpt-oss: experts of four bits, all else of sixteen. DeepSeek-R1-FP4 keeps its latent attention in sixteen bits.
Result<Precision> precision_of(const TableRow& row, const ModelSpec& model) {
  const bool four = row["precision"] == "fp4", oss = model.name.starts_with("gpt-oss");
  if (!four && row["precision"] != "fp8") return unknown_name("format", row["precision"]);
  const bool small_cache = row["settings"].find("kv=fp8") != std::string::npos;
  auto p = precision_from(oss ? "w4a16_mxfp4" : four ? "nvfp4" : "fp8_block", small_cache ? "fp8" : "");
  if (p && four) p->linear = p->activation;
  return p;
}

// VLLM_MXFP4_USE_MARLIN=1, where vLLM of these releases would take OpenAI's Triton kernels on Hopper by itself; by the
// name that vLLM has for gpt-oss' experts in that kernel (mxfp4.py: GptOssMxfp4MoEMethod, MarlinExperts), which
// AIConfigurator measured on L40S and RTX PRO 6000.
constexpr std::string_view kMarlin = "vllm_gptossmxfp4moe_marlin_marlinexperts";

// As InferenceX's scripts start the engines (github SemiAnalysisAI/InferenceX, benchmarks/dsr1_*.sh and
// gptoss_fp4_h200.sh, December 2025 and January 2026; the table's column `settings`): SGLang on B200 with
// --scheduler-recv-interval 30, 10 below sixteen requests; nowhere else.
void set_engine(DeploymentOptions& d, const TableRow& row) {
  const Count concurrency = row.count("concurrency");
  const bool four = row["precision"] == "fp4", whole = row.count("tp") == 8;
  d.reuse = false;
  if (d.engine.kind == EngineKind::sglang) d.cold_start = kInferencexColdStart;
  if (d.engine.kind == EngineKind::vllm) {
    d.memory_fraction = 0.9, d.max_tokens = 8192, d.max_sequences = concurrency;
    d.most_captured = 2048, d.experts_kernel = KernelSource::named(kMarlin);
  } else if (d.gpu.vendor == Vendor::amd) {
    d.memory_fraction = 0.8, d.chunk = d.max_tokens = 196608, d.most_captured = 128;
  } else if (d.gpu.architecture == Architecture::blackwell) {
    d.memory_fraction = four ? 0.85 : whole ? 0.82 : 0.95;
    d.max_sequences = four ? 256 : whole ? 128 : 32;
    d.chunk = d.max_tokens = four ? 16384 : whole ? 32768 : 8192;
    d.receive_steps = concurrency >= 16 ? 30 : 10;
  } else {
    d.memory_fraction = 0.82, d.chunk = d.max_tokens = 32768;
    d.max_sequences = row["isl"] == row["osl"] ? 512 : 256;
  }
}

Result<std::vector<Request>> requests_of(const TableRow& row) {
  const auto length = [&](const char* column) {
    return LengthDistribution{LengthDistribution::Kind::uniform,
                              std::max<Count>(1, std::llround(0.9 * row.number(column))), 1 / 0.9 - 1};
  };
  WorkloadOptions w;
  w.requests = 10 * row.count("concurrency");
  w.input = length("isl"), w.output = length("osl");
  return generate(w);
}

Result<RankLayout> layout_of(const TableRow& row) {
  RankLayout layout;
  layout.tp = static_cast<int>(row.count("tp")), layout.ep = static_cast<int>(std::clamp<Count>(row.count("ep"), 1, 8));
  if (layout.ep > 1 && layout.ep != layout.tp) return left_out_row("ranks do not multiply out");
  layout.expert_tp = layout.ep > 1 ? 1 : layout.tp;
  return layout;
}

// The median of each figure over a configuration's runs; throughput of those that compiled nothing.
std::map<std::string, double> measured_in(const std::vector<const TableRow*>& runs) {
  std::vector<double> ttft, tpot, e2e, rate;
  for (const TableRow* run : runs) {
    ttft.push_back(run->number("ttft_median_ms") * 1e-3), tpot.push_back(run->number("tpot_median_ms") * 1e-3);
    e2e.push_back(run->number("e2el_median_ms") * 1e-3);
    const double tokens = run->number("output_tokens_per_s_per_gpu") * run->number("num_gpus");
    if (run->number("ttft_p99_ms") < kCompiling && tokens > 0) rate.push_back(tokens);
  }
  std::map<std::string, double> measured = {
      {"ttft median", median_of(ttft)}, {"tpot median", median_of(tpot)}, {"e2e median", median_of(e2e)}};
  if (!rate.empty()) measured["throughput"] = median_of(rate);
  return measured;
}

Result<ServingCase> case_of(const std::vector<const TableRow*>& runs) {
  const TableRow& row = *runs.front();
  auto on = served_on(kInferencexSource, row, "engine");
  if (!on) return std::move(on).error();
  const Cluster* cluster = on->cluster;
  auto precision = precision_of(row, on->model);
  if (!precision) return std::move(precision).error();
  const auto layout = layout_of(row);
  if (!layout) return layout.error();
  ServingCase one;
  one.label = {"inferencex", cluster->gpu.name,        row["engine"],   on->model.name, "serve",
               "",           row.count("concurrency"), row.count("isl")};
  one.label.detail = fmt::format("{}, {}, {}/{}, {}", row["precision"], text_of(*layout), row["isl"], row["osl"],
                                 row["engine_version"]);
  DeploymentOptions& d = one.deployment;
  d.model = std::move(on->model);
  d.gpu = cluster->gpu;
  d.engine.kind = on->engine;
  d.engine.precision = *std::move(precision);
  if (layout->ranks() > 1) d.spread = RankSpread{*layout, *cluster};
  set_engine(d, row);
  auto requests = requests_of(row);
  if (!requests) return std::move(requests).error();
  one.requests = *std::move(requests);
  one.concurrency = row.count("concurrency");
  one.measured = measured_in(runs);
  if (!deploy(d, Method::roofline, nullptr)) return left_out_row("does not fit as said");
  return one;
}

std::string configuration_of(const TableRow& row) {
  std::string key;
  for (const char* column : {"gpu", "model", "precision", "engine", "engine_version", "isl", "osl", "concurrency", "tp",
                             "ep", "num_gpus", "settings"})
    key += row[column] + "|";
  return key;
}

}  // namespace
}  // namespace inferencex

constexpr SourceMapping kInferencexSource{
    .name = "inferencex",
    .from =
        "github.com/SemiAnalysisAI/InferenceX, runs of December 2025 and January 2026, as gminneci/mantile keeps them",
    .licence = "the harness Apache-2.0; values only",
    .files = inferencex::kFiles,
    .columns = inferencex::kColumns,
    .engines = inferencex::kEngines,
    .protocol = {"a closed loop of so many requests at a time; medians over requests"}};

Result<ServingCases> inferencex_cases(const std::string& path) {
  const auto table = read_table(kInferencexSource, path);
  if (!table) return table.error();
  ServingCases read;
  read.left_out = table->left_out;
  std::map<std::string, std::vector<const TableRow*>> runs;
  for (const TableRow& row : table->rows) {
    if (std::string why = inferencex::unusable(row); !why.empty()) leave_out(read.left_out, why);
    else runs[inferencex::configuration_of(row)].push_back(&row);
  }
  for (const auto& [key, own] : runs) read.add(inferencex::case_of(own), static_cast<Count>(own.size()));
  return read;
}

}  // namespace tilecast
