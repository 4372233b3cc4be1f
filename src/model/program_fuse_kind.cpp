#include "model/program_fuse_kind.h"

#include <algorithm>
#include <array>
#include <span>

namespace tilecast {
namespace {

constexpr auto kRowReductions = std::to_array<std::string_view>(
    {"native_layer_norm", "native_layer_norm_backward", "_fused_rms_norm", "_fused_rms_norm_backward", "_softmax",
     "_log_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "native_group_norm",
     "native_group_norm_backward", "nll_loss_forward", "mse_loss", "argmax", "amax", "amin", "var", "var_mean"});
constexpr auto kColumnReductions =
    std::to_array<std::string_view>({"native_batch_norm_backward", "cudnn_batch_norm_backward"});
constexpr auto kMoved = std::to_array<std::string_view>(
    {"_to_copy", "clone", "contiguous", "cat", "stack", "constant_pad_nd", "slice_backward", "select_backward",
     "embedding", "index", "index_select", "gather", "nll_loss_backward", "roll", "flip", "pixel_shuffle", "repeat",
     "upsample_nearest2d", "masked_select"});

constexpr auto kReductions =
    std::to_array<std::string_view>({"sum", "mean", "any", "all", "max", "min", "prod", "argmax", "argmin", "amax",
                                     "amin", "var", "var_mean", "prims.prepare_softmax_online"});

// Sums at places that a tensor names: Triton's atomic additions, inside whatever kernel computes the numbers.
constexpr auto kScattered = std::to_array<std::string_view>(
    {"index_add", "index_put", "scatter_add", "embedding_dense_backward", "_index_put_impl"});

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_rule_among(const ProgramRule* rule, std::span<const ProgramRule> rules) {
  return rule && rule >= rules.data() && rule < rules.data() + rules.size();
}

bool sums_columns(const OperatorView& view) {
  const ProgramLayout* in = view.tensor("self");
  const std::vector<Count> dims = view.wholes("dim");
  if (!in || dims.empty() || in->shape.empty()) return false;
  const auto rank = static_cast<Count>(in->shape.size());
  return std::none_of(dims.begin(), dims.end(), [&](Count d) { return (d < 0 ? d + rank : d) == rank - 1; });
}

const ProgramLayout* scattered_source(const OperatorView& view) {
  if (!is_one_of(operator_base(view.name()), kScattered)) return nullptr;
  for (const std::string_view name : {"source", "src", "values", "grad_output"})
    if (const ProgramLayout* found = view.tensor(name)) return found;
  return nullptr;
}

// Inductor lowers nearly all that reaches it to loops; images are channels last there, so that sums over all but their
// channels go down columns.
FuseKind kind_in_graph(const OperatorView& view, const ProgramRule* rule, std::string_view base) {
  if (is_one_of(base, kScattered)) return FuseKind::scattered;
  const bool by_itself = base.starts_with("_embedding_bag") || base == "masked_select" || base == "repeat_interleave";
  const bool loops = !rule || is_rule_among(rule, program_pointwise_rules()) || is_one_of(base, kMoved) ||
                     (is_rule_among(rule, program_movement_rules()) && !by_itself);
  const bool reduction = is_one_of(base, kReductions) || is_one_of(base, kRowReductions);
  if (!loops && !reduction && !is_rule_among(rule, program_norm_rules()) && base != "full" && base != "fill")
    return FuseKind::apart;
  if (!reduction) return FuseKind::pointwise;
  const ProgramLayout* in = view.tensor("self");
  const std::vector<Count> dims = view.wholes("dim");
  const bool of_channels = in && in->shape.size() == 4 && dims == std::vector<Count>{0, 2, 3};
  return of_channels || sums_columns(view) ? FuseKind::columns : FuseKind::rows;
}

}  // namespace

FuseKind kind_of_operator(const OperatorView& view, std::string_view phase, bool in_graph) {
  const ProgramOperator& op = view.op();
  if (op.view) return FuseKind::quiet;
  const ProgramRule* rule = find_program_rule(op.name);
  if (rule && !rule->lower) return FuseKind::quiet;
  const std::string_view base = operator_base(op.name);
  if (in_graph && phase != "optimizer" && base != "_local_scalar_dense") return kind_in_graph(view, rule, base);
  if (!rule || phase == "optimizer" || base == "_local_scalar_dense") return FuseKind::apart;
  if (is_one_of(base, kRowReductions)) return FuseKind::rows;
  if (is_one_of(base, kColumnReductions)) return FuseKind::columns;
  if (base.find("batch_norm") != std::string_view::npos)
    return view.truth("training", true) ? FuseKind::columns : FuseKind::pointwise;
  if (is_one_of(base, kScattered)) return FuseKind::scattered;
  if (is_rule_among(rule, program_pointwise_rules()) || is_one_of(base, kMoved)) return FuseKind::pointwise;
  if (is_rule_among(rule, program_reduction_rules()) &&
      (base == "sum" || base == "mean" || base == "any" || base == "all"))
    return sums_columns(view) ? FuseKind::columns : FuseKind::rows;
  return FuseKind::apart;
}

Count scattered_elements(const OperatorView& view) {
  const ProgramLayout* source = scattered_source(view);
  return source ? elements_of(*source) : 0;
}
double scattered_bytes(const OperatorView& view) {
  const ProgramLayout* source = scattered_source(view);
  return source ? static_cast<double>(elements_of(*source)) * element_bytes(source->dtype) : 0;
}

}  // namespace tilecast
