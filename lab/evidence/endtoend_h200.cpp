// Our own measurements of whole models on an H200. The table has a line for every figure of a case.
#include <map>
#include <tuple>

#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"

namespace tilecast {
namespace {

// What tells one measured case from another, in the table's order of columns.
struct Identity {
  std::string model, mode, engine, ops, attention, dtype;
  Count checkpoint = 0, batch = 0, length = 0;
  auto tie() const { return std::tie(model, mode, engine, ops, attention, dtype, checkpoint, batch, length); }
  friend bool operator<(const Identity& a, const Identity& b) { return a.tie() < b.tie(); }
};
using Metrics = std::map<std::string, double>;

bool trains(const Identity& id) { return id.mode == "train" || id.mode == "forward_backward"; }

// `ops=fused`: our own kernels an operator, whoever launches them; `plain` and `hf`: PyTorch's operators one by one.
EngineKind engine_of(const Identity& id) {
  if (id.ops == "fused") return EngineKind::cudagraph;
  return id.engine == "compile" || id.engine == "compile_cudagraph" ? EngineKind::compile : EngineKind::pytorch;
}

// Fused operators that eager PyTorch launches, and PyTorch's own operators replayed in a graph.
std::optional<HostCost> host_of(const Identity& id) {
  if (id.ops == "fused" && id.engine == "eager") return host_cost(EngineKind::pytorch);
  if (id.ops != "fused" && id.engine.ends_with("cudagraph")) return host_cost(EngineKind::cudagraph);
  return std::nullopt;
}

Workload workload_of(const Identity& id) {
  Workload w;
  if (trains(id)) {
    w.mode = Mode::train;
    w.requests = {{id.batch, id.length, 0}};
  } else if (id.mode == "decode") {  // `length` counts the step's own token
    w.mode = Mode::decode;
    w.requests = {{id.batch, 1, id.length - 1}};
  } else {
    w.requests = {{id.batch, id.length, 0}};
    w.all_logits = id.mode == "forward";
    w.keep_cache = id.mode != "forward";
  }
  return w;
}

Result<Run> run_of(const Identity& id) {
  const bool autocast = id.dtype == "autocast_bf16";
  auto run = run_of(id.model, engine_of(id), autocast ? "bf16" : id.dtype, workload_of(id));
  if (!run) return run;
  if (autocast) run->engine.precision.mixed = MixedPrecision::autocast;
  run->engine.eager_attention = id.attention == "eager";
  // tools/models: modules of our own with a fixed cache; in training torch's norms and the fused optimizer.
  run->engine.static_cache = id.ops == "plain";
  run->engine.fused_norms = run->training.fused_optimizer = id.ops == "plain" && trains(id);
  if (id.checkpoint > 0) run->training.options.recompute = Recompute::full;
  run->training.update = id.mode != "forward_backward";
  run->training.fused_optimizer = true;
  run->engine.static_cache = true;
  run->engine.fused_norms = trains(id) && id.ops == "plain";  // torch.nn.functional's, one call an operator
  return run;
}

std::vector<Figure> figures_of(const Identity& id, const Metrics& metrics) {
  std::vector<Figure> list;
  const auto add = [&](const char* name, const char* metric, Part part, double unit) {
    if (const auto found = metrics.find(metric); found != metrics.end())
      list.push_back({name, found->second * unit, {{0, 1, part}}});
  };
  constexpr double kMilli = 1e-3;
  add("step", "latency_ms", Part::step, kMilli);
  add("forward", "forward_ms", Part::forward, kMilli);
  add("backward", "backward_ms", Part::backward, kMilli);
  add("optimizer", "optimizer_ms", Part::optimizer, kMilli);
  if (trains(id)) add("memory", "peak_bytes", Part::memory, 1);
  return list;
}

// Kernels that take less than this share of a step left the GPU waiting.
bool waits_for_host(const Metrics& metrics) {
  constexpr double kBusy = 0.85;
  const auto kernels = metrics.find("kernel_sum_ms"), step = metrics.find("latency_ms");
  return kernels != metrics.end() && step != metrics.end() && kernels->second < kBusy * step->second;
}

std::string detail_of(const Identity& id) {
  std::string text = id.dtype + ", " + id.ops;
  if (id.attention != "flash") text += ", " + id.attention + " attention";
  if (id.checkpoint > 0) text += ", recomputed";
  return text;
}

}  // namespace

Result<std::vector<EndToEndCase>> h200_cases(const std::string& path) {
  const auto rows = read_table(path, {"gpu", "model", "mode", "engine", "ops", "attention", "dtype", "checkpoint",
                                      "batch", "length", "metric", "value"});
  if (!rows) return rows.error();
  std::map<Identity, Metrics> measured;
  for (const TableRow& row : *rows) {
    const Identity id{row["model"],       row["mode"],  row["engine"],           row["ops"],
                      row["attention"],   row["dtype"], row.count("checkpoint"), row.count("batch"),
                      row.count("length")};
    // Cases measured twice (on two cards) count once, by their first row.
    measured[id].emplace(row["metric"], row.number("value"));
  }
  std::vector<EndToEndCase> cases;
  for (const auto& [id, metrics] : measured) {
    auto run = run_of(id);
    if (!run) return std::move(run).error().at(path);
    EndToEndCase one;
    one.label = {"h200", "H200-SXM", id.engine, id.model, id.mode, detail_of(id), id.batch, id.length};
    one.runs.push_back(*std::move(run));
    one.host = host_of(id);
    if (waits_for_host(metrics)) one.label.detail += ", host-bound";
    one.figures = figures_of(id, metrics);
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace tilecast
