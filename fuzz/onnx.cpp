#include "model/onnx.h"

#include <cmath>

#include "targets.h"

namespace tilecast {
namespace {

std::string problem_of(const Graph& graph) {
  if (!(model_flops(graph) >= 0) || !std::isfinite(model_flops(graph))) return "operations that are no number";
  if (parameters(graph) < 0) return "a negative number of parameters";
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) {
      const auto again = shape_from(family_of(op.shape), dims_of(op.shape));
      if (!again) return "a shape that is refused: " + again.error().line();
      for (const auto* list : {&op.inputs, &op.outputs})
        for (const int t : *list)
          if (t < 0 || t >= static_cast<int>(section.tensors.size())) return "a tensor that is not there";
    }
  return "";
}

}  // namespace

std::string fuzz_onnx(std::string_view input) {
  OnnxOptions options;
  options.dims = {{"batch", 2}, {"sequence", 8}};
  // The last byte chooses, so that both ways are taken without changing what the file says.
  options.allow_unknown = !input.empty() && (input.back() & 1) != 0;
  auto graph = graph_from_onnx_bytes(input, "fuzz.onnx", options);
  if (!graph && graph.error().field.starts_with("--dim")) graph = graph_from_onnx_bytes(input, "fuzz.onnx", {});
  if (!graph) return graph.error().problem.empty() ? "an error without a text" : "";
  return problem_of(*graph);
}

}  // namespace tilecast
