// The Ultra-Scale playbook's runs: three Llama-like models trained by nanotron on 8 to 512 H100s, every layout of
// tensor, pipeline and data parallel ranks that their authors tried, those that failed among them.
#include <fmt/format.h>

#include <array>
#include <map>

#include "cluster/fabric.h"
#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "parallel/framework.h"

namespace tilecast {
namespace ultrascale {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"ultrascale/training.csv.gz"};
constexpr std::array<SourceColumn, 21> kColumns = {
    {{"gpu", "the card", ColumnRole::gpu},
     {"nodes", "machines of eight"},
     {"model_label", "1B, 3B or 8B"},
     {"layers", "of the model"},
     {"hidden_size", "width of the stream"},
     {"num_heads", "of queries"},
     {"num_kv_heads", "of keys"},
     {"intermediate_size", "width of the feed-forward"},
     {"vocab_size", "of the model"},
     {"tied_embeddings", "1: embedding and head are one table"},
     {"seq_len", "tokens of a sequence"},
     {"micro_batch", "sequences that a rank works on at a time"},
     {"grad_accum", "micro-batches of a rank in a step"},
     {"dp", "data parallel ranks"},
     {"pp", "pipeline stages"},
     {"tp", "tensor parallel ranks"},
     {"zero_stage", "0 or 1"},
     {"status", "ok or crashed_or_oom"},
     {"tokens_per_s_per_gpu", "throughput"},
     {"batch_consistent", "0: micro_batch, grad_accum and dp do not make the global batch"},
     {"peak_memory_gb", "of a rank"}}};
constexpr std::array<NameRule, 1> kGpus = {{{"H100 SXM 80GB", "H100-SXM"}}};
constexpr int kMostRanks = 4096;
// Chosen on the runs of 1B and 3B: what an addition takes the host (runs of one node and micro-batch 1); what a
// collective waits for each rank where messages between stages cross nodes, and where the ranks themselves do.
constexpr double kAddition = 18, kLateBetweenStages = 210, kLateAcrossNodes = 50;  // us

ModelSpec spec_of(const TableRow& row) {
  AttentionSpec attention;
  attention.heads = row.count("num_heads"), attention.kv_heads = row.count("num_kv_heads");
  attention.head_dim = attention.rotary_dim = row.count("hidden_size") / std::max<Count>(1, attention.heads);
  StackSpec stack;
  stack.hidden = row.count("hidden_size");
  stack.layers = {{{attention, {}, MlpSpec{row.count("intermediate_size"), true, ActivationKind::silu, false}},
                   row.count("layers")}};
  ModelSpec spec;
  spec.name = "ultrascale-" + row["model_label"];
  spec.vocab = row.count("vocab_size"), spec.tied_head = row.count("tied_embeddings") == 1;
  spec.decoder = std::move(stack);
  return spec;
}

constexpr int kGpusOfNode = 8;
// As its own benchmark of collectives found it; nothing of these runs is in it.
constexpr std::string_view kFabric = "huggingface-h100";

Result<Cluster> cluster_of(const Gpu& gpu, Count nodes) {
  const Cluster* known = built_in_cluster_of(gpu.name);
  if (!known || known->gpus_per_node != kGpusOfNode) return left_out_row("no cluster of " + gpu.name + " is known");
  Cluster cluster = *known;
  cluster.nodes = static_cast<int>(nodes);
  return with_fabric(std::move(cluster), kFabric);
}

// Of several stages on 64 nodes, or with tensor parallel ranks on four nodes, every run stands still at each message
// between stages; so does a fifth of the others, which nothing in the table tells apart.
constexpr double kLateMessage = 267;  // ms
bool stands_still(const TableRow& row) {
  return row.count("pp") > 1 && (row.count("nodes") >= 64 || row.count("tp") >= 32);
}

Result<RankLayout> layout_of(const TableRow& row) {
  RankLayout l;
  for (const auto& [field, column] : {std::pair(&l.tp, "tp"), {&l.pp, "pp"}, {&l.dp, "dp"}}) {
    const Count ranks = row.count(column);
    if (ranks < 1 || ranks > kMostRanks) return left_out_row("tp, pp and dp must be one or more");
    *field = static_cast<int>(ranks);
  }
  return l;
}

Result<EndToEndCase> case_of(const TableRow& row) {
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  auto cluster = cluster_of(*gpu, row.count("nodes"));
  if (!cluster) return std::move(cluster).error();
  auto layout = layout_of(row);
  if (!layout) return std::move(layout).error();
  const bool ran = row["status"] == "ok";
  if (row.count("batch_consistent") != 1) return left_out_row("micro-batches do not make the global batch");
  const Count micro = row.count("micro_batch"), length = row.count("seq_len");
  const Count batch = micro * row.count("grad_accum") * layout->dp;
  auto precision = precision_from("bf16");
  if (!precision) return std::move(precision).error();
  Run run{spec_of(row), {.mode = Mode::train, .requests = {{batch, length, 0}}}, {}, {}};
  run.engine.precision = *std::move(precision);
  apply(recipe_of(Framework::nanotron), run, *layout);
  // Runs of one stage are older than those of several, which were repeated (scaling_benchmarks.py skips the former):
  // inputs that tensor parallel ranks gathered were kept for the gradients then.
  layout->keep_gathered = layout->pp == 1;
  run.engine.addition = microseconds(kAddition);
  layout->sharding = row.count("zero_stage") > 0 && layout->dp > 1 ? Sharding::optimizer : Sharding::none;

  EndToEndCase one;
  one.label = {"ultrascale", cluster->gpu.name, "nanotron", row["model_label"], "train", "", batch, length};
  one.label.detail = fmt::format("{} nodes, tp {}, pp {}, zero {}, micro-batch {}", row["nodes"], row["tp"], row["pp"],
                                 row["zero_stage"], row["micro_batch"]);
  if (ran) {
    Figure throughput{"throughput", row.number("tokens_per_s_per_gpu") * layout->ranks(), {{0, 1, Part::step}}};
    throughput.tokens = static_cast<double>(batch) * static_cast<double>(length);
    one.figures.push_back(std::move(throughput));
    one.figures.push_back({"memory", row.number("peak_memory_gb") * 1e9, {{0, 1, Part::first_reserved}}});
  } else {
    one.figures.push_back({"failed", 1, {{0, 1, Part::memory}}});  // what counts is whether the forecast fits
  }
  one.spread = OverGpus{*layout, *std::move(cluster), micro};
  one.spread->late = {microseconds(kLateBetweenStages), microseconds(kLateAcrossNodes), {}};
  if (stands_still(row)) one.spread->late.message = milliseconds(kLateMessage);
  one.must_fit = 0;
  one.runs.push_back(std::move(run));
  return one;
}

}  // namespace
}  // namespace ultrascale

constexpr SourceMapping kUltrascaleSource{
    .name = "ultrascale",
    .from = "huggingface.co/spaces/nanotron/ultrascale-playbook, interactive benchmarks",
    .licence = "Apache-2.0",
    .files = ultrascale::kFiles,
    .columns = ultrascale::kColumns,
    .gpus = ultrascale::kGpus,
    .protocol = {"tokens per second and GPU of the fourth step, and the peak of PyTorch's allocator"}};

Result<EndToEndCases> ultrascale_cases(const std::string& path) {
  return read_cases<EndToEndCase>(kUltrascaleSource, path, ultrascale::case_of);
}

}  // namespace tilecast
