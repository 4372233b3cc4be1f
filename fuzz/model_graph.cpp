#include <cmath>

#include "model/graph_file.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_model_graph(std::string_view input) {
  const auto graph = graph_from_json(input, "fuzz.json");
  if (!graph) return graph.error().problem.empty() ? "an error without a text" : "";
  if (parameters(*graph) < 0 || !std::isfinite(model_flops(*graph))) return "totals that are no numbers";
  const std::string text = graph_to_json(*graph);
  const auto again = graph_from_json(text, "again.json");
  if (!again) return "the graph's text is refused: " + again.error().line();
  return graph_to_json(*again) == text ? "" : "the graph's text does not read back";
}

}  // namespace tilecast
