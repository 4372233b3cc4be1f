#include "model/adapters.h"

#include "kernel/elementwise.h"
#include "kernel/gemm.h"

namespace tilecast {
namespace {

// Which products of a mixer libraries of adapters target; a scan's gates and an indexer stay as they are.
bool is_projection(Role role) {
  switch (mixer_product(role)) {
    case MixerProduct::in:
    case MixerProduct::up:
    case MixerProduct::cross:
    case MixerProduct::out: return true;
    case MixerProduct::none:
    case MixerProduct::beside:
    case MixerProduct::index: return false;
  }
  return false;
}

// Writes one section; products of one input come next to each other, before their adapters, so that engines can merge
// them.
class AdapterWriter {
 public:
  AdapterWriter(const Section& section, const AdapterSpec& adapters)
      : in_(section), adapters_(adapters), out_(emptied(section)) {}

  Section write() && {
    for (const Operator& op : in_.operators) {
      if (!waiting_.empty() && op.inputs != waiting_.front().of->inputs) add_waiting();
      place(op);
    }
    add_waiting();
    return std::move(out_);
  }

 private:
  // A pending adapter: the product it belongs to, and what that writes instead.
  struct Waiting {
    const Operator* of;
    int frozen;
  };

  void place(const Operator& op) {
    Operator own = op;
    own.weights.frozen = op.weights.matrix + op.weights.vector > 0;
    const bool layer = in_.part.kind == SectionKind::layer;
    const bool product = layer && op.shape.is<Gemm>() && op.role != Role::router;
    own.weights.packed = adapters_.packed && product;
    if (product && !op.outputs.empty() && has_adapter(op.role, adapters_.targets)) {
      own.outputs.front() = tensor(op.name + ".frozen", elements(op.outputs.front()));
      waiting_.push_back({&op, own.outputs.front()});
    }
    out_.operators.push_back(std::move(own));
  }

  void add_waiting() {
    for (const Waiting& w : waiting_) add_adapter(*w.of, w.frozen);
    waiting_.clear();
  }
  void add_adapter(const Operator& op, int frozen) {
    const auto& product = op.shape.as<Gemm>();
    const Count rank = adapters_.rank, elements = product.m * product.n;
    Gemm down, up;
    down.m = up.m = product.m, down.n = rank, down.k = product.k, up.n = product.n, up.k = rank;
    const int low = add(op.name + ".adapter_down", down, op.inputs, product.m * rank, {.matrix = rank * product.k});
    const int high = add(op.name + ".adapter_up", up, {low}, elements, {.matrix = rank * product.n});
    Elementwise scale, sum;
    scale.elements = sum.elements = elements;
    scale.op = PointwiseOp::mul, sum.op = PointwiseOp::add, sum.inputs = 2;
    const int scaled = add(op.name + ".adapter_scale", scale, {high}, elements, {});
    add(op.name + ".adapter_sum", sum, {frozen, scaled}, elements, {});
    out_.tensors.pop_back();  // the sum is what the product wrote before
    out_.operators.back().outputs = op.outputs;
  }
  int add(std::string name, Shape shape, std::vector<int> inputs, Count size, OwnedWeights weights) {
    const int to = tensor(name, size);
    out_.operators.push_back({std::move(name), std::move(shape), std::move(inputs), {to}, weights});
    out_.operators.back().role = Role::adapter;
    return to;
  }
  Count elements(int i) const { return out_.tensors[static_cast<std::size_t>(i)].elements; }
  int tensor(std::string name, Count size) {
    out_.tensors.push_back({std::move(name), size, TensorKind::activation});
    return static_cast<int>(out_.tensors.size()) - 1;
  }

  const Section& in_;
  const AdapterSpec& adapters_;
  Section out_;
  std::vector<Waiting> waiting_;
};

}  // namespace

bool has_adapter(Role role, AdapterTargets targets) {
  switch (targets) {
    case AdapterTargets::qv:
      return role == Role::attention_query || role == Role::attention_value || role == Role::attention_qkv;
    case AdapterTargets::attention: return is_projection(role);
    case AdapterTargets::all:
      return is_projection(role) || role == Role::mlp_gate || role == Role::mlp_up || role == Role::mlp_down ||
             role == Role::shared_expert;
  }
  return false;
}

Graph with_adapters(const Graph& forward, const AdapterSpec& adapters) {
  Graph graph{forward.name, {}};
  for (const Section& section : forward.sections) graph.sections.push_back(AdapterWriter(section, adapters).write());
  return graph;
}

}  // namespace tilecast
