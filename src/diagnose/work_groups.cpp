#include "diagnose/work_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/result_dims.h"

namespace tilecast {
namespace {

using Operators = std::vector<OperatorCall>;

const OperatorCall* operator_of(const Operators& operators, const WorkKind& kind) {
  return kind.op < 0 ? nullptr : &operators[static_cast<std::size_t>(kind.op)];
}

// Where a kind's time is counted: with the other kernels of its operator's calls where the operator's dims explain it,
// by itself where its launch does, else with all of its name.
struct Place {
  std::string key;
  std::optional<ReadShape> shape;
  bool of_operator = false;
};
Place place_of(const Operators& operators, const WorkKind& kind, WorkFamily family, std::vector<std::string>& notes) {
  if (!kind.shape.empty()) {
    auto shape = shape_of_text(kind.shape);
    if (shape) return {fmt::format("{}|{}", kind.shape, kind.name), *std::move(shape)};
    if (notes.size() < 8) notes.push_back(shape.error().line());
  }
  if (const OperatorCall* op = operator_of(operators, kind)) {
    if (auto shape = shape_of_operator(*op, kind.name); shape && shape->family == family)
      return {fmt::format("{}|{}|{}", kind.op, name_of(family), shape->shape.kernel.format.name),
              std::move(shape->shape), true};
  }
  if (auto shape = shape_of_launch(kind))
    return {fmt::format("{}|{}|{}|{}", kind.name, kind.launch.grid[0], kind.launch.grid[1], kind.launch.grid[2]),
            std::move(shape)};
  return {kind.exchange.empty() ? kind.name : fmt::format("{}|{}", kind.name, kind.exchange), std::nullopt};
}

// A convolution's dims without the values of its other inputs.
bool misses_values(const OperatorCall& op) {
  return family_of_operator(op.name) == WorkFamily::convolution && op.scalars.empty() && !op.dims.empty();
}

struct Gathered {
  ReadGroup read;
  Seconds longest_kind;
  std::vector<std::size_t> kinds;
};

void add_kind(Gathered& at, const Operators& operators, const WorkKind& kind, const Recognised& what,
              const Place& place) {
  WorkGroup& group = at.read.group;
  if (kind.total >= at.longest_kind) {
    at.longest_kind = kind.total;
    group.full_name = kind.name;
    group.name = short_name(kind.name);
    group.library = what.library;
    at.read.shape = place.shape;
    at.read.exchange = kind.exchange;
  }
  group.family = what.family;
  group.launches += kind.count;
  group.total += kind.total;
  group.bytes += kind.bytes;
  if (kind.counters) {
    if (!group.counters) group.counters.emplace();
    group.counters->add(*kind.counters, kind.counters->time);
  }
  const OperatorCall* op = operator_of(operators, kind);
  if (op) group.op = op->text();
  group.calls = place.of_operator ? std::max<Count>(1, op->calls) : group.launches;
}

}  // namespace

GroupedWork group_work(const Recording& recording) {
  GroupedWork work;
  const Operators operators = with_results(recording.operators);
  work.of_kind.assign(recording.kinds.size(), 0);
  std::map<std::string, Gathered> gathered;
  bool strides_missing = false;
  for (std::size_t i = 0; i < recording.kinds.size(); ++i) {
    const WorkKind& kind = recording.kinds[i];
    const Recognised what = recognise(kind, operator_of(operators, kind));
    work.families.push_back(what.family);
    if (kind.count == 0) continue;
    if (what.family != WorkFamily::unknown) work.recognised += kind.total;
    const Place place = place_of(operators, kind, what.family, work.notes);
    Gathered& at = gathered[place.key];
    add_kind(at, operators, kind, what, place);
    at.kinds.push_back(i);
    if (const OperatorCall* op = operator_of(operators, kind))
      strides_missing |= what.family == WorkFamily::convolution && !place.shape && misses_values(*op);
  }
  if (strides_missing)
    work.notes.push_back(
        "convolutions have no forecast where the recording does not tell their stride (profilers of PyTorch write it "
        "as \"Concrete Inputs\" with record_shapes=True)");
  for (auto& [key, at] : gathered) {
    for (const std::size_t kind : at.kinds) work.of_kind[kind] = work.groups.size();
    work.groups.push_back(std::move(at.read));
  }
  return work;
}

}  // namespace tilecast
