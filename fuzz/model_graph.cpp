#include <cmath>

#include "engine/run.h"
#include "model/graph_file.h"
#include "targets.h"

namespace tilecast {
namespace {

// Engines replace operators by what their code launches; a graph that was accepted is fit for each of them.
std::string wrong_with_engines(const Graph& graph) {
  for (const EngineKind kind : {EngineKind::pytorch, EngineKind::compile, EngineKind::vllm}) {
    Run run{graph, {}, {}, {}};
    run.engine.kind = kind;
    for (const Mode mode : {Mode::prefill, Mode::train}) {
      run.workload.mode = mode;
      run.workload.requests = {{1, 1, 0}};
      run.engine.precision.mixed = mode == Mode::train ? MixedPrecision::autocast : MixedPrecision::none;
      const auto prepared = prepare(run);
      if (!prepared && prepared.error().problem.empty()) return "an error without a text";
    }
  }
  return "";
}

}  // namespace

std::string fuzz_model_graph(std::string_view input) {
  const auto graph = graph_from_json(input, "fuzz.json");
  if (!graph) return graph.error().problem.empty() ? "an error without a text" : "";
  if (parameters(*graph) < 0 || !std::isfinite(model_flops(*graph))) return "totals that are no numbers";
  const std::string text = graph_to_json(*graph);
  const auto again = graph_from_json(text, "again.json");
  if (!again) return "the graph's text is refused: " + again.error().line();
  if (graph_to_json(*again) != text) return "the graph's text does not read back";
  return wrong_with_engines(*graph);
}

}  // namespace tilecast
