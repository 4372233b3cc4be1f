#include "model/program_lower.h"

#include <algorithm>
#include <unordered_map>

#include "kernel/custom.h"
#include "model/program_collectives.h"

namespace tilecast {
namespace {

// Operators that launch nothing beside views: memory that is taken, numbers on the host, the shape of a tensor.
constexpr std::string_view kQuiet[] = {"empty",
                                       "empty_like",
                                       "empty_strided",
                                       "new_empty",
                                       "new_empty_strided",
                                       "_unsafe_view",
                                       "as_strided",
                                       "detach",
                                       "alias",
                                       "lift_fresh",
                                       "resize",
                                       "set",
                                       "_cudnn_init_dropout_state",
                                       "t",
                                       "transpose",
                                       "_reshape_alias",
                                       "new_empty_like",
                                       "unsqueeze",
                                       "squeeze"};

// A number read back: four bytes over the bus, after everything before it.
void lower_read_back(const OperatorView&, KernelList& list) { list.add_pass("read back", 4, 4, 4); }

double card_bytes(const std::vector<const ProgramLayout*>& tensors) {
  double sum = 0;
  for (const ProgramLayout* tensor : tensors)
    if (tensor->on_card) sum += bytes_of(*tensor);
  return sum;
}

LoweredOperator by_formula(const OperatorView& view, const OperatorFormula& formula) {
  const ProgramLayout* out = view.result();
  Custom shape;
  constexpr Count kThreads = 128, kEach = 8;
  const Count elements = out ? elements_of(*out) : 0;
  shape.ctas = std::max<Count>(1, elements / (kThreads * kEach));
  shape.load_bytes = formula.read * card_bytes(view.inputs());
  shape.store_bytes = formula.written * card_bytes(view.results());
  shape.vector_ops = formula.flops * static_cast<double>(elements);
  KernelList list;
  if (shape.load_bytes + shape.store_bytes + shape.vector_ops > 0)
    list.add(view.name(), shape, out ? priced_as(out->dtype).format : "bf16");
  return {std::move(list).take(), true};
}

LoweredOperator by_bytes(const OperatorView& view) {
  const ProgramLayout* out = view.result();
  KernelList list;
  list.add_pass(view.name(), card_bytes(view.inputs()), card_bytes(view.results()),
                out ? element_bytes(out->dtype) : 4);
  return {std::move(list).take(), false};
}

}  // namespace

std::span<const ProgramRule> program_quiet_rules() {
  static const std::vector<ProgramRule> rules = [] {
    std::vector<ProgramRule> made;
    for (const std::string_view op : kQuiet) made.push_back({op, nullptr});
    made.push_back({"_local_scalar_dense", lower_read_back});
    return made;
  }();
  return rules;
}

std::string_view operator_base(std::string_view name) {
  const auto space = name.find('.');
  if (space == std::string_view::npos) return name;
  const std::string_view rest = name.substr(space + 1);
  const std::string_view op = rest.substr(0, rest.find('.'));
  if (name.substr(0, space) != "aten") return name.substr(0, space + 1 + op.size());
  return op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
}

const ProgramRule* find_program_rule(std::string_view name) {
  static const std::unordered_map<std::string_view, const ProgramRule*> all = [] {
    std::unordered_map<std::string_view, const ProgramRule*> map;
    for (const auto& rules :
         {program_pointwise_rules(), program_product_rules(), program_attention_rules(), program_convolution_rules(),
          program_norm_rules(), program_reduction_rules(), program_movement_rules(), program_optimizer_rules(),
          program_recurrent_rules(), program_quiet_rules(), program_collective_rules()})
      for (const ProgramRule& rule : rules) map.emplace(rule.op, &rule);
    return map;
  }();
  const auto found = all.find(operator_base(name));
  return found == all.end() ? nullptr : found->second;
}

LoweredOperator lower_operator(const ProgramFile& program, const ProgramOperator& op, const ProgramCard& card) {
  if (op.view) return {};
  const OperatorView view(program, op, card);
  for (const OperatorFormula& formula : program.formulas)
    if (formula.op == operator_base(op.name) || formula.op == op.name) return by_formula(view, formula);
  const ProgramRule* rule = find_program_rule(op.name);
  if (!rule) return by_bytes(view);
  if (!rule->lower) return {};
  const std::vector<const ProgramLayout*> inputs = view.inputs(), results = view.results();
  const auto on_card = [](const ProgramLayout* t) { return t->on_card; };
  if (std::none_of(inputs.begin(), inputs.end(), on_card) && std::none_of(results.begin(), results.end(), on_card))
    return {};
  KernelList list;
  rule->lower(view, list);
  return {std::move(list).take(), true};
}

}  // namespace tilecast
