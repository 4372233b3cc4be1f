#include "learn/train.h"

#include <algorithm>
#include <cmath>

#include "gpu/registry.h"

namespace tilecast {
namespace {

struct Row {
  const Measurement* measured;
  const Gpu* gpu;
  Seconds analytic;
};

Context context_of(const Measurement& row) {
  Context context = row.context;
  context.engine = row.engine;
  context.kernel_source = row.kernel_source;
  return context;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Floor of a source: what its shortest rows lack beyond the analytic forecast. The shortest are a GPU's fastest
// twentieth.
float floor_of(const std::vector<const Row*>& rows) {
  std::map<const Gpu*, std::vector<const Row*>> by_gpu;
  for (const Row* row : rows) by_gpu[row->gpu].push_back(row);
  std::vector<double> lacks;
  for (auto& [gpu, own] : by_gpu) {
    std::sort(own.begin(), own.end(), [](auto* a, auto* b) { return a->measured->latency < b->measured->latency; });
    const std::size_t shortest = std::max<std::size_t>(1, own.size() / 20);
    std::vector<double> gaps;
    for (std::size_t i = 0; i < shortest; ++i)
      gaps.push_back(in_microseconds(own[i]->measured->latency - own[i]->analytic) / floor_law(*gpu));
    lacks.push_back(median_of(gaps));
  }
  return static_cast<float>(std::max(0.0, median_of(lacks)));
}

SourceFacts facts_from(const std::vector<const Row*>& rows) {
  SourceFacts facts;
  facts.floor_us = floor_of(rows);
  std::vector<double> residuals;
  for (const Row* row : rows) {
    const Seconds base = row->analytic + microseconds(facts.floor_us * floor_law(*row->gpu));
    residuals.push_back(std::log(row->measured->latency / base));
  }
  facts.code = static_cast<float>(median_of(residuals));
  return facts;
}

}  // namespace

FamilyModel train_family(const std::vector<Measurement>& all, std::span<const std::size_t> chosen,
                         const TrainOptions& options) {
  FamilyModel model;
  std::vector<Row> rows;
  for (const std::size_t i : chosen) {
    const Measurement& m = all[i];
    const Gpu* gpu = built_in_gpu(m.gpu);
    if (!gpu) continue;
    const Context context = context_of(m);
    const auto planned = plan(m.kernel, *gpu, context);
    if (!planned) continue;
    rows.push_back({&m, gpu, estimate(*planned, *gpu, context, Method::tilecast).latency});
    ++model.seen[std::string(m.gpu)];
  }
  if (rows.empty()) return model;
  model.key = model_key(rows.front().measured->kernel);
  std::map<std::string, std::vector<const Row*>> groups;
  for (const Row& row : rows)
    for (const std::string& name : source_names(context_of(*row.measured), *row.gpu)) groups[name].push_back(&row);
  for (const auto& [name, own] : groups) model.sources[name] = facts_from(own);

  BoostData data;
  data.width = kFeatureCount;
  data.features.reserve(rows.size() * kFeatureCount);
  for (const Row& row : rows) {
    const Measurement& m = *row.measured;
    const Context context = context_of(m);
    const auto planned = plan(m.kernel, *row.gpu, context);
    const Estimate e = estimate(*planned, *row.gpu, context, Method::tilecast);
    const SourceFacts facts = facts_of(model, context, *row.gpu);
    const Seconds base = base_time(e, facts, *row.gpu);
    const Features f = features_of(m.kernel, *planned, e, *row.gpu, context, base, facts.code);
    data.features.insert(data.features.end(), f.begin(), f.end());
    data.targets.push_back(static_cast<float>(std::log(m.latency / base)));
  }
  const auto fit = [&](double quantile) {
    BoostOptions boost_options = options.boost;
    boost_options.quantile = quantile;
    return boost(data, boost_options);
  };
  model.median = fit(0.5);
  if (options.intervals) {
    model.low = fit(0.1);
    model.high = fit(0.9);
    model.ceiling = fit(0.2);
  } else {
    model.low = model.high = model.ceiling = model.median;
  }
  return model;
}

LearnedTime forecast_learned(const FamilyModel& model, const Measurement& row, const Gpu& gpu) {
  const Context context = context_of(row);
  const auto planned = plan(row.kernel, gpu, context);
  if (!planned) return {};
  const Estimate e = estimate(*planned, gpu, context, Method::tilecast);
  return learned_time(model, row.kernel, *planned, e, gpu, context);
}

}  // namespace tilecast
