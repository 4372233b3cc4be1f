#include "model/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "kernel/custom.h"
#include "model/onnx_fuse.h"
#include "model/onnx_rules.h"
#include "model/role_names.h"
#include "support/mapped_file.h"
#include "support/text.h"

namespace tilecast {
namespace {

std::string where(const OnnxStep& step) { return fmt::format("node '{}' ({})", step.name, step.op); }

// A rule that a file may ask for by name; those made by fusion have no way to infer shapes.
const OnnxRule* rule_of(const OnnxStep& step) {
  const OnnxRule* rule = find_onnx_rule(step.op);
  return rule && rule->infer ? rule : nullptr;
}

Status refuse_unknown(const OnnxNet& net, const OnnxFile& file) {
  std::set<std::string> unknown;
  bool function = false;
  for (const OnnxStep& step : net.steps) {
    if (rule_of(step)) continue;
    unknown.insert(step.op);
    function =
        function || std::find(file.functions.begin(), file.functions.end(), step.node->op) != file.functions.end();
  }
  if (unknown.empty()) return Ok{};
  const std::string names = join({unknown.begin(), unknown.end()}, ", ");
  if (function)
    return error(fmt::format("calls functions it defines itself: {}", names),
                 "inline them with onnx.inliner, or set allow-unknown");
  return error(
      fmt::format("{} not supported: {}", unknown.size() == 1 ? "an operator is" : "operators are", names),
      "with allow-unknown they are priced as memory traffic; supported are " + join(supported_onnx_operators(), ", "));
}

// The result of an operator without a rule: the file has to give it.
Status take_declared(OnnxNet& net, const OnnxStep& step) {
  for (const int id : step.outputs) {
    if (id < 0) continue;
    OnnxValue& value = net.value(id);
    if (!value.declared)
      return error(fmt::format("is unknown, and the file does not say the shape of its result '{}'", value.name),
                   "run onnx.shape_inference on the file first");
    value.known = true;
  }
  return Ok{};
}

bool carries_causal(const OnnxRule* rule) {
  return is_among(rule, onnx_pointwise_rules()) || is_among(rule, onnx_view_rules()) ||
         is_among(rule, onnx_movement_rules());
}

Status check_inputs(const OnnxNet& net, const OnnxStep& step, std::size_t least) {
  for (std::size_t i = 0; i < std::max(least, step.inputs.size()); ++i) {
    if (i < least && !step.has(i)) return error(fmt::format("lacks input {}", i));
    if (step.has(i) && !net.value(step.inputs[i]).known)
      return error(fmt::format("reads '{}', whose shape is not known", net.value(step.inputs[i]).name));
  }
  return Ok{};
}

Status infer_step(OnnxNet& net, const OnnxStep& step, Count opset) {
  const OnnxRule* rule = rule_of(step);
  if (auto checked = check_inputs(net, step, rule ? rule->least_inputs : 0); !checked) return checked;
  bool constant = true, causal = false;
  int origin = -1;
  for (const int id : step.inputs) {
    if (id < 0) continue;
    constant = constant && net.value(id).constant;
    causal = causal || net.value(id).causal;
    if (origin < 0) origin = net.value(id).origin;
  }
  for (const int id : step.outputs)
    if (id >= 0) net.value(id).constant = constant && rule;
  OnnxInfer n(net, step, opset);
  if (auto done = rule ? rule->infer(n) : take_declared(net, step); !done) return done;
  const bool new_numbers =
      step.op == "Shape" || step.op == "Size" || step.op == "ConstantOfShape" || step.op == "Range";
  for (const int id : step.outputs) {
    if (id < 0) continue;
    OnnxValue& value = net.value(id);
    value.constant = value.constant || value.content.has_value();
    value.causal = value.causal || (causal && carries_causal(rule));
    if (value.constant && !new_numbers) value.origin = step.op == "Constant" ? id : origin;
  }
  return Ok{};
}

// Only its bytes are known.
Status lower_unknown(OnnxLower& lower, const OnnxStep& step) {
  constexpr Count kThreads = 256, kElementsPerThread = 4;  // as a streaming kernel would be launched
  Custom shape;
  for (const int id : step.inputs)
    if (id >= 0) {
      const OnnxValue& value = lower.net().value(id);
      shape.load_bytes += onnx_real(value.elements()) * onnx_type::bytes(value.type);
    }
  for (const int id : step.outputs)
    if (id >= 0) {
      const OnnxValue& value = lower.net().value(id);
      shape.store_bytes += onnx_real(value.elements()) * onnx_type::bytes(value.type);
    }
  const Count most = std::max<Count>(1, lower.out(step).elements());
  shape.ctas = ceil_div(most, kThreads * kElementsPerThread);
  shape.threads = kThreads;
  OwnedWeights weights;
  for (const int id : step.inputs)
    if (id >= 0) lower.own_vector(weights, id);
  const std::size_t before = lower.operators().size();
  if (auto emitted = lower.emit(step, shape, weights); !emitted) return emitted;
  if (lower.operators().size() > before) lower.operators().back().unknown = true;
  return Ok{};
}

Result<Section> lower_net(const OnnxNet& net) {
  OnnxLower lower(net);
  for (const OnnxStep& step : net.steps) {
    const OnnxRule* rule = find_onnx_rule(step.op);
    if (rule && !rule->lower) {
      lower.view(step);
      continue;
    }
    if (auto done = rule ? rule->lower(lower, step) : lower_unknown(lower, step); !done) {
      Error failure = std::move(done).error();
      if (!failure.field.empty()) failure.problem = failure.field + ": " + failure.problem;
      failure.field = where(step);
      return failure;
    }
  }
  return std::move(lower).finish();
}

Result<Graph> graph_of(const OnnxFile& file, const OnnxOptions& options) {
  auto net = make_onnx_net(file, options);
  if (!net) return std::move(net).error();
  if (!options.allow_unknown)
    if (auto known = refuse_unknown(*net, file); !known) return std::move(known).error();
  for (const OnnxStep& step : net->steps)
    if (auto inferred = infer_step(*net, step, file.opset); !inferred) {
      Error failure = std::move(inferred).error();
      failure.field = where(step);
      return failure;
    }
  fuse_onnx(*net, options);
  auto section = lower_net(*net);
  if (!section) return std::move(section).error();
  if (section->operators.empty()) return error("computes nothing that depends on its inputs");
  Graph graph;
  graph.name = file.name.empty() ? "onnx" : file.name;
  label_by_name(*section);
  graph.sections.push_back(*std::move(section));
  return graph;
}

}  // namespace

Result<Graph> graph_from_onnx_bytes(std::string_view bytes, const std::string& place, const OnnxOptions& options) {
  auto file = parse_onnx(bytes, place);
  if (!file) return std::move(file).error();
  auto graph = graph_of(*file, options);
  if (!graph) {
    Error problem = std::move(graph).error().at(place);
    if (problem.remedy.empty()) problem.remedy = "onnx.checker says more of such a file; export it anew";
    return problem;
  }
  return graph;
}

Result<Graph> graph_from_onnx(const std::string& path, const OnnxOptions& options) {
  auto file = MappedFile::open(path);
  if (!file) return std::move(file).error();
  auto graph = graph_from_onnx_bytes(file->bytes(), path, options);
  // Exporters call every graph the same ("torch_jit", "main_graph"); the file's name says more.
  if (graph) graph->name = std::filesystem::path(path).stem().string();
  return graph;
}

std::vector<std::string> supported_onnx_operators() {
  std::vector<std::string> names;
  for (const auto& rules : {onnx_pointwise_rules(), onnx_view_rules(), onnx_movement_rules(), onnx_reduction_rules(),
                            onnx_product_rules(), onnx_convolution_rules(), onnx_attention_rules()})
    for (const OnnxRule& rule : rules)
      if (rule.infer) names.emplace_back(rule.op);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tilecast
