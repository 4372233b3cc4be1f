// TensorRT-LLM's performance overview: static batches of gptSessionBenchmark, and the first token of one request.
#include <map>
#include <optional>

#include "cluster/registry.h"
#include "gpu/registry.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"

namespace tilecast {
namespace {

const std::map<std::string, std::string> kGpus = {
    {"H100", "H100-SXM"}, {"H200", "H200-SXM"}, {"A100", "A100-SXM-80GB"}, {"L40S", "L40S"}};
const std::map<std::string, std::string> kModels = {
    {"GPT-J 6B", "GPT-J-6B"},       {"LLaMA 7B", "Llama-2-7B"},        {"LLaMA 70B", "Llama-2-70B"},
    {"Falcon 180B", "Falcon-180B"}, {"Mistral 7B", "Mistral-7B-v0.1"}, {"Mixtral 8x7B", "Mixtral-8x7B"}};

struct Known {
  std::string gpu, model;
  bool fp8 = false;
};
std::optional<Known> known(const TableRow& row) {
  const auto gpu = kGpus.find(row["gpu"]);
  const auto model = kModels.find(row["model"]);
  const bool first = row["metric"] == "ttft", batch = row["notes"].starts_with("static batch");
  if (gpu == kGpus.end() || model == kModels.end() || (!first && !batch) || row.number("value") <= 0)
    return std::nullopt;
  return Known{gpu->second, model->second, row["precision"] == "FP8"};
}

// Weights and activations in fp8 with fixed scales, keys and values too (docs/source/performance.md of 0.5).
// gptSessionBenchmark is C++ around one engine: no server looks at each request between two steps, as in Argonne's
// runs, whose host cost the older era has.
Result<Run> run_of_row(const TableRow& row, const Known& what, Workload workload) {
  auto run = run_of(what.model, EngineKind::trtllm, what.fp8 ? "fp8_static" : "fp16", std::move(workload));
  if (!run) return std::move(run).error().at(row.place());
  if (what.fp8) run->engine.precision.cache = CacheType::fp8;
  return run;
}

Result<EndToEndCase> case_of(const TableRow& row, const Known& what) {
  EndToEndCase one;
  const Count batch = row.count("batch_or_concurrency"), prompt = row.count("isl"), answer = row.count("osl");
  const auto gpus = static_cast<int>(std::max<Count>(1, row.count("num_gpus")));
  one.label = {"trtllm", what.gpu, "trtllm", what.model, "generate", what.fp8 ? "fp8" : "fp16", batch, prompt};
  if (gpus > 1) {
    const Cluster* cluster = built_in_cluster_of(what.gpu);
    if (!cluster) return Error{row.place(), "gpu", "no cluster of " + what.gpu + " is built in", ""};
    one.spread = OverGpus{{}, *cluster, 0};
    one.spread->layout.tp = gpus;
    one.label.detail += ", " + text_of(one.spread->layout);
  }
  const bool first = row["metric"] == "ttft";
  const double rate = row.number("value") * (row["metric"] == "output_throughput_per_gpu" ? gpus : 1);
  Figure figure{first ? "first token" : "total",
                first ? row.number("value") * 1e-3 : static_cast<double>(batch * answer) / rate,
                {}};
  const auto add = [&](Workload workload, double weight) -> Status {
    auto run = run_of_row(row, what, std::move(workload));
    if (!run) return std::move(run).error();
    figure.terms.push_back({one.runs.size(), weight, Part::step});
    one.runs.push_back(*std::move(run));
    return Ok{};
  };
  if (auto added = add({.mode = Mode::prefill, .requests = {{batch, prompt, 0}}}, 1); !added)
    return std::move(added).error();
  if (!first && answer > 1)
    for (const ContextPoint& point : context_points(prompt, answer - 1))
      if (auto added = add({.mode = Mode::decode, .requests = {{batch, 1, point.context}}}, point.steps); !added)
        return std::move(added).error();
  one.figures.push_back(std::move(figure));
  return one;
}

}  // namespace

Result<std::vector<EndToEndCase>> trtllm_cases(const std::string& path) {
  const auto rows = read_table(path, {"gpu", "num_gpus", "model", "precision", "batch_or_concurrency", "isl", "osl",
                                      "metric", "value", "notes"});
  if (!rows) return rows.error();
  std::vector<EndToEndCase> cases;
  for (const TableRow& row : *rows) {
    const auto what = known(row);
    if (!what) continue;
    auto one = case_of(row, *what);
    if (!one) return std::move(one).error();
    cases.push_back(*std::move(one));
  }
  return cases;
}

}  // namespace tilecast
