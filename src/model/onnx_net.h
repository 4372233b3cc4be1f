// An ONNX graph being turned into operators: names become numbers, dynamic dimensions get their values, nodes are in
// executable order. Shapes (model/onnx_rules.h) and fusion (model/onnx_fuse.h) work on this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/onnx.h"
#include "model/onnx_file.h"

namespace tilecast {

struct OnnxValue {
  std::string name;
  std::vector<Count> dims;
  int type = 0;
  bool known = false;     // `dims` holds
  bool constant = false;  // depends on no input of the graph: computed once, when the model is loaded
  std::optional<std::vector<double>> content;
  int origin = -1;        // the value whose stored weights these are, whole, a part or turned around; -1: no weights
  bool causal = false;    // made from a comparison of positions, as causal masks are
  bool output = false;    // of the graph
  bool declared = false;  // the file states `dims`

  Count elements() const;
  Count rank() const { return static_cast<Count>(dims.size()); }
};

// An attention's sizes, if its operator or fusion knows them.
struct OnnxAttentionSizes {
  Count batch = 0, q_len = 0, kv_len = 0;
  Count heads = 0, kv_heads = 0, head_dim = 0, v_dim = 0;
  Count window = 0;
  bool causal = false;
};

struct OnnxStep {
  std::string name;                  // "layers.0.mlp.up", not always unique
  std::string op;                    // "MatMul"; fusion puts other names here
  std::vector<int> inputs, outputs;  // values; -1: absent
  const OnnxNode* node = nullptr;    // whose attributes hold
  std::optional<OnnxAttentionSizes> attention;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] >= 0; }
};

struct OnnxNet {
  std::vector<OnnxValue> values;
  std::vector<OnnxStep> steps;

  const OnnxValue& value(int id) const { return values[static_cast<std::size_t>(id)]; }
  OnnxValue& value(int id) { return values[static_cast<std::size_t>(id)]; }
};

// `file` must outlive the net. Rejects values produced twice or never, cycles, and dimensions without a value.
Result<OnnxNet> make_onnx_net(const OnnxFile& file, const OnnxOptions& options);

// Product of dimensions, or empty if it exceeds what any kernel here takes (2^40).
std::optional<Count> onnx_elements(const std::vector<Count>& dims);
// Whether a stored square is one above its diagonal and another below it, as causal masks are: judged by two corners.
bool is_triangular(const OnnxTensor& tensor);
// "[8, 128, 768]"
std::string onnx_dims_text(const std::vector<Count>& dims);

}  // namespace tilecast
