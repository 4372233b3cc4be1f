// From steps with shapes to the operators of one section.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/onnx_rules.h"
#include "model/role_names.h"

namespace tilecast {
namespace {

TensorKind kind_of(int type) {
  if (type == onnx_type::kBool) return TensorKind::mask;
  return onnx_type::is_float(type) || type == 0 ? TensorKind::activation : TensorKind::index;
}

// Layers are named after their modules; what lies between them, after what it does: "layers.0.add".
std::string name_of_step(const OnnxStep& step, const Shape& shape) {
  const bool between = shape.is<Elementwise>() || shape.is<Copy>() || shape.is<GatedActivation>() || shape.is<Rope>() ||
                       shape.is<Softmax>() || shape.is<Reduction>();
  std::string op = step.op.substr(step.op.rfind('.') + 1);
  std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return between && !step.name.ends_with(op) ? step.name + "." + op : step.name;
}

}  // namespace

OnnxLower::OnnxLower(const OnnxNet& net) : net_(net), tensor_of_(net.values.size(), -1), stored_(net.values.size()) {
  section_.name = "graph";
  std::vector<bool> produced(net.values.size(), false);
  for (const OnnxStep& step : net.steps)
    for (const int id : step.outputs)
      if (id >= 0) produced[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < net.values.size(); ++i) {
    const OnnxValue& value = net.values[i];
    if (value.origin == static_cast<int>(i)) stored_[i].left = value.elements();
    if (value.known && !value.constant && !produced[i]) tensor_of_[i] = add_tensor(value);
  }
}

int OnnxLower::add_tensor(const OnnxValue& value) {
  section_.tensors.push_back({value.name, value.elements(), kind_of(value.type)});
  return static_cast<int>(section_.tensors.size()) - 1;
}

Status OnnxLower::add(Operator op) {
  if (auto checked = check(op.shape); !checked) return checked;
  const std::string name = op.name;
  for (int& times = names_[name]; names_.count(op.name) && times > 0; ++times)
    op.name = fmt::format("{}.{}", name, times + 1);
  names_[op.name] = 1;
  op.role = role_from_name(op.name, op.shape);
  if (class_of(op) == OpClass::head)
    for (const int t : op.outputs) section_.tensors[static_cast<std::size_t>(t)].kind = TensorKind::logits;
  section_.operators.push_back(std::move(op));
  return Ok{};
}

std::vector<int> OnnxLower::tensors(const OnnxStep& step) const {
  std::vector<int> list;
  for (const int id : step.inputs) {
    const int tensor = id >= 0 ? tensor_of(id) : -1;
    if (tensor >= 0 && std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
  }
  return list;
}

Status OnnxLower::emit(const OnnxStep& step, Shape shape, OwnedWeights weights) {
  Operator op;
  op.name = name_of_step(step, shape), op.shape = std::move(shape), op.weights = weights;
  op.inputs = tensors(step);
  for (const int id : step.outputs) {
    if (id < 0 || !net_.value(id).known) continue;
    tensor_of_[static_cast<std::size_t>(id)] = add_tensor(net_.value(id));
    op.outputs.push_back(tensor_of(id));
  }
  if (out(step).elements() == 0) return Ok{};  // nothing to do: an empty cache, for example
  return add(std::move(op));
}

Result<int> OnnxLower::emit_part(const OnnxStep& step, std::string_view part, Shape shape, std::vector<int> inputs,
                                 Count elements, OwnedWeights weights) {
  Operator op;
  op.name = part.empty() ? step.name : fmt::format("{}.{}", step.name, part);
  op.shape = std::move(shape), op.weights = weights, op.inputs = std::move(inputs);
  section_.tensors.push_back({op.name, elements});
  const int tensor = static_cast<int>(section_.tensors.size()) - 1;
  op.outputs = {tensor};
  if (elements == 0) return tensor;
  if (auto added = add(std::move(op)); !added) return std::move(added).error();
  return tensor;
}

void OnnxLower::view(const OnnxStep& step) {
  const int from = step.has(0) ? tensor_of(step.inputs.front()) : -1;
  for (const int id : step.outputs)
    if (id >= 0) tensor_of_[static_cast<std::size_t>(id)] = from;
}

Count OnnxLower::take(int value, bool matrix) {
  const OnnxValue& v = net_.value(value);
  if (v.origin < 0) return 0;
  Stored& stored = stored_[static_cast<std::size_t>(v.origin)];
  const Count taken = std::min(stored.left, v.elements());
  stored.left -= taken;
  if (taken > 0 && stored.owner < 0) {
    stored.owner = static_cast<int>(section_.operators.size());  // the one about to be emitted
    stored.matrix = matrix;
  }
  return taken;
}

OwnedWeights OnnxLower::own_matrix(int value) {
  const OnnxValue& v = net_.value(value);
  if (!v.constant || v.origin < 0) return {};
  OwnedWeights weights;
  weights.matrix = std::min(v.elements(), net_.value(v.origin).elements());
  weights.tied = take(value, true) == 0;
  return weights;
}

void OnnxLower::own_vector(OwnedWeights& weights, int value) {
  const OnnxValue& v = net_.value(value);
  if (!v.constant || v.origin < 0 || !onnx_type::is_float(v.type)) return;
  if (net_.value(v.origin).elements() > 1) weights.vector += take(value, false);
}

Section OnnxLower::finish() && {
  // What is used in part is stored whole: positions beyond the sequence, for one.
  for (const Stored& stored : stored_) {
    if (stored.left == 0 || stored.owner < 0 || stored.owner >= static_cast<int>(section_.operators.size())) continue;
    OwnedWeights& weights = section_.operators[static_cast<std::size_t>(stored.owner)].weights;
    (stored.matrix ? weights.matrix : weights.vector) += stored.left;
  }
  std::map<std::string, int> given;  // parts of a step may be called as values of the file are
  for (Tensor& tensor : section_.tensors)
    if (const int before = given[tensor.name]++; before > 0) tensor.name += fmt::format("#{}", before + 1);
  return std::move(section_);
}

}  // namespace tilecast
