#include "model/onnx_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "kernel/fields.h"
#include "support/text.h"

namespace tilecast {
namespace {

// "/model/layers.0/mlp/up_proj/MatMul" -> "model.layers.0.mlp.up_proj"
std::string plain_name(const OnnxNode& node, std::size_t index) {
  std::string name = node.name;
  if (const auto slash = name.rfind('/'); slash != std::string::npos && slash > 0) {
    std::string last = name.substr(slash + 1);
    if (const auto under = last.rfind('_'); under != std::string::npos) last.resize(under);
    if (last == node.op || name.substr(slash + 1) == node.op) name.resize(slash);
  }
  if (!name.empty() && name.front() == '/') name.erase(0, 1);
  std::replace(name.begin(), name.end(), '/', '.');
  return name.empty() ? fmt::format("{}_{}", node.op.empty() ? "node" : node.op, index) : name;
}

std::string dim_key(const OnnxDeclared& input, std::size_t axis) {
  const std::string& name = (*input.dims)[axis].name;
  return name.empty() ? fmt::format("{}.{}", input.name, axis) : name;
}

// Names of the operators' domain that the standard and Microsoft share but define differently.
std::string op_of(const OnnxNode& node) {
  if (node.domain.empty() || node.domain == "ai.onnx") return node.op;
  if (node.domain == "com.microsoft") return node.op == "Attention" ? "com.microsoft.Attention" : node.op;
  return node.domain + "." + node.op;
}

class Builder {
 public:
  Builder(const OnnxFile& file, const OnnxOptions& options) : file_(file), options_(options) {}

  Result<OnnxNet> build() {
    using Stage = Status (Builder::*)();
    for (const Stage stage : {&Builder::add_initializers, &Builder::add_inputs, &Builder::add_nodes,
                              &Builder::declare_inner, &Builder::mark_outputs, &Builder::sort_steps})
      if (auto done = (this->*stage)(); !done) return std::move(done).error();
    return std::move(net_);
  }

 private:
  int add_value(const std::string& name) {
    OnnxValue value;
    value.name = name;
    net_.values.push_back(std::move(value));
    return static_cast<int>(net_.values.size()) - 1;
  }

  Status add_initializers() {
    for (const OnnxTensor& tensor : file_.initializers) {
      const bool negative = std::any_of(tensor.dims.begin(), tensor.dims.end(), [](Count d) { return d < 0; });
      if (negative || !onnx_elements(tensor.dims))
        return field_error(fmt::format("initializer '{}'", tensor.name),
                           fmt::format("has impossible dimensions {}", onnx_dims_text(tensor.dims)));
      const int id = add_value(tensor.name);
      OnnxValue& value = net_.value(id);
      value.dims = tensor.dims, value.type = tensor.type, value.content = tensor.content;
      value.known = value.constant = true;
      value.origin = id;
      value.causal = is_triangular(tensor);
      if (!ids_.emplace(tensor.name, id).second)
        return field_error(fmt::format("initializer '{}'", tensor.name), "is given twice");
    }
    find_turned();
    return Ok{};
  }

  // Exporters store the transpose of a table once more for the head that shares it: the same weights, told by samples.
  void find_turned() {
    const auto& all = file_.initializers;
    std::map<std::pair<Count, Count>, std::vector<std::size_t>> by_dims;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<Count>& d = all[i].dims;
      if (d.size() != 2 || d[0] == d[1] || all[i].raw.empty()) continue;
      for (const std::size_t other : by_dims[{d[1], d[0]}])
        if (is_turned(all[i], all[other])) net_.values[i].origin = static_cast<int>(other);
      by_dims[{d[0], d[1]}].push_back(i);
    }
  }
  static bool is_turned(const OnnxTensor& a, const OnnxTensor& b) {
    constexpr Count kSamples = 64;
    const Count rows = a.dims[0], cols = a.dims[1];
    if (a.type != b.type || rows * cols < kSamples) return false;
    bool varied = false;
    std::optional<double> first;
    for (Count i = 0; i < kSamples; ++i) {
      // Steps that share no factor with most sizes spread the samples over both axes.
      const Count row = i * 7919 % rows, col = i * 104729 % cols;
      const auto x = a.element(row * cols + col), y = b.element(col * rows + row);
      if (!x || x != y) return false;
      if (first && *x != *first) varied = true;
      first = x;
    }
    return varied;
  }

  Status add_inputs() {
    std::set<std::string> keys;
    std::vector<std::string> missing;
    for (const OnnxDeclared& input : file_.inputs) {
      if (ids_.count(input.name)) continue;  // old files declare their initializers too
      if (!input.dims)
        return field_error(fmt::format("input '{}'", input.name), "has no tensor shape", "export it with one");
      const int id = add_value(input.name);
      ids_.emplace(input.name, id);
      OnnxValue& value = net_.value(id);
      value.type = input.type, value.known = true;
      for (std::size_t axis = 0; axis < input.dims->size(); ++axis) {
        Count size = (*input.dims)[axis].value;
        if (size < 0) {
          const std::string key = dim_key(input, axis);
          if (const auto given = options_.dims.find(key); given != options_.dims.end()) size = given->second;
          else if (keys.count(key) == 0) missing.push_back(key);
          keys.insert(key);
        }
        value.dims.push_back(size);
      }
    }
    if (!missing.empty()) return unset(missing);
    if (auto used = refuse_unused(keys); !used) return used;
    for (const OnnxValue& value : net_.values)
      if (value.known && !value.constant && !onnx_elements(value.dims))
        return field_error(fmt::format("input '{}'", value.name),
                           fmt::format("has impossible dimensions {}", onnx_dims_text(value.dims)));
    return Ok{};
  }

  static Error unset(const std::vector<std::string>& missing) {
    return error(fmt::format("{} {} no value", missing.size() == 1 ? "dimension" : "dimensions",
                             join(missing, ", ") + (missing.size() == 1 ? " has" : " have")),
                 fmt::format("say what they are: dim {}=N", join(missing, "=N, dim ")));
  }
  Status refuse_unused(const std::set<std::string>& keys) const {
    for (const auto& [key, size] : options_.dims) {
      const std::vector<std::string> known(keys.begin(), keys.end());
      if (keys.count(key) == 0)
        return field_error(fmt::format("dim {}", key), "is not an open dimension of this model",
                           known.empty() ? "it has none" : suggestion(key, known, "it has " + join(known, ", ")));
      if (size < 0 || size > kMostDimension)
        return field_error(fmt::format("dim {}", key),
                           fmt::format("must lie between 0 and {}, not {}", kMostDimension, size));
    }
    return Ok{};
  }

  Status add_nodes() {
    for (std::size_t i = 0; i < file_.nodes.size(); ++i) {
      const OnnxNode& node = file_.nodes[i];
      OnnxStep step;
      step.node = &node;
      step.op = op_of(node);
      step.name = plain_name(node, i);
      for (const std::string& output : node.outputs) {
        if (output.empty()) {
          step.outputs.push_back(-1);
          continue;
        }
        const int id = add_value(output);
        if (!ids_.emplace(output, id).second)
          return field_error(fmt::format("node '{}' ({})", step.name, step.op),
                             fmt::format("produces '{}', which something else produces too", output));
        step.outputs.push_back(id);
      }
      if (step.outputs.empty() || step.outputs.front() < 0)
        return field_error(fmt::format("node '{}' ({})", step.name, step.op), "produces nothing");
      net_.steps.push_back(std::move(step));
    }
    for (OnnxStep& step : net_.steps)
      for (const std::string& input : step.node->inputs) {
        const auto found = ids_.find(input);
        if (!input.empty() && found == ids_.end())
          return field_error(fmt::format("node '{}' ({})", step.name, step.op),
                             fmt::format("reads '{}', which nothing produces", input));
        step.inputs.push_back(input.empty() ? -1 : found->second);
      }
    return Ok{};
  }

  // Shapes that the file states of inner values, for operators whose own rule is unknown.
  Status declare_inner() {
    for (const auto* list : {&file_.inner, &file_.outputs})
      for (const OnnxDeclared& declared : *list) {
        const auto found = ids_.find(declared.name);
        if (found == ids_.end() || !declared.dims || net_.value(found->second).known) continue;
        OnnxValue& value = net_.value(found->second);
        std::vector<Count> dims;
        for (const OnnxDim& dim : *declared.dims) {
          const auto given = options_.dims.find(dim.name);
          dims.push_back(dim.value >= 0 ? dim.value : given != options_.dims.end() ? given->second : -1);
        }
        value.type = declared.type;
        if (std::all_of(dims.begin(), dims.end(), [](Count d) { return d >= 0; }) && onnx_elements(dims))
          value.dims = std::move(dims), value.declared = true;
      }
    return Ok{};
  }

  Status mark_outputs() {
    for (const OnnxDeclared& output : file_.outputs) {
      const auto found = ids_.find(output.name);
      if (found == ids_.end()) return field_error(fmt::format("output '{}'", output.name), "is produced by nothing");
      net_.value(found->second).output = true;
    }
    return Ok{};
  }

  // The order of the file where it can run, else the nearest one that can.
  Status sort_steps() {
    std::vector<int> producer(net_.values.size(), -1), waits(net_.steps.size(), 0);
    for (std::size_t i = 0; i < net_.steps.size(); ++i)
      for (const int id : net_.steps[i].outputs)
        if (id >= 0) producer[static_cast<std::size_t>(id)] = static_cast<int>(i);
    std::vector<std::vector<std::size_t>> readers(net_.steps.size());
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < net_.steps.size(); ++i) {
      for (const int id : net_.steps[i].inputs) {
        const int from = id >= 0 ? producer[static_cast<std::size_t>(id)] : -1;
        if (from >= 0) readers[static_cast<std::size_t>(from)].push_back(i), ++waits[i];
      }
      if (waits[i] == 0) ready.push(i);
    }
    std::vector<OnnxStep> sorted;
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      for (const std::size_t reader : readers[i])
        if (--waits[reader] == 0) ready.push(reader);
      sorted.push_back(net_.steps[i]);
    }
    for (std::size_t i = 0; i < net_.steps.size(); ++i)
      if (waits[i] > 0)
        return field_error(fmt::format("node '{}' ({})", net_.steps[i].name, net_.steps[i].op),
                           "waits for its own result: the graph has a cycle", "export it again");
    net_.steps = std::move(sorted);
    return Ok{};
  }

  const OnnxFile& file_;
  const OnnxOptions& options_;
  OnnxNet net_;
  std::unordered_map<std::string, int> ids_;
};

}  // namespace

bool is_triangular(const OnnxTensor& tensor) {
  const std::size_t rank = tensor.dims.size();
  if (rank < 2 || tensor.dims[rank - 1] != tensor.dims[rank - 2] || tensor.dims[rank - 1] < 2) return false;
  const Count n = tensor.dims[rank - 1];
  if (onnx_elements(tensor.dims) != onnx_elements({n, n})) return false;
  const auto above = tensor.element(n - 1), below = tensor.element((n - 1) * n), diagonal = tensor.element(0);
  return above && below && diagonal && *above != *below && (*diagonal == *above || *diagonal == *below);
}

Count OnnxValue::elements() const { return onnx_elements(dims).value_or(0); }

Result<OnnxNet> make_onnx_net(const OnnxFile& file, const OnnxOptions& options) {
  return Builder(file, options).build();
}

std::optional<Count> onnx_elements(const std::vector<Count>& dims) {
  constexpr double kMost =
      kMostDimension;  // so that every product of a tensor's dimensions is a kernel's dimension too
  // Without the zeros too: no partial product may overflow in an empty tensor either.
  double bound = 1;
  Count count = 1;
  for (const Count dim : dims) {
    if (dim < 0) return std::nullopt;
    bound *= static_cast<double>(std::max<Count>(1, dim));
    if (bound > kMost) return std::nullopt;
    count *= dim;
  }
  return count;
}

std::string onnx_dims_text(const std::vector<Count>& dims) {
  std::vector<std::string> parts;
  for (const Count dim : dims) parts.push_back(std::to_string(dim));
  return "[" + join(parts, ", ") + "]";
}

}  // namespace tilecast
