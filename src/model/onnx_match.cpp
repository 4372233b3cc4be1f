#include "model/onnx_match.h"

#include <algorithm>

namespace tilecast {

OnnxMatch::OnnxMatch(const OnnxNet& net) : net_(net), producer_(net.values.size(), -1), readers_(net.values.size()) {
  for (std::size_t i = 0; i < net.steps.size(); ++i) {
    for (const int id : net.steps[i].outputs)
      if (id >= 0) producer_[static_cast<std::size_t>(id)] = static_cast<int>(i);
    for (const int id : net.steps[i].inputs)
      if (id >= 0) readers_[static_cast<std::size_t>(id)].push_back(i);
  }
}

const OnnxStep* OnnxMatch::producer(int id) const {
  const int at = id >= 0 ? producer_[static_cast<std::size_t>(id)] : -1;
  return at >= 0 ? &net_.steps[static_cast<std::size_t>(at)] : nullptr;
}

bool OnnxMatch::read_once(int id) const {
  return readers_[static_cast<std::size_t>(id)].size() == 1 && !value(id).output;
}

std::size_t OnnxMatch::first_reader(int id) const {
  const auto& readers = readers_[static_cast<std::size_t>(id)];
  return readers.empty() ? net_.steps.size() : readers.front();
}

std::optional<double> OnnxMatch::number(int id) const {
  if (id < 0 || !value(id).content || value(id).content->empty()) return std::nullopt;
  const std::vector<double>& content = *value(id).content;
  const bool same = std::all_of(content.begin(), content.end(), [&](double v) { return v == content.front(); });
  return same ? std::optional(content.front()) : std::nullopt;
}

int OnnxMatch::past_casts(int id) const {
  for (const OnnxStep* step = producer(id);
       step && (step->op == "Cast" || step->op == "Identity" || step->op == "Dropout" || step->op == "CastLike");
       step = producer(id))
    id = step->inputs[0];
  return id;
}

int OnnxMatch::past_scaling(int id) const {
  const OnnxStep* step = producer(id);
  if (!step || (step->op != "Mul" && step->op != "Div") || step->inputs.size() != 2) return id;
  for (const std::size_t side : {0u, 1u}) {
    const int other = step->inputs[1 - side];
    if (other < 0 || step->inputs[side] < 0) return id;
    if (value(other).constant && value(other).elements() == 1 && (step->op == "Mul" || side == 0))
      return step->inputs[side];
  }
  return id;
}

int OnnxMatch::past_layout(int id, bool repeats) const {
  while (true) {
    int before = past_casts(past_scaling(id));
    if (const OnnxStep* step = producer(before))
      if (step->op == "Transpose" || step->op == "Reshape" || step->op == "Unsqueeze" || step->op == "Squeeze" ||
          step->op == "Flatten" || (repeats && step->op == "Expand"))
        before = step->inputs[0];
    if (before == id) return id;
    id = before;
  }
}

void OnnxMatch::become(OnnxStep& step, const OnnxStep& other) const {
  step.name = other.name;
  step.op = other.op;
  step.inputs = other.inputs;
  step.node = other.node;
  step.attention = other.attention;
}

}  // namespace tilecast
