// Writes a section operator by operator: each names what it reads and gets a new tensor for what it writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "model/graph.h"

namespace tilecast {

class SectionBuilder {
 public:
  SectionBuilder(std::string name, Count repeats, SectionPart part) {
    section_.name = std::move(name), section_.repeats = repeats, section_.part = part;
  }

  int tensor(std::string name, Count elements, TensorKind kind = TensorKind::activation) {
    section_.tensors.push_back({std::move(name), elements, kind});
    return static_cast<int>(section_.tensors.size()) - 1;
  }
  // Adds an operator and returns the tensor it writes, which takes the operator's name.
  int add(Role role, std::string name, Shape shape, std::vector<int> inputs, Count out_elements,
          OwnedWeights weights = {}, Spelling spelling = Spelling::plain) {
    const int out = tensor(name, out_elements);
    section_.operators.push_back({std::move(name), std::move(shape), std::move(inputs), {out}, weights, spelling});
    last().role = role, last().block = block_of(role);
    return out;
  }
  Count elements(int tensor) const { return section_.tensors[static_cast<std::size_t>(tensor)].elements; }
  void set_kind(int tensor, TensorKind kind) { section_.tensors[static_cast<std::size_t>(tensor)].kind = kind; }
  Operator& last() { return section_.operators.back(); }
  Section finish() && { return std::move(section_); }

  // A linear layer over `rows` rows.
  int linear(Role role, std::string name, int input, Count rows, Count in, Count out, bool bias) {
    Gemm shape;
    shape.m = rows, shape.n = out, shape.k = in;
    return add(role, std::move(name), shape, {input}, rows * out, {.matrix = in * out, .vector = bias ? out : 0});
  }
  int pointwise(Role role, std::string name, PointwiseOp op, std::vector<int> inputs, Count elements) {
    Elementwise shape;
    shape.elements = elements, shape.op = op, shape.inputs = static_cast<Count>(inputs.size());
    return add(role, std::move(name), shape, std::move(inputs), elements);
  }

 private:
  Section section_;
};

}  // namespace tilecast
