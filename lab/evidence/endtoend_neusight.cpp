// NeuSight's measured models: fp32, PyTorch 2.1, Hugging Face's modules with eager attention; inference, and training
// steps without loss and optimizer.
#include <cmath>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"

namespace tilecast {
namespace {

// BERT is measured with a classifier of two classes for inference and both of its pre-training heads for training;
// everything else with its language-model head over all tokens (method/neusight.md, section 3).
void set_heads(ModelSpec& spec, bool train) {
  if (!spec.architecture.starts_with("Bert")) return;
  spec.pooler = true;
  spec.classes = 2;
  if (!train) spec.lm_head = spec.head_transform = false;
}

Result<Run> run_of(const std::string& config, const TableRow& row) {
  const bool train = row["mode"] == "train", fused = row["option"] == "fusion";
  Workload w;
  w.mode = train ? Mode::train : Mode::prefill;
  w.requests = {{row.count("batch"), row.count("seqlen"), 0}};
  w.all_logits = true;
  w.keep_cache = false;
  auto run = run_of(config, fused ? EngineKind::compile : EngineKind::pytorch, "fp32", std::move(w));
  if (!run) return run;
  set_heads(std::get<ModelSpec>(run->model), train);
  run->engine.eager_attention = true;
  run->engine.dropout = train;
  run->training.update = false;
  run->training.options.accumulate = true;
  return run;
}

// Other methods' figures of the same row: columns "<name>_<part>_ms", or sums of measured operators.
std::vector<std::pair<std::string, double>> others_of(const TableRow& row, const std::string& part) {
  std::vector<std::pair<std::string, double>> others;
  for (const char* method : {"neusight", "roofline", "habitat", "micro"})
    if (const double ms = row.number(std::string(method) + "_" + part + "_ms"); ms > 0)
      others.emplace_back(method, ms * 1e-3);
  const double forward = row.number("sum_meas_ops_fw_ms"), backward = row.number("sum_meas_ops_bw_ms");
  const double sum = part == "fw" ? forward : part == "bw" ? backward : forward + backward;
  if (row["has_perop"] == "1" && sum > 0) others.emplace_back("operators", sum * 1e-3);
  return others;
}

// Four GPUs of a node under Megatron: the batch is that of all, the pipeline takes it as one micro-batch (section 6).
// The 40 GB cards stand where the built-in cluster has their 80 GB siblings.
Result<std::optional<OverGpus>> spread_of(const std::string& option, const Gpu& gpu, Count batch) {
  if (option.empty() || option == "fusion") return std::optional<OverGpus>();
  auto cluster = find_cluster("hgx-a100-4");
  if (!cluster) return std::move(cluster).error();
  OverGpus over{{}, *std::move(cluster)};
  over.cluster.gpu = gpu;
  if (option == "dp4") over.layout.dp = 4;
  else if (option == "tp4") over.layout.tp = 4;
  else if (option == "pp4_1") over.layout.pp = 4, over.micro_batch = batch;
  else return error("is no option known here: '" + option + "'", "");
  return std::optional(std::move(over));
}

std::string engine_of(const std::string& option) {
  return option.empty() ? "pytorch" : option == "fusion" ? "compile" : "megatron";
}

}  // namespace

Result<std::vector<EndToEndCase>> neusight_cases(const std::string& folder) {
  std::vector<std::string> columns = {"device", "model", "mode", "seqlen", "batch", "option", "has_perop"};
  for (const char* method : {"meas", "neusight", "roofline", "habitat", "micro"})
    for (const char* part : {"e2e", "fw", "bw"}) columns.push_back(std::string(method) + "_" + part + "_ms");
  columns.insert(columns.end(), {"sum_meas_ops_fw_ms", "sum_meas_ops_bw_ms"});
  const auto rows = read_table(folder + "/e2e_labels.csv", columns);
  if (!rows) return rows.error();
  std::vector<EndToEndCase> cases;
  for (const TableRow& row : *rows) {
    const std::string& option = row["option"];
    const auto gpu = find_gpu(row["device"]);
    if (!gpu) return Error{row.place(), "device", "is no known GPU: '" + row["device"] + "'", ""};
    auto run = run_of(folder + "/models/" + row["model"] + ".json", row);
    if (!run) return std::move(run).error().at(row.place());
    auto spread = spread_of(option, *gpu, row.count("batch"));
    if (!spread) return Error{row.place(), "option", spread.error().problem, ""};
    EndToEndCase one;
    one.label = {"neusight",         gpu->name,          engine_of(option),
                 row["model"],       row["mode"],        std::string(gpu->vendor == Vendor::amd ? "AMD" : "NVIDIA"),
                 row.count("batch"), row.count("seqlen")};
    one.runs.push_back(*std::move(run));
    one.spread = *std::move(spread);
    // Megatron-LM's own layers, not Hugging Face's: bias and GELU are one kernel (its bias_gelu_fusion, on by default).
    one.runs.back().engine.fused_norms = one.spread.has_value();
    if (one.spread) one.label.mode += ", " + text_of(one.spread->layout);
    one.untimed_loss = !one.spread;  // it is computed between the two timed parts; its gradient belongs to the second
    one.figures.push_back({"total", row.number("meas_e2e_ms") * 1e-3, {{0, 1, Part::step}}, others_of(row, "e2e")});
    if (row["mode"] == "train" && !one.spread) {
      one.figures.push_back(
          {"forward", row.number("meas_fw_ms") * 1e-3, {{0, 1, Part::forward}}, others_of(row, "fw")});
      one.figures.push_back(
          {"backward", row.number("meas_bw_ms") * 1e-3, {{0, 1, Part::backward}}, others_of(row, "bw")});
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace tilecast
