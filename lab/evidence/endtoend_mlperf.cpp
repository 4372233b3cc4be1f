// MLPerf Training v5.1: steps of Llama 3.1 8B and 405B and of LoRA on Llama 2 70B, as submitters ran them.
//
// What their configuration scripts say of all of them (mlcommons/training_results_v5.1, config_common*.sh of NVIDIA's
// implementations): NeMo over Megatron Core with Transformer Engine and cuDNN's attention, a distributed optimizer
// whose exchanges overlap, layers in CUDA graphs, products of tensor parallel ranks overlapped with their exchanges.
// LoRA has rank 16 beside all four projections of attention, which reads fp8; AMD's keeps attention in bf16.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "model/graph_file.h"
#include "model/library.h"
#include "parallel/framework.h"
#include "support/statistics.h"

namespace tilecast {
namespace mlperf {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"mlperf_training/v5.1.csv.gz"};
constexpr std::array<SourceColumn, 18> kColumns = {{{"submitter", "who ran it"},
                                                    {"system", "on which of their machines"},
                                                    {"gpu", "the card", ColumnRole::gpu},
                                                    {"num_gpus", "how many"},
                                                    {"gpus_per_node", "in a node"},
                                                    {"benchmark", "which model is trained how", ColumnRole::model},
                                                    {"global_batch", "sequences of a step"},
                                                    {"seq_len", "tokens of each"},
                                                    {"tp", "tensor parallel ranks"},
                                                    {"pp", "pipeline stages"},
                                                    {"cp", "context parallel ranks"},
                                                    {"dp", "data parallel ranks"},
                                                    {"virtual_pp", "chunks of a stage"},
                                                    {"micro_batch", "sequences a rank works on at a time"},
                                                    {"precision", "recipe of the products"},
                                                    {"run", "which of the repetitions"},
                                                    {"step_time_s", "median over evaluation blocks"},
                                                    {"status", "whether it reached its goal"}}};
constexpr std::array<NameRule, 4> kModels = {{{"llama31_8b", "Llama-3.1-8B"},
                                              {"llama31_405b", "Llama-3.1-405B"},
                                              {"llama2_70b_lora", "Llama-2-70B"},
                                              {"flux1", "Flux.1-schnell"}}};
constexpr std::array<NameRule, 2> kGpus = {{{"H100 SXM", "H100-SXM"}, {"H200 SXM", "H200-SXM"}}};

using PrecisionName = std::pair<std::string_view, TrainPrecision>;
// Where a run changes its recipe near its end, most blocks and so the median are of the first.
constexpr std::array<PrecisionName, 6> kPrecisions = {{{"fp8", TrainPrecision::fp8_delayed},
                                                       {"fp8 mxfp8", TrainPrecision::mxfp8},
                                                       {"fp8 delayed", TrainPrecision::fp8_delayed},
                                                       {"fp8 tensorwise", TrainPrecision::fp8_current},
                                                       {"nvfp4", TrainPrecision::nvfp4},
                                                       {"nvfp4 then fp8_ds", TrainPrecision::nvfp4}}};

constexpr int kMostRanks = 100'000;  // of an axis

Result<RankLayout> layout_of(const TableRow& row) {
  RankLayout l;
  const std::array<std::pair<const char*, int*>, 4> axes = {
      {{"tp", &l.tp}, {"pp", &l.pp}, {"cp", &l.cp}, {"dp", &l.dp}}};
  for (const auto& [name, field] : axes) {
    const Count value = row.count(name);
    if (value < 1 || value > kMostRanks) return left_out_row("the layout is not said");
    *field = static_cast<int>(value);
  }
  if (row.count("micro_batch") < 1) return left_out_row("the layout is not said");
  if (static_cast<Count>(l.tp) * l.pp * l.cp > kMostRanks || l.ranks() != row.count("num_gpus"))
    return left_out_row("the layout is not one of its GPUs");
  l.chunks = l.pp > 1 ? static_cast<int>(std::clamp<Count>(row.count("virtual_pp"), 1, kMostRanks)) : 1;
  l.sequence_parallel = l.tp > 1;
  l.sharding = Sharding::optimizer;
  return l;
}

Result<TrainPrecision> precision_of(const TableRow& row) {
  for (const auto& [name, precision] : kPrecisions)
    if (row["precision"] == name) return precision;
  if (row["precision"].empty()) return left_out_row("the precision is not said");
  return left_out_row("unknown precision " + in_quotes(row["precision"]));
}

// Choices are made on one half of submitters, machines and benchmarks; the other half judges them.
bool is_chosen_on(const TableRow& row) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : row["submitter"] + "/" + row["system"] + "/" + row["benchmark"])
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % 2 == 0;
}

// Flux is a graph of a fixed number of images per rank (tools/diffusion_graph); its rows state no sequence length.
constexpr const char* kFluxGraph = "examples/graphs/flux1-schnell-256.json";
constexpr Count kFluxImages = 32;
bool is_flux(const TableRow& row) { return row["benchmark"] == "flux1"; }

Result<Model> model_of(const TableRow& row) {
  if (is_flux(row)) {
    if (row.count("micro_batch") != kFluxImages || row.count("tp") != 1)
      return left_out_row("another share of Flux than the shipped graph's");
    auto graph = graph_from_json_file(kFluxGraph);
    if (!graph) return left_out_row("Flux's graph is not here: " + std::string(kFluxGraph));
    return Model(*std::move(graph));
  }
  const auto name = row.model();
  if (!name) return name.error();
  auto spec = find_model(*name);
  if (!spec) return std::move(spec).error();
  if (row["benchmark"] == "llama2_70b_lora") spec->adapters = AdapterSpec{16, AdapterTargets::attention};
  return Model(*std::move(spec));
}

void run_as_submitted(Run& run, RankLayout& layout, TrainPrecision precision, const Gpu& gpu, bool adapters) {
  run.engine.precision = *precision_from("bf16");
  run.engine.precision.mixed = MixedPrecision::master;
  apply(recipe_of(Framework::nemo), run, layout);
  // config_common_fp4.sh: the overlap is "not supported yet".
  if (precision == TrainPrecision::nvfp4) layout.tensor_overlap = TensorOverlap::backward;
  // Adapters read what was gathered and add to what is to be scattered: neither runs in pieces with its product.
  if (adapters) layout.tensor_overlap = TensorOverlap::inputs;
  const bool amd = gpu.vendor == Vendor::amd;
  if (amd) run.engine.attention = AttentionForm::ck;
  if (!amd && adapters) run.engine.precision.attention = *format_from("fp8_static");
  run.training.options.precision = precision;
}

Result<EndToEndCase> case_of(const TableRow& row, double step) {
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  auto layout = layout_of(row);
  if (!layout) return std::move(layout).error();
  const auto precision = precision_of(row);
  if (!precision) return precision.error();
  auto model = model_of(row);
  if (!model) return std::move(model).error();
  const Cluster* cluster = built_in_cluster_of(gpu->name);
  if (!cluster) return left_out_row("no cluster of " + gpu->name + " is known");
  const Count batch = row.count("global_batch"), length = row.count("seq_len"), micro = row.count("micro_batch");
  const auto* spec = std::get_if<ModelSpec>(&*model);
  if (batch < 1 || (spec && length < 1) || batch % (micro * layout->dp) != 0)
    return left_out_row("the batch is not a whole number of micro-batches");
  const bool adapters = spec && spec->adapters.has_value();
  Run run{*std::move(model), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  if (is_flux(row)) run.workload.requests.clear();
  run_as_submitted(run, *layout, *precision, *gpu, adapters);
  EndToEndCase one;
  one.label = {"mlperf", gpu->name, row["submitter"], row["benchmark"], "train", "", batch, length};
  one.label.detail = fmt::format("{} GPUs, {}, {}, {}", layout->ranks(), row["precision"], text_of(*layout),
                                 is_chosen_on(row) ? "chosen on" : "judged");
  one.label.measured_by = row["submitter"] + ", " + row["system"];
  one.figures.push_back({"step", step, {{0, 1, Part::step}}});
  one.spread = OverGpus{*layout, *cluster, micro};
  Cluster& own = one.spread->cluster;
  own.nodes = (layout->ranks() + own.gpus_per_node - 1) / own.gpus_per_node;
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

// Everything but the repetition and its time.
std::string key_of(const TableRow& row) {
  std::string key;
  for (const SourceColumn& column : kColumns)
    if (column.name != "run" && column.name != "step_time_s") key += row[std::string(column.name)] + ";";
  return key;
}

}  // namespace
}  // namespace mlperf

constexpr SourceMapping kMlperfTrainingSource{
    .name = "mlperf",
    .from = "github.com/mlcommons/training_results_v5.1, results and configuration scripts",
    .licence = "Apache-2.0",
    .files = mlperf::kFiles,
    .columns = mlperf::kColumns,
    .gpus = mlperf::kGpus,
    .models = mlperf::kModels,
    .protocol = {"seconds of a step, median over evaluation blocks and repetitions; tuned by the submitters"}};

Result<EndToEndCases> mlperf_cases(const std::string& path) {
  auto table = read_table(kMlperfTrainingSource, path);
  if (!table) return std::move(table).error();
  std::map<std::string, std::vector<const TableRow*>> runs;
  for (const TableRow& row : table->rows) runs[mlperf::key_of(row)].push_back(&row);
  EndToEndCases read;
  read.left_out = std::move(table->left_out);
  for (const auto& [key, rows] : runs) {
    std::vector<double> steps;
    for (const TableRow* row : rows) steps.push_back(row->number("step_time_s"));
    read.add(mlperf::case_of(*rows.front(), upper_median(steps)), static_cast<Count>(rows.size()));
  }
  return read;
}

}  // namespace tilecast
