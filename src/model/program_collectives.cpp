#include "model/program_collectives.h"

#include <algorithm>

namespace tilecast {
namespace {

struct Spelled {
  std::string_view torch, op;
};
// Functional ones return at once; a later wait_tensor waits.
constexpr Spelled kFunctional[] = {{"all_reduce", "all_reduce"},
                                   {"all_reduce_", "all_reduce"},
                                   {"all_reduce_coalesced", "all_reduce"},
                                   {"all_reduce_coalesced_", "all_reduce"},
                                   {"all_gather_into_tensor", "all_gather"},
                                   {"all_gather_into_tensor_out", "all_gather"},
                                   {"all_gather_into_tensor_coalesced", "all_gather"},
                                   {"reduce_scatter_tensor", "reduce_scatter"},
                                   {"reduce_scatter_tensor_out", "reduce_scatter"},
                                   {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
                                   {"all_to_all_single", "all_to_all"},
                                   {"broadcast", "broadcast"},
                                   {"broadcast_", "broadcast"}};
// These block the stream they are called on.
constexpr Spelled kInStream[] = {{"allreduce_", "all_reduce"},          {"_allgather_base_", "all_gather"},
                                 {"allgather_", "all_gather"},          {"_reduce_scatter_base_", "reduce_scatter"},
                                 {"reduce_scatter_", "reduce_scatter"}, {"alltoall_base_", "all_to_all"},
                                 {"alltoall_", "all_to_all"},           {"broadcast_", "broadcast"}};
constexpr std::string_view kWait = "_c10d_functional.wait_tensor";

std::pair<std::string_view, std::string_view> library_and_name(std::string_view name) {
  const std::string_view base = operator_base(name);
  const auto dot = base.find('.');
  if (dot == std::string_view::npos) return {"aten", base};
  return {base.substr(0, dot), base.substr(dot + 1)};
}

std::string_view spelled(std::span<const Spelled> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Spelled& s) { return s.torch == name; });
  return found == table.end() ? std::string_view() : found->op;
}

// The larger of what goes in and what comes out; the tensors of a list travel together.
double larger_side(const OperatorView& view) {
  double most = 0, out = 0;
  for (const ProgramArgument& argument : view.op().arguments) {
    if (argument.kind != ProgramValue::tensor && argument.kind != ProgramValue::tensors) continue;
    double sum = 0;
    for (const ProgramLayout* tensor : view.tensors(argument.name)) sum += bytes_of(*tensor);
    most = std::max(most, sum);
  }
  for (const ProgramLayout* tensor : view.results()) out += bytes_of(*tensor);
  return std::max(most, out);
}

std::string_view text_of(const ProgramOperator& op, std::string_view argument) {
  const ProgramArgument* found = op.find(argument);
  return found && found->kind == ProgramValue::text ? std::string_view(found->text) : std::string_view();
}

}  // namespace

std::optional<ProgramCollective> collective_of(const OperatorView& view) {
  const auto [library, name] = library_and_name(view.name());
  ProgramCollective found;
  if (library == "_c10d_functional" || library == "_c10d_functional_autograd")
    found.op = spelled(kFunctional, name), found.waited_for = true;
  else if (library == "_dtensor" && name == "shard_dim_alltoall") found.op = "all_to_all";
  else if (library == "c10d") found.op = spelled(kInStream, name);
  if (found.op.empty()) return std::nullopt;
  found.group = text_of(view.op(), library == "c10d" ? "process_group" : "group_name");
  found.bytes = larger_side(view);
  return found;
}

bool waits_for_collective(std::string_view op) { return operator_base(op) == kWait; }

std::span<const ProgramRule> program_collective_rules() {
  static const std::vector<ProgramRule> rules = [] {
    static std::vector<std::string> names = {std::string(kWait), "_dtensor.shard_dim_alltoall",
                                             "fsdp.record_grad_output_stream"};
    for (const Spelled& s : kFunctional)
      for (const std::string_view library : {"_c10d_functional.", "_c10d_functional_autograd."})
        names.push_back(std::string(library) + std::string(s.torch));
    for (const Spelled& s : kInStream) names.push_back("c10d." + std::string(s.torch));
    std::vector<ProgramRule> made;
    for (const std::string& name : names) made.push_back({name, nullptr});
    return made;
  }();
  return rules;
}

}  // namespace tilecast
