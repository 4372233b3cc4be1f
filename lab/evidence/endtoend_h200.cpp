// Our own measurements of whole models on an H200. The table has one line per figure of a case.
#include <array>
#include <map>
#include <tuple>

#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "support/statistics.h"

namespace tilecast {
namespace h200_steps {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"h200_models.csv"};  // of data/measurements
constexpr std::array<SourceColumn, 13> kColumns = {
    {{"gpu", "the card", ColumnRole::gpu},
     {"model", "a bundled model", ColumnRole::model},
     {"mode", "what a step does"},
     {"engine", "who launches the operators"},
     {"ops", "fused: our kernels; plain: PyTorch's; hf: Hugging Face's modules"},
     {"attention", "flash or eager"},
     {"dtype", "of parameters and products", ColumnRole::format},
     {"checkpoint", "1 where activations are computed again"},
     {"batch", "sequences"},
     {"length", "tokens of each"},
     {"metric", "which figure of the step this is"},
     {"value", "... and how large"},
     {"card", "which one, in which host"}}};
// Weights in fp32, products in bf16.
constexpr std::array<NameRule, 1> kFormats = {{{"autocast_bf16", "bf16"}}};

// What tells one measured case from another, in the order of the table's columns.
struct Identity {
  std::string gpu, model, mode, engine, ops, attention, dtype;
  Count checkpoint = 0, batch = 0, length = 0;
  auto tie() const { return std::tie(gpu, model, mode, engine, ops, attention, dtype, checkpoint, batch, length); }
  friend bool operator<(const Identity& a, const Identity& b) { return a.tie() < b.tie(); }
};
using Metrics = std::map<std::string, double>;
struct MeasuredCase {
  Metrics metrics;
  std::string card;
  Count rows = 0;
};

bool trains(const Identity& id) { return id.mode == "train" || id.mode == "forward_backward"; }

// `ops=fused`: one kernel of our own per operator, whatever launches it; `plain` and `hf`: PyTorch's operators one by
// one.
EngineKind engine_of(const Identity& id) {
  if (id.ops == "fused") return EngineKind::cudagraph;
  return id.engine == "compile" || id.engine == "compile_cudagraph" ? EngineKind::compile : EngineKind::pytorch;
}

// Fused operators that eager PyTorch launches, and PyTorch's own operators replayed in a graph.
std::optional<HostCost> host_of(const Identity& id) {
  if (id.ops == "fused" && id.engine == "eager") {
    HostCost host = host_cost(EngineKind::pytorch);
    host.per_launch = host_cost(EngineKind::compile).per_launch;  // Triton's launches
    return host;
  }
  if (id.ops != "fused" && id.engine.ends_with("cudagraph")) return host_cost(EngineKind::cudagraph);
  return std::nullopt;
}

// Operators of modules of our own, one after the other.
std::optional<HostPace> pace_of(const Identity& id) {
  if (id.ops != "plain" || id.engine != "eager") return std::nullopt;
  return HostPace{HostCode::operators, host_cost(EngineKind::pytorch).per_launch};
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
  if (id.attention == "flash") run->engine.attention = AttentionForm::flash2;  // the runs allowed no other
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

// Where kernels take less than this share of a step, the GPU waited for the host.
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

Result<Identity> identity_of(const TableRow& row) {
  const auto gpu = row.gpu();
  if (!gpu) return gpu.error();
  if (const auto model = row.model(); !model) return model.error();
  if (const auto format = row.format(); !format) return format.error();
  return Identity{gpu->name,          row["model"],       row["mode"],  row["engine"],
                  row["ops"],         row["attention"],   row["dtype"], row.count("checkpoint"),
                  row.count("batch"), row.count("length")};
}

Result<EndToEndCase> case_of(const Identity& id, const Metrics& metrics) {
  auto run = run_of(id);
  if (!run) return std::move(run).error();
  EndToEndCase one;
  one.label = {"h200", id.gpu, id.engine, id.model, id.mode, detail_of(id), id.batch, id.length};
  one.runs.push_back(*std::move(run));
  one.host = host_of(id);
  one.pace = pace_of(id);
  if (waits_for_host(metrics)) one.label.detail += ", host-bound";
  one.figures = figures_of(id, metrics);
  return one;
}

// How fast a host was while a case was measured: the time it took to issue a step to an idle card, over the additions
// that a forecast counts for the step.
struct HostSign {
  std::string card, model;
  Seconds addition;
};
std::optional<HostSign> sign_of(const Identity& id, const MeasuredCase& measured, const EndToEndCase& one) {
  constexpr double kQueue = 1024;  // launches that wait for the card; the host waits with any more
  const auto figure = [&](const char* name) {
    const auto found = measured.metrics.find(name);
    return found == measured.metrics.end() ? 0.0 : found->second;
  };
  const double issue = figure("issue_ms"), kernels = figure("kernels");
  if (!(issue > 0) || !(kernels > 0) || (kernels > kQueue && !waits_for_host(measured.metrics))) return std::nullopt;
  const auto prepared = prepare(one.runs.front());
  if (!prepared) return std::nullopt;
  return HostSign{measured.card, id.model, milliseconds(issue / host_units(prepared->program, HostCode::operators))};
}

// The pace of a case's host by the others': of its model, which were measured right before and after, else of its card.
std::optional<Seconds> pace_by_others(const std::vector<std::optional<HostSign>>& signs, std::size_t at,
                                      const std::string& card, const std::string& model) {
  std::vector<double> of_model, of_card;
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (i == at || !signs[i] || signs[i]->card != card) continue;
    of_card.push_back(signs[i]->addition.base());
    if (signs[i]->model == model) of_model.push_back(signs[i]->addition.base());
  }
  if (of_card.empty()) return std::nullopt;
  return seconds(median(of_model.empty() ? std::move(of_card) : std::move(of_model)));
}

}  // namespace
}  // namespace h200_steps

constexpr SourceMapping kOwnModelsSource{.name = "h200",
                                         .from = "our own, tools/models",
                                         .licence = "as this repository",
                                         .files = h200_steps::kFiles,
                                         .columns = h200_steps::kColumns,
                                         .formats = h200_steps::kFormats,
                                         .protocol = {"random weights under PyTorch 2.11, the steady state of a step"}};

Result<EndToEndCases> h200_cases(const std::string& path) {
  auto table = read_table(kOwnModelsSource, path);
  if (!table) return std::move(table).error();
  EndToEndCases read;
  read.left_out = std::move(table->left_out);
  std::map<h200_steps::Identity, h200_steps::MeasuredCase> measured;
  for (const TableRow& row : table->rows) {
    const auto id = h200_steps::identity_of(row);
    if (!id) {
      leave_out(read.left_out, id.error().problem);
      continue;
    }
    // Cases measured twice (on two cards) count once, by their first row.
    h200_steps::MeasuredCase& one = measured[*id];
    one.metrics.emplace(row["metric"], row.number("value"));
    if (one.card.empty()) one.card = row["card"];
    ++one.rows;
  }
  std::vector<Result<EndToEndCase>> cases;
  std::vector<std::optional<h200_steps::HostSign>> signs;
  for (const auto& [id, one] : measured) {
    cases.push_back(h200_steps::case_of(id, one.metrics));
    const bool launches = cases.back() && cases.back()->pace;
    signs.push_back(launches ? h200_steps::sign_of(id, one, *cases.back()) : std::nullopt);
  }
  std::size_t at = 0;
  for (const auto& [id, one] : measured) {
    if (const auto pace = h200_steps::pace_by_others(signs, at, one.card, id.model);
        pace && cases[at] && cases[at]->pace)
      cases[at]->pace->addition = *pace;
    read.add(std::move(cases[at++]), one.rows);
  }
  return read;
}

}  // namespace tilecast
