// Copies a section operator by operator, letting some be replaced by others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "model/graph.h"

namespace tilecast {

class SectionRewriter {
 public:
  explicit SectionRewriter(const Section& from) : out_(emptied(from)) {}

  void keep(const Operator& op) { out_.operators.push_back(op); }
  // What is added from here on is a piece of `whole`.
  void pieces_of(const Operator& whole) { role_ = part_of(whole.role); }
  // An operator that writes a new tensor.
  int add(std::string name, Shape shape, std::vector<int> inputs, Count elements) {
    out_.tensors.push_back({name, elements, TensorKind::activation});
    const int out = static_cast<int>(out_.tensors.size()) - 1;
    out_.operators.push_back({std::move(name), std::move(shape), std::move(inputs), {out}, {}});
    last().role = role_;
    return out;
  }
  // The last piece of `whole`: writes what it wrote and owns what it owned.
  void finish(const Operator& whole, const std::string& piece, Shape shape, std::vector<int> inputs) {
    out_.operators.push_back({whole.name + piece, std::move(shape), std::move(inputs), whole.outputs, whole.weights});
    last().role = part_of(whole.role);
  }
  int pointwise(std::string name, PointwiseOp op, std::vector<int> inputs, Count elements) {
    Elementwise shape;
    shape.elements = elements, shape.op = op, shape.inputs = static_cast<Count>(inputs.size());
    return add(std::move(name), shape, std::move(inputs), elements);
  }
  // Marks what the last operator wrote as fp32, whatever the precision of the run.
  void in_full_precision() {
    out_.tensors[static_cast<std::size_t>(out_.operators.back().outputs.front())].kind = TensorKind::statistic;
  }
  Operator& last() { return out_.operators.back(); }
  // The last operator's kernel walks its tensors this way; returns `tensor`, so that it can wrap the call that added
  // it.
  int walking(TorchWalk walk, int tensor) {
    last().walk = walk;
    return tensor;
  }
  void set_kind(int tensor, TensorKind kind) { out_.tensors[static_cast<std::size_t>(tensor)].kind = kind; }
  TensorKind kind(int tensor) const { return out_.tensors[static_cast<std::size_t>(tensor)].kind; }
  Count elements(int tensor) const { return out_.tensors[static_cast<std::size_t>(tensor)].elements; }
  Section take() && { return std::move(out_); }

 private:
  Section out_;
  Role role_ = Role::other;
};

inline Shape elementwise(PointwiseOp op, Count inputs, Count elements) {
  Elementwise shape;
  shape.elements = elements, shape.op = op, shape.inputs = inputs;
  return shape;
}
inline Shape copy_of(Count elements) {
  Copy shape;
  shape.elements = elements;
  return shape;
}

}  // namespace tilecast
