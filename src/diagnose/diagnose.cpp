#include "diagnose/diagnose.h"

#include <algorithm>
#include <map>

#include "diagnose/work_groups.h"

namespace tilecast {
namespace {

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
  totals.reserve(by_family.size());
  for (const auto& [family, total] : by_family) totals.push_back(total);
  std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
  return totals;
}

// A ceiling is what others reached or what the forecast says, and both can be beaten.
void admit_recorded(WorkGroup& group) {
  if (!group.comparison || group.per_call() >= group.comparison->ceiling) return;
  Comparison& c = *group.comparison;
  c.ceiling = std::max(group.per_call(), c.bound);
  c.ceiling_from = CeilingOrigin::recorded;
}

}  // namespace

Seconds WorkGroup::lost() const {
  if (!comparison) return {};
  return std::max(seconds(0), per_call() - comparison->ceiling) * static_cast<double>(calls);
}

bool WorkGroup::underperforms() const { return comparison && per_call() > comparison->ceiling * (1 + kNoise); }

Result<Diagnosis> diagnose(const Recording& recording, const Gpu& gpu, const ModelSource* weights,
                           std::string_view given, const Watch& watch) {
  Diagnosis result;
  result.path = recording.path;
  result.format = recording.format;
  result.recorded_on = recording.gpu;
  result.gpu = gpu.name;
  result.gpu_given = given.empty() ? gpu.name : given;
  result.host = recording.host;
  result.notes = recording.notes;
  result.total = recording.total();
  GroupedWork work = group_work(recording);
  result.recognised = work.recognised;
  result.notes.insert(result.notes.end(), work.notes.begin(), work.notes.end());
  const auto all = static_cast<double>(work.groups.size());
  bool masks_assumed = false;
  for (ReadGroup& read : work.groups) {
    if (!watch.go_on(static_cast<double>(result.groups.size()) / all)) return stopped();
    WorkGroup& group = read.group;
    if (read.shape && read.shape->mask_assumed) masks_assumed = true;
    else if (read.shape) group.comparison = compare(*read.shape, group.library, gpu, weights);
    admit_recorded(group);
    result.groups.push_back(std::move(group));
  }
  if (masks_assumed)
    result.notes.push_back(
        "attention has no forecast: the recording does not tell its mask, and a causal one does half of the work "
        "(profilers of PyTorch write it as \"Concrete Inputs\" with record_shapes=True)");
  std::sort(result.groups.begin(), result.groups.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
  for (const WorkGroup& group : result.groups) {
    if (group.comparison) result.compared += group.total;
    if (group.underperforms()) result.lost += group.lost();
  }
  result.families = family_totals(result.groups);
  result.timelines = timelines(recording, work.families);
  result.advice = advise(result, gpu, weights);
  return result;
}

}  // namespace tilecast
