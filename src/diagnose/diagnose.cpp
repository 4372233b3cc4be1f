#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilecast {
namespace {

struct Kinds {
  std::vector<Recognised> recognised;  // of each kind
  std::vector<WorkFamily> families;
};

const OperatorCall* operator_of(const Recording& recording, const WorkKind& kind) {
  return kind.op < 0 ? nullptr : &recording.operators[static_cast<std::size_t>(kind.op)];
}

Kinds recognise_all(const Recording& recording) {
  Kinds kinds;
  for (const WorkKind& kind : recording.kinds) {
    kinds.recognised.push_back(recognise(kind, operator_of(recording, kind)));
    kinds.families.push_back(kinds.recognised.back().family);
  }
  return kinds;
}

// Where a kind's time is counted: with the other kernels of its operator's calls where the operator's dims explain it,
// by itself where its launch does, else with all of its name.
struct Place {
  std::string key;
  std::optional<ReadShape> shape;
  bool of_operator = false;
};
Place place_of(const Recording& recording, const WorkKind& kind, WorkFamily family, std::vector<std::string>& notes) {
  if (!kind.shape.empty()) {
    auto shape = shape_of_text(kind.shape);
    if (shape) return {fmt::format("{}|{}", kind.shape, kind.name), *std::move(shape)};
    if (notes.size() < 8) notes.push_back(shape.error().line());
  }
  if (const OperatorCall* op = operator_of(recording, kind)) {
    if (auto shape = shape_of_operator(*op, kind.name); shape && shape->family == family)
      return {fmt::format("{}|{}|{}", kind.op, name_of(family), shape->shape.kernel.format.name),
              std::move(shape->shape), true};
  }
  if (auto shape = shape_of_launch(kind))
    return {fmt::format("{}|{}|{}|{}", kind.name, kind.launch.grid[0], kind.launch.grid[1], kind.launch.grid[2]),
            std::move(shape)};
  return {kind.name, std::nullopt};
}

struct Gathered {
  WorkGroup group;
  Seconds longest_kind;
  std::optional<ReadShape> shape;
};

void add_kind(Gathered& at, const Recording& recording, const WorkKind& kind, const Recognised& what,
              const Place& place) {
  WorkGroup& group = at.group;
  if (kind.total >= at.longest_kind) {
    at.longest_kind = kind.total;
    group.full_name = kind.name;
    group.name = short_name(kind.name);
    group.library = what.library;
    at.shape = place.shape;
  }
  group.family = what.family;
  group.launches += kind.count;
  group.total += kind.total;
  group.bytes += kind.bytes;
  if (kind.counters) {
    if (!group.counters) group.counters.emplace();
    group.counters->add(*kind.counters, kind.counters->time);
  }
  const OperatorCall* op = operator_of(recording, kind);
  if (op) group.op = op->text();
  group.calls = place.of_operator ? std::max<Count>(1, op->calls) : group.launches;
}

std::vector<FamilyTotal> family_totals(const std::vector<WorkGroup>& groups) {
  std::map<WorkFamily, FamilyTotal> by_family;
  for (const WorkGroup& group : groups) {
    FamilyTotal& total = by_family[group.family];
    total.family = group.family;
    total.launches += group.launches;
    total.total += group.total;
    if (group.comparison) total.compared += group.total;
    if (group.underperforms()) total.lost += group.lost();
  }
  std::vector<FamilyTotal> totals;
  for (const auto& [family, total] : by_family) totals.push_back(total);
  std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
  return totals;
}

}  // namespace

namespace {

// A ceiling is what others reached or what the forecast says, and both can be beaten.
void admit_recorded(WorkGroup& group) {
  if (!group.comparison || group.per_call() >= group.comparison->ceiling) return;
  Comparison& c = *group.comparison;
  c.ceiling = std::max(group.per_call(), c.bound);
  c.ceiling_from = CeilingFrom::recorded;
}

}  // namespace

Seconds WorkGroup::lost() const {
  if (!comparison) return {};
  return std::max(seconds(0), per_call() - comparison->ceiling) * static_cast<double>(calls);
}

bool WorkGroup::underperforms() const { return comparison && per_call() > comparison->ceiling * (1 + kNoise); }

Diagnosis diagnose(const Recording& recording, const Gpu& gpu, const ModelSource* weights, std::string_view given) {
  Diagnosis result;
  result.path = recording.path;
  result.format = recording.format;
  result.recorded_on = recording.gpu;
  result.gpu = gpu.name;
  result.gpu_given = given.empty() ? gpu.name : given;
  result.host = recording.host;
  result.notes = recording.notes;
  result.total = recording.total();
  const Kinds kinds = recognise_all(recording);
  std::map<std::string, Gathered> gathered;
  for (std::size_t i = 0; i < recording.kinds.size(); ++i) {
    const WorkKind& kind = recording.kinds[i];
    if (kind.count == 0) continue;
    const Recognised& what = kinds.recognised[i];
    if (what.family != WorkFamily::unknown) result.recognised += kind.total;
    const Place place = place_of(recording, kind, what.family, result.notes);
    add_kind(gathered[place.key], recording, kind, what, place);
  }
  for (auto& [key, at] : gathered) {
    if (at.shape) at.group.comparison = compare(*at.shape, at.group.library, gpu, weights);
    admit_recorded(at.group);
    result.groups.push_back(std::move(at.group));
  }
  std::sort(result.groups.begin(), result.groups.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
  for (const WorkGroup& group : result.groups) {
    if (group.comparison) result.compared += group.total;
    if (group.underperforms()) result.lost += group.lost();
  }
  result.families = family_totals(result.groups);
  result.timelines = timelines(recording, kinds.families);
  result.advice = advise(result, gpu, weights);
  return result;
}

}  // namespace tilecast
