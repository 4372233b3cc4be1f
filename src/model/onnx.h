// ONNX files as graphs of operators. Weights are never loaded; see docs/graphs.md for what is understood.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "tilecast/result.h"

namespace tilecast {

struct OnnxOptions {
  // Values of dynamic dimensions by name; one without a name is "<input>.<axis>", as "pixels.0".
  std::map<std::string, Count> dims;
  // An unknown operator becomes a Custom shape that moves its inputs and outputs, marked `unknown`.
  bool allow_unknown = false;
  // A BatchNormalization right after a convolution costs nothing, as in inference engines; off: a pointwise kernel.
  bool fold_batch_norm = true;
};

Result<Graph> graph_from_onnx(const std::string& path, const OnnxOptions& options);
// The same for a file's bytes; errors name `place`.
Result<Graph> graph_from_onnx_bytes(std::string_view bytes, const std::string& place, const OnnxOptions& options);

// Operators that are understood, by name.
std::vector<std::string> supported_onnx_operators();

}  // namespace tilecast
