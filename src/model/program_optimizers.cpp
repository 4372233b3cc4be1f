// Operators over lists of tensors: the optimizers' foreach operators and their fused kernels (MultiTensorApply.cuh).
#include <algorithm>

#include "kernel/elementwise.h"
#include "model/program_rules.h"

namespace tilecast {
namespace {

double bytes_of_all(const std::vector<const ProgramLayout*>& tensors) {
  double sum = 0;
  for (const ProgramLayout* tensor : tensors) sum += bytes_of(*tensor);
  return sum;
}

bool writes_in_place(std::string_view name) {
  return name.substr(0, name.find('.', name.find('.') + 1)).ends_with('_');
}

// multi_tensor_apply cuts tensors into chunks of 65536 elements and hands 320 of them to a launch, of as many tensors as
// its arguments hold: 110 lists of one tensor, 64 of two, 48 of three, 36 of four.
Count launches_of(const std::vector<const ProgramLayout*>& tensors, std::size_t lists) {
  constexpr Count kChunk = 65536, kChunks = 320;
  constexpr Count kTensors[] = {110, 64, 48, 36, 30};
  const Count most = kTensors[std::clamp<std::size_t>(lists, 1, 5) - 1];
  Count launches = 0, chunks = 0, held = 0;
  for (const ProgramLayout* tensor : tensors) {
    ++held;
    for (Count left = ceil_div(std::max<Count>(1, elements_of(*tensor)), kChunk); left > 0;) {
      const Count now = std::min(left, kChunks - chunks);
      left -= now, chunks += now;
      if (chunks == kChunks) ++launches, chunks = 0, held = left > 0 ? 1 : 0;
    }
    if (held >= most) ++launches, chunks = 0, held = 0;
  }
  return launches + (chunks > 0 || held > 0 ? 1 : 0);
}

// All launches are alike but the last: priced as so many of their mean.
void add_lists(KernelList& list, std::string_view name, double read, double written, double element, Count launches,
               PointwiseOp op, Manner manner = Manner::plain) {
  if (!(read + written > 0)) return;
  const auto n = static_cast<double>(std::max<Count>(1, launches));
  KernelList one;
  one.add_pass(name, read / n, written / n, element, TorchWalk::vectorized, op);
  for (ProgramKernel& kernel : std::move(one).take()) {
    ProgramKernel& added = list.add(name, std::move(kernel.kernel.shape), kernel.kernel.format.name, kernel.walk);
    added.times = std::max<Count>(1, launches), added.manner = manner;
  }
}

void lower_foreach(const OperatorView& view, KernelList& list) {
  double read = 0;
  std::size_t lists = 0;
  for (const ProgramArgument& argument : view.op().arguments)
    if (argument.kind == ProgramValue::tensors) read += bytes_of_all(view.tensors(argument.name)), ++lists;
  const std::vector<const ProgramLayout*> own = view.tensors("self"), made = view.results();
  if (own.empty()) return;
  const bool in_place = writes_in_place(view.name());
  const double written = in_place ? bytes_of_all(own) : bytes_of_all(made);
  const std::string_view base = operator_base(view.name());
  const bool divides = base.find("div") != std::string_view::npos || base.find("sqrt") != std::string_view::npos;
  add_lists(list, base, read, written, element_bytes(own.front()->dtype),
            launches_of(own, lists + (in_place ? 0 : 1)), divides ? PointwiseOp::div : PointwiseOp::mul);
}

// One kernel reads parameters, gradients and states and writes all but the gradients.
void lower_fused(const OperatorView& view, KernelList& list) {
  const std::vector<const ProgramLayout*> parameters = view.tensors("self");
  if (parameters.empty()) return;
  double read = 0, written = 0;
  std::size_t lists = 0;
  for (const ProgramArgument& argument : view.op().arguments) {
    if (argument.kind != ProgramValue::tensors || argument.name == "state_steps") continue;
    const double size = bytes_of_all(view.tensors(argument.name));
    read += size, ++lists;
    if (argument.name != "grads") written += size;
  }
  add_lists(list, operator_base(view.name()), read, written, element_bytes(parameters.front()->dtype),
            launches_of(parameters, lists), PointwiseOp::div,
            parameters.front()->dtype == "fp32" ? Manner::many_states : Manner::many_narrow_states);
}

}  // namespace

std::span<const ProgramRule> program_optimizer_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made;
    for (const std::string_view op :
         {"_foreach_add", "_foreach_sub", "_foreach_mul", "_foreach_div", "_foreach_addcmul", "_foreach_addcdiv",
          "_foreach_lerp", "_foreach_sqrt", "_foreach_pow", "_foreach_neg", "_foreach_zero", "_foreach_copy",
          "_foreach_norm", "_foreach_clamp_max", "_foreach_clamp_min", "_foreach_maximum", "_foreach_minimum",
          "_foreach_reciprocal", "_foreach_sign", "_foreach_abs", "_foreach_exp", "_amp_foreach_non_finite_check_and_unscale"})
      made.push_back({op, lower_foreach});
    for (const std::string_view op : {"_fused_adamw", "_fused_adam", "_fused_sgd", "_fused_adagrad"})
      made.push_back({op, lower_fused});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
