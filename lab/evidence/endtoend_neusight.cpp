// NeuSight's measured models: fp32, PyTorch 2.1, Hugging Face's modules with eager attention; inference, and training
// steps without loss and optimizer.
#include <array>
#include <cmath>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/library.h"
#include "support/input.h"

namespace tilecast {
namespace neusight {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"neusight/e2e_labels.csv"};
constexpr std::array<SourceColumn, 24> kColumns = {{{"device", "the card, as PyTorch calls it", ColumnRole::gpu},
                                                    {"model", "a description beside the table, models/MODEL.json"},
                                                    {"mode", "inf or train"},
                                                    {"seqlen", "tokens of a sequence"},
                                                    {"batch", "sequences, of all GPUs together"},
                                                    {"option", "blank, fusion, or how four GPUs share the work"},
                                                    {"has_perop", "1 where the operators were timed alone as well"},
                                                    {"meas_e2e_ms", "measured, the whole"},
                                                    {"meas_fw_ms", "... forward"},
                                                    {"meas_bw_ms", "... backward"},
                                                    {"neusight_e2e_ms", "NeuSight's forecast"},
                                                    {"neusight_fw_ms", "... forward"},
                                                    {"neusight_bw_ms", "... backward"},
                                                    {"roofline_e2e_ms", "a roofline's"},
                                                    {"roofline_fw_ms", "... forward"},
                                                    {"roofline_bw_ms", "... backward"},
                                                    {"habitat_e2e_ms", "Habitat's"},
                                                    {"habitat_fw_ms", "... forward"},
                                                    {"habitat_bw_ms", "... backward"},
                                                    {"micro_e2e_ms", "Li et al.'s"},
                                                    {"micro_fw_ms", "... forward"},
                                                    {"micro_bw_ms", "... backward"},
                                                    {"sum_meas_ops_fw_ms", "of the operators' own times, forward"},
                                                    {"sum_meas_ops_bw_ms", "... backward"}}};

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
  else return unknown_name("option", option);
  return std::optional(std::move(over));
}

std::string engine_of(const std::string& option) {
  return option.empty() ? "pytorch" : option == "fusion" ? "compile" : "megatron";
}

Result<EndToEndCase> case_of(const TableRow& row, const std::string& folder) {
  const std::string &option = row["option"], &model = row["model"], &mode = row["mode"];
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  const std::string config = folder + "/models/" + model + ".json";
  if (model.find('/') != std::string::npos || !something_at(config)) return unknown_name("model", model);
  if (mode != "train" && mode != "inf") return unknown_name("mode", mode);
  auto run = run_of(config, row);
  if (!run) return std::move(run).error();
  auto spread = spread_of(option, *gpu, row.count("batch"));
  if (!spread) return std::move(spread).error();
  EndToEndCase one;
  one.label = {"neusight",
               gpu->name,
               engine_of(option),
               model,
               mode,
               std::string(gpu->vendor == Vendor::amd ? "AMD" : "NVIDIA"),
               row.count("batch"),
               row.count("seqlen")};
  one.runs.push_back(*std::move(run));
  one.runs.back().engine.torch = neusight_torch(*gpu);
  one.spread = *std::move(spread);
  // Megatron-LM's own layers, not Hugging Face's: bias and GELU are one kernel (its bias_gelu_fusion, on by default).
  one.runs.back().engine.fused_norms = one.spread.has_value();
  if (one.spread) one.label.mode += ", " + text_of(one.spread->layout);
  one.untimed_loss = !one.spread;  // it is computed between the two timed parts; its gradient belongs to the second
  one.figures.push_back({"total", row.number("meas_e2e_ms") * 1e-3, {{0, 1, Part::step}}, others_of(row, "e2e")});
  if (mode == "train" && !one.spread) {
    one.figures.push_back({"forward", row.number("meas_fw_ms") * 1e-3, {{0, 1, Part::forward}}, others_of(row, "fw")});
    one.figures.push_back(
        {"backward", row.number("meas_bw_ms") * 1e-3, {{0, 1, Part::backward}}, others_of(row, "bw")});
  }
  return one;
}

}  // namespace
}  // namespace neusight

constexpr SourceMapping kNeusightModelsSource{
    .name = "neusight",
    .from = "github.com/sitar-lab/NeuSight",
    .licence = "MIT",
    .files = neusight::kFiles,
    .columns = neusight::kColumns,
    .protocol = {
        "fp32 under PyTorch 2.1, Hugging Face's modules with eager attention; training without loss and optimizer",
        Runtime::eager}};

PyTorchVersion neusight_torch(const Gpu& gpu) {
  constexpr PyTorchVersion kCuda{2, 1, 0}, kRocm{2, 4, 1};
  return gpu.vendor == Vendor::amd ? kRocm : kCuda;
}

Result<EndToEndCases> neusight_cases(const std::string& folder) {
  return read_cases<EndToEndCase>(kNeusightModelsSource, folder + "/e2e_labels.csv",
                                  [&](const TableRow& row) { return neusight::case_of(row, folder); });
}

}  // namespace tilecast
