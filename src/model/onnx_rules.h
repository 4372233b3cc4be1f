// What is known about ONNX's operators: for each, the shape of its result and the operators of a Graph it becomes.
//
// The rules of each kind have their own file (onnx_pointwise.cpp, onnx_views.cpp ...); onnx_rules.cpp collects them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/elementwise.h"
#include "model/graph.h"
#include "model/onnx_net.h"

namespace tilecast {

// One step while shapes are inferred.
class OnnxInfer {
 public:
  OnnxInfer(OnnxNet& net, const OnnxStep& step, Count opset) : step(step), opset(opset), net_(net) {}
  const OnnxStep& step;
  const Count opset;

  const OnnxNet& net() const { return net_; }
  const OnnxNode& node() const { return *step.node; }
  bool has(std::size_t i) const { return step.has(i); }
  const OnnxValue& in(std::size_t i) const { return net_.value(step.inputs[i]); }
  const std::vector<Count>& dims(std::size_t i) const { return in(i).dims; }
  // The whole numbers an input holds, if they do not depend on the data.
  Result<std::vector<Count>> integers(std::size_t i) const;
  // Those of an input or, in older operator sets, of an attribute; empty if neither is given.
  Result<std::vector<Count>> integers(std::size_t i, std::string_view attribute) const;
  // 0 <= axis < rank; negative ones count from the back.
  Result<std::size_t> axis(Count given, std::size_t rank) const;

  // Output i, ignored if it is absent; its type is input 0's unless given.
  Status set(std::size_t i, std::vector<Count> dims, int type = 0);
  void set_content(std::size_t i, std::vector<double> content);
  // It has to be computed in every pass, whatever its inputs.
  void make_variable(std::size_t i);
  void make_causal(std::size_t i);

 private:
  OnnxNet& net_;
};

// The section being written.
class OnnxLower {
 public:
  explicit OnnxLower(const OnnxNet& net);
  const OnnxNet& net() const { return net_; }

  const OnnxValue& in(const OnnxStep& step, std::size_t i) const { return net_.value(step.inputs[i]); }
  const OnnxValue& out(const OnnxStep& step, std::size_t i = 0) const { return net_.value(step.outputs[i]); }

  // One operator that reads all non-constant inputs of the step and writes its outputs.
  Status emit(const OnnxStep& step, Shape shape, OwnedWeights weights = {});
  // One of several operators of a step: reads `inputs` (tensors), writes a new tensor, which it returns.
  Result<int> emit_part(const OnnxStep& step, std::string_view part, Shape shape, std::vector<int> inputs,
                        Count elements, OwnedWeights weights = {});
  // The step's results are views of its first input.
  void view(const OnnxStep& step);
  // This value is that tensor.
  void bind(int value, int tensor) { tensor_of_[static_cast<std::size_t>(value)] = tensor; }
  // Tensors of the step's inputs that are not constants, each once.
  std::vector<int> tensors(const OnnxStep& step) const;
  int tensor_of(int value) const { return tensor_of_[static_cast<std::size_t>(value)]; }

  // Weights this operator multiplies by or looks up; `tied` when another has them already.
  OwnedWeights own_matrix(int value);
  // Adds a bias, scale or other parameter; constants computed from shapes and single numbers do not count.
  void own_vector(OwnedWeights& weights, int value);

  std::vector<Operator>& operators() { return section_.operators; }
  Section finish() &&;

 private:
  struct Stored {
    Count left = 0;  // elements nobody owns yet
    int owner = -1;  // the operator that owns a part, `matrix` or `vector` of it
    bool matrix = false;
  };
  Count take(int value, bool matrix);
  int add_tensor(const OnnxValue& value);
  Status add(Operator op);

  const OnnxNet& net_;
  Section section_;
  std::map<std::string, int> names_;  // how often each was given
  std::vector<int> tensor_of_;
  std::vector<Stored> stored_;
};

struct OnnxRule {
  std::string_view op;
  std::size_t least_inputs = 0;
  Status (*infer)(OnnxInfer&) = nullptr;                   // null: made by fusion, its shapes are known
  Status (*lower)(OnnxLower&, const OnnxStep&) = nullptr;  // null: a view
};

// Results keep an input's causal mark in the first three kinds.
std::span<const OnnxRule> onnx_pointwise_rules();
std::span<const OnnxRule> onnx_view_rules();
std::span<const OnnxRule> onnx_movement_rules();
std::span<const OnnxRule> onnx_reduction_rules();
std::span<const OnnxRule> onnx_product_rules();
std::span<const OnnxRule> onnx_convolution_rules();
std::span<const OnnxRule> onnx_attention_rules();

const OnnxRule* find_onnx_rule(std::string_view op);
// Whether a rule that was found is of this kind.
bool is_among(const OnnxRule* rule, std::span<const OnnxRule> rules);

// Of a rotary embedding: queries only, as heads without key heads.
Result<OnnxAttentionSizes> onnx_rotary_sizes(const OnnxStep& step, const OnnxNet& net);

// What several kinds need.
Result<std::vector<Count>> onnx_broadcast(const std::vector<Count>& a, const std::vector<Count>& b);
Status infer_same(OnnxInfer& n);
// Elements of `content` at offset + sum of index times stride, over all indices of `dims`: any slice or transpose.
std::vector<double> onnx_strided(const std::vector<double>& content, Count offset, const std::vector<Count>& dims,
                                 const std::vector<Count>& strides);
// Steps between neighbours along each axis of a contiguous tensor.
std::vector<Count> onnx_strides(const std::vector<Count>& dims);
// Every pass over `elements` results of these many inputs.
Elementwise pointwise_shape(PointwiseOp op, Count elements, Count inputs = 1);
// Inputs of this step's elementwise kernel: by the elements it reads for one it writes.
Count pointwise_inputs(const OnnxLower& lower, const OnnxStep& step);
double onnx_real(Count n);
// Elements of one entry of the axes before `from`.
Count onnx_elements(const std::vector<Count>& dims, std::size_t from);

}  // namespace tilecast
