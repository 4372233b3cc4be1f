// User-written graphs as JSON (docs/graphs.md): any network, given by its kernels.
#pragma once

#include <string>
#include <string_view>

#include "model/graph.h"
#include "tilecast/result.h"

namespace tilecast {

Result<Graph> graph_from_json(std::string_view text, const std::string& place);
Result<Graph> graph_from_json_file(const std::string& path);

// Reads back as the same graph.
std::string graph_to_json(const Graph& graph);

// Whether a JSON text is meant as a graph rather than as a model's configuration.
bool looks_like_graph_json(std::string_view text);

}  // namespace tilecast
