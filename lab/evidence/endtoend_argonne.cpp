// Argonne's LLM-Inference-Bench: a static batch of equal prompts, each answered by as many tokens as it has.
#include <optional>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"

namespace tilecast {
namespace {

// Its A100 behaves as the 40 GB card (README of the data: throughput collapses where the cache outgrows that).
std::optional<std::string> gpu_of(const std::string& name) {
  if (name.find("A100") != std::string::npos) return "A100-SXM-40GB";
  if (name.find("H100") != std::string::npos) return "H100-SXM";
  return std::nullopt;
}
std::optional<EngineKind> engine_of(const std::string& name) {
  if (name == "vLLM") return EngineKind::vllm;
  if (name == "TensorRT-LLM") return EngineKind::trtllm;
  return std::nullopt;
}

// Engines of 2024 sent a step's inputs to every rank and waited for them all. The middle of what the A100's rows over
// two and four GPUs take beyond the forecast, both engines, batches of 1 to 64; the H100's are the judge.
const Seconds kRanksPerStep = milliseconds(0.8);

// Four cards a node, each joined to each (its A100 nodes are Polaris', NVLink without a switch).
std::optional<OverGpus> spread_of(const std::string& gpu, int gpus) {
  if (gpus == 1) return std::nullopt;
  OverGpus spread;
  spread.layout.tp = gpus;
  spread.per_step = kRanksPerStep;
  spread.cluster = *find_cluster(gpu.starts_with("A100") ? "HGX-A100-4" : "HGX-H100-4");
  spread.cluster.gpu = *find_gpu(gpu);
  return spread;
}

// The prompt's pass yields the first token; each other token is a decode step.
Result<EndToEndCase> case_of(const TableRow& row, const std::string& gpu, EngineKind engine) {
  EndToEndCase one;
  one.spread = spread_of(gpu, static_cast<int>(row.count("num_gpus")));
  const Count batch = row.count("batch_or_concurrency"), prompt = row.count("isl"), answer = row.count("osl");
  one.label = {"argonne", gpu, std::string(name_of(engine)), row["model"], "generate", "16-bit", batch, prompt};
  if (one.spread) one.label.detail += ", " + text_of(one.spread->layout);
  Figure total{"total", row.number("value"), {}};
  const auto add = [&](Workload workload, double weight) -> Status {
    auto run = run_of(row["model"], engine, "bf16", std::move(workload));
    if (!run) return std::move(run).error().at(row.place());
    run->engine.era = EngineEra::year_2024;
    total.terms.push_back({one.runs.size(), weight, Part::step});
    one.runs.push_back(*std::move(run));
    return Ok{};
  };
  if (auto added = add({.mode = Mode::prefill, .requests = {{batch, prompt, 0}}}, 1); !added)
    return std::move(added).error();
  if (answer > 1)
    for (const ContextPoint& point : context_points(prompt, answer - 1))
      if (auto added = add({.mode = Mode::decode, .requests = {{batch, 1, point.context}}}, point.steps); !added)
        return std::move(added).error();
  one.must_fit = one.runs.size() - 1;  // the longest context
  one.figures.push_back(std::move(total));
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> argonne_cases(const std::string& path) {
  const auto rows = read_table(
      path, {"gpu", "num_gpus", "model", "engine", "batch_or_concurrency", "isl", "osl", "metric", "value", "unit"});
  if (!rows) return rows.error();
  std::vector<EndToEndCase> cases;
  for (const TableRow& row : *rows) {
    const auto gpu = gpu_of(row["gpu"]);
    const auto engine = engine_of(row["engine"]);
    if (!gpu || !engine || row.count("num_gpus") < 1 || row["metric"] != "e2e_latency") continue;
    auto one = case_of(row, *gpu, *engine);
    if (!one) return std::move(one).error();
    cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilecast
