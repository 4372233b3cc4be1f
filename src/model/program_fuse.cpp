#include "model/program_fuse.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilecast {
namespace {

enum class FuseKind : std::uint8_t { apart, quiet, pointwise, rows, columns, scattered };

constexpr auto kRowReductions = std::to_array<std::string_view>(
    {"native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward", "_softmax",
     "_log_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "native_group_norm",
     "native_group_norm_backward", "nll_loss_forward", "mse_loss", "argmax", "amax", "amin", "var", "var_mean"});
constexpr auto kColumnReductions =
    std::to_array<std::string_view>({"native_batch_norm_backward", "cudnn_batch_norm_backward"});
constexpr auto kMoved = std::to_array<std::string_view>(
    {"_to_copy", "clone", "contiguous", "cat", "stack", "constant_pad_nd", "slice_backward", "select_backward", "embedding",
     "index", "index_select", "gather", "nll_loss_backward", "roll", "flip", "pixel_shuffle", "repeat",
     "upsample_nearest2d", "masked_select"});

// Sums at places that a tensor names: Triton's atomic additions, inside whatever kernel computes the numbers.
constexpr auto kScattered =
    std::to_array<std::string_view>({"index_add", "index_put", "scatter_add", "embedding_dense_backward", "_index_put_impl"});

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_rule_among(const ProgramRule* rule, std::span<const ProgramRule> rules) {
  return rule && rule >= rules.data() && rule < rules.data() + rules.size();
}

const ProgramLayout* largest_of(const std::vector<const ProgramLayout*>& tensors) {
  const ProgramLayout* most = nullptr;
  for (const ProgramLayout* tensor : tensors)
    if (tensor->on_card && (!most || elements_of(*tensor) > elements_of(*most))) most = tensor;
  return most;
}

bool sums_columns(const OperatorView& view) {
  const ProgramLayout* in = view.tensor("self");
  const std::vector<Count> dims = view.wholes("dim");
  if (!in || dims.empty() || in->shape.empty()) return false;
  const auto rank = static_cast<Count>(in->shape.size());
  return std::none_of(dims.begin(), dims.end(), [&](Count d) { return (d < 0 ? d + rank : d) == rank - 1; });
}

const ProgramLayout* scattered_source(const OperatorView& view) {
  for (const std::string_view name : {"source", "src", "values", "grad_output"})
    if (const ProgramLayout* found = view.tensor(name)) return found;
  return nullptr;
}
Count scattered_elements(const OperatorView& view) {
  const ProgramLayout* source = scattered_source(view);
  return source ? elements_of(*source) : 0;
}
double scattered_bytes(const OperatorView& view) {
  const ProgramLayout* source = scattered_source(view);
  return source ? static_cast<double>(elements_of(*source)) * element_bytes(source->dtype) : 0;
}

FuseKind kind_of_operator(const OperatorView& view, std::string_view phase) {
  const ProgramOperator& op = view.op();
  if (op.view) return FuseKind::quiet;
  const ProgramRule* rule = find_program_rule(op.name);
  if (rule && !rule->lower) return FuseKind::quiet;
  const std::string_view base = operator_base(op.name);
  if (!rule || phase == "optimizer" || base == "_local_scalar_dense") return FuseKind::apart;
  if (is_one_of(base, kRowReductions)) return FuseKind::rows;
  if (is_one_of(base, kColumnReductions)) return FuseKind::columns;
  if (base.find("batch_norm") != std::string_view::npos)
    return view.truth("training", true) ? FuseKind::columns : FuseKind::pointwise;
  if (is_one_of(base, kScattered)) return FuseKind::scattered;
  if (is_rule_among(rule, program_pointwise_rules()) || is_one_of(base, kMoved)) return FuseKind::pointwise;
  if (is_rule_among(rule, program_reduction_rules()) && (base == "sum" || base == "mean" || base == "any" || base == "all"))
    return sums_columns(view) ? FuseKind::columns : FuseKind::rows;
  return FuseKind::apart;
}

class Fuser {
 public:
  explicit Fuser(const ProgramFile& program) : program_(program) {
    made_.group_of_call.assign(program.calls.size(), -1);
    level_.assign(program.storages.size(), 0);
    maker_.assign(program.storages.size(), -1);
    for (const ProgramOperator& op : program.operators) {
      const OperatorView view(program, op);
      for (const std::string& phase : program.phases)
        kinds_[{&op, &phase}] = kind_of_operator(view, phase);
    }
  }

  FusedProgram run() {
    for (std::size_t i = 0; i < program_.calls.size(); ++i) place(static_cast<int>(i));
    find_readers();
    for (FusedGroup& group : made_.groups) price(group);
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const int born = program_.storages[i].born;
      const int group = born < 0 ? -1 : made_.group_of_call[static_cast<std::size_t>(born)];
      made_.inside.push_back(group >= 0 && !is_seen(static_cast<int>(i), group));
    }
    return std::move(made_);
  }

 private:
  struct State {
    int level = 0, phase = 0;
    Count elements = 0, results = 0;  // walked, and left by its reduction; 0: none yet
    bool columns = false;
  };

  const ProgramOperator& op_of(int call) const {
    return program_.operators[static_cast<std::size_t>(program_.calls[static_cast<std::size_t>(call)].op)];
  }
  FuseKind kind_of(int call) const {
    const std::string& phase =
        program_.phases[static_cast<std::size_t>(program_.calls[static_cast<std::size_t>(call)].phase)];
    return kinds_.at({&op_of(call), &phase});
  }

  // A level later for everything that runs by itself: what has the same level can run as one.
  void place(int index) {
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    const FuseKind kind = kind_of(index);
    int level = 0;
    for (const int s : call.reads) level = std::max(level, level_[static_cast<std::size_t>(s)]);
    if (kind == FuseKind::quiet) {
      for (const int s : call.writes) raise(s, level);
      return;
    }
    if (kind == FuseKind::apart) {
      for (const int s : call.writes) level_[static_cast<std::size_t>(s)] = level + 1, maker_[static_cast<std::size_t>(s)] = -1;
      return;
    }
    const OperatorView view(program_, op_of(index));
    const bool scatters = kind == FuseKind::scattered, reduces = kind != FuseKind::pointwise && !scatters;
    const ProgramLayout *in = largest_of(view.inputs()), *out = largest_of(view.results());
    Count walked = std::max(in && reduces ? elements_of(*in) : 0, out ? elements_of(*out) : 0);
    if (scatters) walked = scattered_elements(view);
    const int group = group_for(call, level, walked, kind);
    FusedGroup& joined = made_.groups[static_cast<std::size_t>(group)];
    joined.calls.push_back(index), joined.reduces = joined.reduces || reduces;
    joined.scatters = joined.scatters || scatters;
    if (reduces && out) states_[static_cast<std::size_t>(group)].results = elements_of(*out);
    made_.group_of_call[static_cast<std::size_t>(index)] = group;
    // What is added up here is whole only when the kernel ends.
    for (const int s : call.writes) raise(s, scatters ? level + 1 : level), maker_[static_cast<std::size_t>(s)] = group;
  }

  void raise(int storage, int level) {
    int& own = level_[static_cast<std::size_t>(storage)];
    own = std::max(own, level);
  }

  // The group that makes one of the inputs, or reads one too, and walks as many elements; else a new one. Sums down columns
  // walk the other way round and stay by themselves.
  int group_for(const ProgramCall& call, int level, Count walked, FuseKind kind) {
    const bool columns = kind == FuseKind::columns;
    if (!columns)
      for (std::size_t back = 0; back < std::min<std::size_t>(kLookedBack, made_.groups.size()); ++back) {
        const std::size_t at = made_.groups.size() - 1 - back;
        if (fits(states_[at], call, level, walked) && touches(static_cast<int>(at), call)) return static_cast<int>(at);
      }
    made_.groups.push_back({});
    states_.push_back({level, call.phase, walked, 0, columns});
    return static_cast<int>(made_.groups.size()) - 1;
  }
  static bool fits(const State& state, const ProgramCall& call, int level, Count walked) {
    if (state.columns || state.level != level || state.phase != call.phase) return false;
    return state.elements == walked || (state.results > 0 && state.results == walked);
  }
  bool touches(int group, const ProgramCall& call) const {
    return std::any_of(call.reads.begin(), call.reads.end(), [&](int s) {
      if (maker_[static_cast<std::size_t>(s)] == group) return true;
      const auto& members = made_.groups[static_cast<std::size_t>(group)].calls;
      return std::any_of(members.begin(), members.end(), [&](int m) {
        const auto& reads = program_.calls[static_cast<std::size_t>(m)].reads;
        return std::find(reads.begin(), reads.end(), s) != reads.end();
      });
    });
  }

  void find_readers() {
    readers_.resize(program_.storages.size());
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      if (kind_of(static_cast<int>(i)) != FuseKind::quiet)
        for (const int s : program_.calls[i].reads) readers_[static_cast<std::size_t>(s)].push_back(static_cast<int>(i));
  }

  // Whether anything outside the group sees what it made.
  bool is_seen(int storage, int group) const {
    if (program_.storages[static_cast<std::size_t>(storage)].dies < 0) return true;
    const auto& readers = readers_[static_cast<std::size_t>(storage)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](int call) { return made_.group_of_call[static_cast<std::size_t>(call)] != group; });
  }

  void price(FusedGroup& group) {
    const int own = made_.group_of_call[static_cast<std::size_t>(group.calls.front())];
    std::map<int, double> reads, writes;
    double narrow = 0, all = 0, added = 0;
    const auto count = [&](std::map<int, double>& sides, int storage, const ProgramLayout& layout, double most) {
      const double size = std::min(bytes_of(layout), most);
      double& known = sides[storage];
      if (size <= known) return;
      all += size - known, narrow += element_bytes(layout.dtype) < 4 ? size - known : 0;
      known = size;
    };
    for (const int index : group.calls) {
      const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
      const OperatorView view(program_, op_of(index));
      const std::vector<const ProgramLayout*> inputs = view.inputs(), results = view.results();
      const std::string_view base = operator_base(view.name());
      const bool looks_up = is_one_of(base, kMoved);
      if (is_one_of(base, kScattered)) added += scattered_bytes(view);
      const ProgramLayout* out = largest_of(results);
      for (std::size_t i = 0; i < std::min(inputs.size(), call.reads.size()); ++i) {
        const double most = looks_up && out ? bytes_of(*out) : bytes_of(*inputs[i]);
        if (inputs[i]->on_card && maker_of(call.reads[i], index) != own) count(reads, call.reads[i], *inputs[i], most);
      }
      for (std::size_t i = 0; i < std::min(results.size(), call.writes.size()); ++i)
        if (results[i]->on_card && is_seen(call.writes[i], own))
          count(writes, call.writes[i], *results[i], bytes_of(*results[i]));
    }
    double read = 0, written = 0;
    for (const auto& [storage, size] : reads) read += size;
    for (const auto& [storage, size] : writes) written += size;
    if (group.scatters) written = std::max(written, added);
    KernelList list;
    list.add_pass(group.reduces ? "fused reduction" : "fused pointwise", read, written, narrow * 2 > all ? 2 : 4,
                  TorchWalk::vectorized, PointwiseOp::mul,
                  group.scatters ? Manner::compiled_atomics : Manner::plain);
    if (!list.empty()) group.kernel = list.last();
    else group.kernel.times = 0;
  }
  // The group that made a storage before this call: storages written in place have several makers.
  int maker_of(int storage, int before) const {
    const ProgramStorage& s = program_.storages[static_cast<std::size_t>(storage)];
    return s.born >= 0 && s.born < before ? made_.group_of_call[static_cast<std::size_t>(s.born)] : -1;
  }

  static constexpr std::size_t kLookedBack = 64;
  const ProgramFile& program_;
  FusedProgram made_;
  std::vector<State> states_;
  std::vector<int> level_, maker_;
  std::vector<std::vector<int>> readers_;
  std::map<std::pair<const ProgramOperator*, const std::string*>, FuseKind> kinds_;
};

}  // namespace

FusedProgram fuse(const ProgramFile& program) { return Fuser(program).run(); }

}  // namespace tilecast
