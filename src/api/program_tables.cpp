#include "api/program_tables.h"

#include <algorithm>
#include <map>

namespace tilecast {
namespace {

// Kernels of one call of a use.
struct UseCost {
  Seconds time;
  Count launches = 0;
};
UseCost cost_of(const OperatorUse& use, const Program& program, const ProgramForecast& forecast) {
  UseCost cost;
  for (std::size_t i = use.first; i < use.first + use.kernels; ++i) {
    const Count each = program.calls[i].times / std::max<Count>(1, use.times);
    cost.time += forecast.calls[i].each * static_cast<double>(each);
    cost.launches += each;
  }
  return cost;
}

class Shares {
 public:
  void add(const std::string& name, Seconds time, Count calls, Count launches, bool known = true) {
    const auto [at, fresh] = places_.emplace(name, list_.size());
    if (fresh) list_.push_back({name, {}, 0, 0, true});
    ProgramShare& share = list_[at->second];
    share.time += time, share.calls += calls, share.launches += launches, share.known = share.known && known;
  }
  std::vector<ProgramShare> sorted() && {
    std::stable_sort(list_.begin(), list_.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
    return std::move(list_);
  }
  std::vector<ProgramShare> in_order() && { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<ProgramShare> list_;
};

// A path and all it stands in: "a.b" is in "a", and both are in "".
std::vector<std::string> path_and_parents(const std::string& path) {
  std::vector<std::string> all = {""};
  for (std::size_t at = 0; at < path.size();) {
    const auto dot = path.find('.', at);
    if (dot == std::string::npos) break;
    all.push_back(path.substr(0, dot));
    at = dot + 1;
  }
  if (!path.empty()) all.push_back(path);
  return all;
}

void add_to_phase(ProgramModule& module, const std::string& phase, Seconds time) {
  if (phase == "backward") module.backward += time;
  else if (phase == "recompute") module.recompute += time;
  else if (phase == "optimizer") module.optimizer += time;
  else module.forward += time;
}

}  // namespace

void add_shares(ProgramStep& step, const ProgramFile& file, const RecordedProgram& recorded,
                const ProgramForecast& forecast) {
  Shares phases, operators, classes, unknown;
  Seconds all, known;
  for (const OperatorUse& use : recorded.uses) {
    const UseCost cost = cost_of(use, recorded.program, forecast);
    const Seconds time = cost.time * static_cast<double>(use.times);
    const std::string& name = use.fused.empty() ? file.operators[static_cast<std::size_t>(use.op)].name : use.fused;
    phases.add(file.phases[static_cast<std::size_t>(use.phase)], time, use.times, cost.launches * use.times);
    if (use.kernels == 0) continue;
    operators.add(name, time, use.times, cost.launches * use.times, use.known);
    if (!use.known) unknown.add(name, time, use.times, cost.launches * use.times, false);
    all += time, known += use.known ? time : seconds(0);
    for (std::size_t i = use.first; i < use.first + use.kernels; ++i) {
      const KernelCall& call = recorded.program.calls[i];
      classes.add(std::string(name_of(call.op_class)), forecast.calls[i].each * static_cast<double>(call.times),
                  use.times, call.times);
    }
  }
  step.by_phase = std::move(phases).in_order();
  step.by_operator = std::move(operators).sorted();
  step.by_class = std::move(classes).sorted();
  step.unknown = std::move(unknown).sorted();
  step.recognised = all > seconds(0) ? known / all : 1;
}

void add_modules(ProgramStep& step, const ProgramFile& file, const RecordedProgram& recorded,
                 const ProgramForecast& forecast) {
  std::vector<Seconds> of_use;
  of_use.reserve(recorded.uses.size());
  for (const OperatorUse& use : recorded.uses) of_use.push_back(cost_of(use, recorded.program, forecast).time);
  // Own times first, by module and phase; then into the parents.
  std::map<std::pair<int, int>, Seconds> own;
  std::vector<int> order;
  for (std::size_t i = 0; i < file.calls.size(); ++i) {
    const ProgramCall& call = file.calls[i];
    if (recorded.use_of_call[i] < 0) continue;
    own[{call.module, call.phase}] += of_use[static_cast<std::size_t>(recorded.use_of_call[i])];
    if (std::find(order.rbegin(), order.rend(), call.module) == order.rend()) order.push_back(call.module);
  }
  std::map<std::string, std::size_t> places;
  for (const int module : order)
    for (const std::string& path : path_and_parents(file.modules[static_cast<std::size_t>(module)])) {
      const auto [at, fresh] = places.emplace(path, step.modules.size());
      if (fresh) step.modules.push_back({path, {}, {}, {}, {}, {}});
    }
  for (const auto& [key, time] : own) {
    const std::string& path = file.modules[static_cast<std::size_t>(key.first)];
    const std::string& phase = file.phases[static_cast<std::size_t>(key.second)];
    step.modules[places.at(path)].own += time;
    for (const std::string& outer : path_and_parents(path)) add_to_phase(step.modules[places.at(outer)], phase, time);
  }
}

ProgramMemory memory_of(const ProgramFile& file, const RecordedProgram& recorded, const Gpu& gpu) {
  const auto size = [](Count n) { return bytes(static_cast<double>(n)); };
  const AllocatorTrace trace = allocate(file, recorded.libraries);
  ProgramMemory memory;
  memory.peak = size(trace.peak), memory.reserved = size(trace.reserved), memory.resting = size(trace.resting);
  memory.asked = size(peak_bytes(file)), memory.card = gpu.dram.size;
  for (const Count now : trace.over_calls) memory.over_calls.push_back(size(now));
  if (trace.peak_call < file.calls.size())
    memory.peak_module = file.modules[static_cast<std::size_t>(file.calls[trace.peak_call].module)];
  return memory;
}

}  // namespace tilecast
