// NeuSight's models operator by operator (e2e_perop): every node of a traced graph, timed alone, forward and backward.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/layernorm.h"
#include "kernel/softmax.h"
#include "lab/evidence/endtoend.h"
#include "lab/evidence/endtoend_table.h"
#include "model/backward.h"

namespace tilecast {
namespace torch_operators {
namespace {

constexpr std::array<std::string_view, 1> kFiles = {"neusight/e2e_perop/all_layers.csv.gz"};
constexpr std::array<SourceColumn, 19> kColumns = {{{"device", "the card, as PyTorch calls it", ColumnRole::gpu},
                                                    {"model", "the network that the node is of"},
                                                    {"mode", "inf or train"},
                                                    {"seqlen", "tokens of a sequence"},
                                                    {"batch", "sequences"},
                                                    {"opname", "NeuSight's kind of operator"},
                                                    {"in_shapes", "of the tensors it reads"},
                                                    {"out_shape", "of its result"},
                                                    {"meas_fw_ms", "measured, forward"},
                                                    {"meas_bw_ms", "... backward"},
                                                    {"fw_ops", "its dimensions"},
                                                    {"neusight_fw_ms", "NeuSight's forecast"},
                                                    {"neusight_bw_ms", "... backward"},
                                                    {"roofline_fw_ms", "a roofline's"},
                                                    {"roofline_bw_ms", "... backward"},
                                                    {"habitat_fw_ms", "Habitat's"},
                                                    {"habitat_bw_ms", "... backward"},
                                                    {"micro_fw_ms", "Li et al.'s"},
                                                    {"micro_bw_ms", "... backward"}}};
constexpr SourceMapping kSource{.name = "neusight-operators",
                                .from = "github.com/sitar-lab/NeuSight",
                                .licence = "MIT",
                                .files = kFiles,
                                .columns = kColumns,
                                .protocol = {"every node of a traced graph timed alone, eagerly", Runtime::eager}};

// The numbers of a Python list or tuple, in order.
std::vector<Count> numbers_in(std::string_view text) {
  std::vector<Count> numbers;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    Count value = 0;
    const auto end = std::from_chars(text.data() + i, text.data() + text.size(), value).ptr;
    numbers.push_back(value);
    i = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

Count elements_of(const std::vector<Count>& shape) {
  Count n = 1;
  for (const Count side : shape) n *= side;
  return n;
}

// "[[1, 20, 64], [1]]": how many of the tensors have this many elements.
Count inputs_of_size(std::string_view shapes, Count elements) {
  Count same = 0;
  for (std::size_t at = shapes.find('['); at != std::string_view::npos;) {
    const std::size_t open = shapes.find_first_of("[(", at + 1), close = shapes.find_first_of("])", at + 1);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    const std::size_t end = shapes.find_first_of("])", open);
    same += elements_of(numbers_in(shapes.substr(open, end - open))) == elements ? 1 : 0;
    at = end;
  }
  return same;
}

struct PointwiseName {
  std::string_view name;
  PointwiseOp op;
};
constexpr std::array<PointwiseName, 12> kPointwise = {{{"VECadd", PointwiseOp::add},
                                                       {"VECaddu", PointwiseOp::add},
                                                       {"VECmul", PointwiseOp::mul},
                                                       {"VECmulu", PointwiseOp::mul},
                                                       {"VECdiv", PointwiseOp::div},
                                                       {"VECdivu", PointwiseOp::div},
                                                       {"VECpow", PointwiseOp::pow},
                                                       {"VECpowu", PointwiseOp::pow},
                                                       {"VECtanh", PointwiseOp::tanh},
                                                       {"VECgelu", PointwiseOp::gelu},
                                                       {"VECrelu", PointwiseOp::relu},
                                                       {"where", PointwiseOp::add}}};

struct Node {
  std::string name;  // in tables
  Operator op;
  std::vector<Count> inputs;  // elements of each
  Count output = 0;
};

// NeuSight's dims: Linear (M, N, K) and BMM (B, M, N, K) with N the reduction; the rest (rows, columns).
std::optional<Node> node_of(const std::string& kind, const std::vector<Count>& d, Count inputs) {
  Node node;
  if (kind == "Linear" && d.size() == 3) {
    Gemm g;
    g.m = d[0], g.n = d[2], g.k = d[1];
    node = {"linear", {}, {d[0] * d[1]}, d[0] * d[2]};
    node.op.shape = g;
    node.op.weights = {.matrix = d[1] * d[2], .vector = d[2]};
  } else if (kind == "BMM" && d.size() == 4) {
    Bmm b;
    b.batch = d[0], b.m = d[1], b.n = d[3], b.k = d[2];
    node = {"batched product", {}, {d[0] * d[1] * d[2], d[0] * d[2] * d[3]}, d[0] * d[1] * d[3]};
    node.op.shape = b;
  } else if (d.size() == 2 && kind == "VECsoftmax") {
    Softmax s;
    s.rows = d[0], s.cols = d[1];
    node = {"softmax", {}, {d[0] * d[1]}, d[0] * d[1]};
    node.op.shape = s;
  } else if (d.size() == 2 && kind == "VECln") {
    LayerNorm n;
    n.rows = d[0], n.cols = d[1];
    node = {"layer norm", {}, {d[0] * d[1]}, d[0] * d[1]};
    node.op.shape = n;
  } else if (d.size() == 2) {
    const auto* known =
        std::find_if(kPointwise.begin(), kPointwise.end(), [&](const PointwiseName& p) { return p.name == kind; });
    if (known == kPointwise.end()) return std::nullopt;
    Elementwise e;
    e.elements = d[0] * d[1], e.op = known->op, e.inputs = std::max<Count>(1, inputs);
    node = {"pointwise", {}, std::vector<Count>(static_cast<std::size_t>(e.inputs), e.elements), e.elements};
    node.op.shape = e;
  } else {
    return std::nullopt;
  }
  return node;
}

// The node as a network of its own, with its gradients where it was trained.
Program program_of(const Node& node, bool train) {
  Section section;
  section.name = "node";
  Operator op = node.op;
  op.name = "node";
  for (const Count elements : node.inputs) {
    op.inputs.push_back(static_cast<int>(section.tensors.size()));
    section.tensors.push_back({"in", elements, TensorKind::activation});
  }
  op.outputs = {static_cast<int>(section.tensors.size())};
  section.tensors.push_back({"out", node.output, TensorKind::activation});
  section.operators.push_back(std::move(op));
  Graph graph;
  graph.sections.push_back(std::move(section));
  if (train) graph = with_backward(graph, {});
  EngineOptions engine;
  engine.kind = EngineKind::pytorch;
  engine.precision = *precision_from("fp32");
  return lower(graph, engine);
}

// Timed as NeuSight timed the node: eagerly, alone, its buffers warm. Several kernels share one pair of events.
Result<std::optional<double>> seconds_of(const Program& program, Pass pass, const Gpu& gpu, const EagerTiming& eager,
                                         const ModelSource& weights) {
  Program alone = program;
  alone.torch = neusight_torch(gpu);
  std::erase_if(alone.calls, [&](const KernelCall& call) { return program.sections[call.section].pass != pass; });
  if (alone.calls.empty()) return std::optional<double>();
  for (KernelCall& call : alone.calls) call.context.runtime = Runtime::eager, call.context.warmth = Warmth::warm;
  const auto step = forecast_step(alone, gpu, 1, Method::tilecast, &weights);
  if (!step) return step.error();
  return std::optional<double>((step->gpu - eager.gap * static_cast<double>(alone.calls.size() - 1)).base());
}

EndToEndResult result_of(const TableRow& row, const Node& node, const std::string& gpu, bool backward,
                         double forecast) {
  const std::string part = backward ? "bw" : "fw";
  EndToEndResult r;
  r.label = {"neusight-operators", gpu,       "pytorch",          row["model"],
             row["mode"],          node.name, row.count("batch"), row.count("seqlen")};
  r.quantity = backward ? "backward" : "forward";
  r.measured = row.number("meas_" + part + "_ms") * 1e-3;
  r.forecast = forecast;
  for (const char* method : {"neusight", "roofline", "habitat", "micro"})
    if (!row[std::string(method) + "_" + part + "_ms"].empty())
      r.others.emplace_back(method, row.number(std::string(method) + "_" + part + "_ms") * 1e-3);
  return r;
}

}  // namespace
}  // namespace torch_operators

Result<JudgedOperators> judge_neusight_operators(const std::string& folder, Vendor vendor,
                                                 const std::map<std::string, EagerTiming>& timings,
                                                 const ModelSource& weights) {
  auto table = read_table(torch_operators::kSource, folder + "/e2e_perop/all_layers.csv.gz");
  if (!table) return std::move(table).error();
  JudgedOperators judged;
  if (vendor == Vendor::nvidia) judged.left_out = std::move(table->left_out);
  for (const TableRow& row : table->rows) {
    const auto gpu = row.gpu();
    if (!gpu && vendor == Vendor::nvidia) leave_out(judged.left_out, gpu.error().problem);
    if (!gpu || gpu->vendor != vendor) continue;
    const std::vector<Count> dims =
        row["opname"] == "where"
            ? std::vector<Count>{1, torch_operators::elements_of(torch_operators::numbers_in(row["out_shape"]))}
            : torch_operators::numbers_in(row["fw_ops"]);
    const auto node = torch_operators::node_of(
        row["opname"], dims,
        torch_operators::inputs_of_size(row["in_shapes"],
                                        torch_operators::elements_of(torch_operators::numbers_in(row["out_shape"]))));
    if (!node) {
      leave_out(judged.left_out, "an operator Tilecast has no family for: " + in_quotes(row["opname"]));
      continue;
    }
    const Program program = torch_operators::program_of(*node, row["mode"] == "train");
    for (const bool backward : {false, true}) {
      if (row.number(backward ? "meas_bw_ms" : "meas_fw_ms") <= 0) continue;
      const auto forecast = torch_operators::seconds_of(program, backward ? Pass::backward : Pass::forward, *gpu,
                                                        timing_of(timings, *gpu), weights);
      if (!forecast) return forecast.error();
      if (*forecast) judged.results.push_back(torch_operators::result_of(row, *node, gpu->name, backward, **forecast));
    }
  }
  return judged;
}

}  // namespace tilecast
