#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimate/price.h"

namespace tilecast {
namespace {

// How the measurements that taught the forecaster name the libraries.
std::string_view source_of(std::string_view library) {
  if (library == "cuBLAS") return "cublas";
  if (library == "FlashAttention") return "flash_attention_2";
  if (library == "cuDNN") return "cudnn";
  if (library == "PyTorch") return "torch";
  return {};
}

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

Seconds WorkGroup::lost() const {
  if (!comparison) return {};
  return std::max(seconds(0), per_call() - comparison->ceiling) * static_cast<double>(calls);
}

bool WorkGroup::underperforms() const { return comparison && per_call() > comparison->ceiling * (1 + kNoise); }

std::optional<Comparison> compare(const ReadShape& shape, std::string_view library, const Gpu& gpu,
                                  const ModelSource* weights) {
  Context context;
  const FamilyModel* model = weights ? weights->find(shape.kernel) : nullptr;
  if (const std::string_view source = source_of(library); model && !source.empty()) {
    const std::vector<std::string> engines = engines_of(*model);
    if (std::find(engines.begin(), engines.end(), "pytorch") != engines.end()) {
      context.engine = "pytorch";
      context.kernel_source = source;
    }
  }
  const auto priced = price(shape.kernel, gpu, context, Method::tilecast, weights);
  if (!priced) return std::nullopt;
  const Estimate& e = priced->estimate;
  return Comparison{shape.kernel, shape.from, e.latency, e.ceiling, e.bound, e.interval, e.limited_by, e.seen};
}

Diagnosis diagnose(const Recording& recording, const Gpu& gpu, const ModelSource* weights) {
  Diagnosis result;
  result.path = recording.path;
  result.format = recording.format;
  result.recorded_on = recording.gpu;
  result.gpu = gpu.name;
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
