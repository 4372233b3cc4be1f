#include "lab/train/left_out.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "lab/train/fit_terms.h"
#include "measure/dims.h"
#include "support/workers.h"

namespace tilecast {
namespace {

LeftOut judged(const FamilyModel& model, const Forest& forest, const FitRows& rows, bool has_sibling, double likeness) {
  const Gpu& gpu = *rows.front()->gpu;
  LeftOut left{data_of(model, rows, Knows::no_card),
               std::vector<float>(rows.size()),
               likeness,
               source_names(rows.front()->measured->whole_context(), gpu).vendor,
               architecture_key(gpu),
               1};
  forest.predict(left.data.features, left.learned);
  std::map<std::pair<std::string_view, std::string_view>, bool> kernels;  // looked up once each
  const auto known = [&](const PlannedRow& row) {
    const auto [at, added] = kernels.try_emplace({row.measured->engine, row.measured->kernel_source});
    if (added) at->second = standing_of(model, row.measured->whole_context(), *row.gpu).kernel_known;
    return at->second;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto over_physics = static_cast<float>(std::log(rows[i]->kernel_time() / untuned_time(rows[i]->input)));
    left.learned[i] += over_physics - left.data.targets[i];
    left.data.targets[i] = over_physics;
    left.data.features[i * kFeatureCount + index_of(Feature::card)] =
        has_sibling && known(*rows[i]) ? kSiblingSeen : kNothingSeen;
  }
  return left;
}

// Cards of one architecture, when none of them is trained on.
std::vector<LeftOut> without(std::span<const PlannedRow* const> rows, const std::set<std::string>& cards,
                             const BoostOptions& like) {
  FitRows rest, vendors;
  std::map<std::string, FitRows> out;
  const Gpu* gpu = nullptr;
  for (const PlannedRow* row : rows)
    if (cards.contains(row->gpu->name)) gpu = row->gpu, out[row->gpu->name].push_back(row);
    else rest.push_back(row);
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(vendors),
               [&](const PlannedRow* row) { return row->gpu->vendor == gpu->vendor; });
  const std::vector<float> protocols = protocol_weights(vendors);
  std::map<const PlannedRow*, float> told;
  for (std::size_t i = 0; i < vendors.size(); ++i) told[vendors[i]] = protocols[i];
  const bool alone =
      std::none_of(rest.begin(), rest.end(), [&](const PlannedRow* row) { return row->gpu->vendor == gpu->vendor; });
  if (alone) return {};  // strangers have a spread of their own
  FamilyModel model;
  model.sources = fit_sources(rest);
  BoostOptions general = like;
  general.trees = std::min(120, general.trees);
  general.threads = 1;  // trainings run side by side instead
  const Forest forest = sibling_forest(model, rest, *gpu, general);
  const bool has_sibling = architectures_of(rest).contains(architecture_key(*gpu));
  std::set<const Gpu*> seen;
  for (const PlannedRow* row : rest) seen.insert(row->gpu);
  std::vector<LeftOut> all;
  for (const auto& [card, own] : out) {
    double most_alike = 0;
    for (const Gpu* other : seen) most_alike = std::max(most_alike, likeness(*own.front()->gpu, *other));
    all.push_back(judged(model, forest, own, has_sibling, most_alike));
    all.back().weight = 1 / static_cast<double>(out.size());
    for (const PlannedRow* row : own) all.back().told.push_back(told.at(row));
  }
  return all;
}

}  // namespace

std::vector<LeftOut> left_out_in_turn(std::span<const PlannedRow* const> rows, const BoostOptions& like) {
  constexpr std::size_t kMostRows = 4000;
  const FitRows few = at_most(rows, kMostRows, 23);
  std::map<std::string, std::set<std::string>> siblings;
  for (const PlannedRow* row : few) siblings[architecture_key(*row->gpu)].insert(row->gpu->name);
  std::vector<std::set<std::string>> folds;
  for (const auto& [architecture, names] : siblings) {
    folds.push_back(names);
    if (names.size() > 1)
      for (const std::string& card : names) folds.push_back({card});
  }
  std::vector<std::vector<LeftOut>> judged(folds.size());
  Workers workers(like.threads);
  workers.each(folds.size(), [&](std::size_t i) { judged[i] = without(few, folds[i], like); });
  std::vector<LeftOut> all;
  for (std::vector<LeftOut>& fold : judged)
    for (LeftOut& left : fold) all.push_back(std::move(left));
  return all;
}

}  // namespace tilecast
