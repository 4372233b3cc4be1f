#include "lab/evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gpu/registry.h"
#include "lab/import/import.h"
#include "measure/traps.h"
#include "support/statistics.h"
#include "support/text.h"
#include "support/workers.h"

namespace tilecast {
namespace {

std::string key_value(Key key, const Measurement& row, const Outcome& outcome) {
  switch (key) {
    case Key::gpu: return std::string(row.gpu);
    case Key::family: return std::string(family_of(row.kernel.shape));
    case Key::dtype: return std::string(row.kernel.format.name);
    case Key::engine: return std::string(row.engine);
    case Key::source: return std::string(row.source);
    case Key::regime: return std::string(name_of(outcome.regime));
    case Key::trap: return std::string(trap_of(row));
    case Key::kernel_source: return std::string(row.kernel_source);
    case Key::architecture: {
      const Gpu* gpu = built_in_gpu(row.gpu);
      return gpu ? std::string(name_of(gpu->architecture)) : "";
    }
  }
  return {};
}

struct Errors {
  std::vector<double> absolute;
  double bias = 0;
  double inside = 0;  // rows within their interval
};

// A group under construction, with its errors kept per GPU.
struct Gathered {
  Group group;
  std::map<std::string_view, Errors> by_gpu;

  void add(const Measurement& row, const Outcome& outcome) {
    if (outcome.failed) return void(++group.failed);
    ++group.rows;
    group.seen += outcome.seen ? 1 : 0;
    const double error = outcome.forecast / row.latency - 1;
    Errors& errors = by_gpu[row.gpu];
    errors.absolute.push_back(std::abs(error));
    errors.bias += error;
    errors.inside += row.latency >= outcome.low && row.latency <= outcome.high ? 1 : 0;
    if (outcome.forecast < outcome.bound) ++group.below_bound;
    if (outcome.bound > row.latency) {
      ++group.bound_violations;
      group.worst_violation = std::max(group.worst_violation, outcome.bound / row.latency);
    }
  }

  Group finish() {
    group.gpus = static_cast<int>(by_gpu.size());
    for (auto& [gpu, errors] : by_gpu) {
      auto& all = errors.absolute;
      std::sort(all.begin(), all.end());
      double sum = 0;
      for (double e : all) sum += e;
      const double n = static_cast<double>(all.size());
      group.mean += sum / n / group.gpus;
      group.bias += errors.bias / n / group.gpus;
      group.coverage += errors.inside / n / group.gpus;
      group.median += sorted_quantile(all, 0.5) / group.gpus;
      group.p90 += sorted_quantile(all, 0.9) / group.gpus;
    }
    return std::move(group);
  }
};

}  // namespace

Result<std::vector<Key>> keys_from(std::string_view text) {
  std::vector<Key> keys;
  if (text.empty()) return keys;
  for (const std::string& part : split(text, ',')) {
    const auto at = std::find(kKeyNames.begin(), kKeyNames.end(), part);
    if (at == kKeyNames.end())
      return error("cannot group by '" + part + "'",
                   "one or more of " + join({kKeyNames.begin(), kKeyNames.end()}, ", "));
    keys.push_back(static_cast<Key>(at - kKeyNames.begin()));
  }
  return keys;
}

std::vector<Group> group_errors(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes,
                                const std::vector<Key>& by) {
  std::map<std::vector<std::string>, Gathered> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> keys;
    for (Key key : by) keys.push_back(key_value(key, rows[i], outcomes[i]));
    auto [found, fresh] = groups.try_emplace(std::move(keys));
    if (fresh) found->second.group.keys = found->first;
    found->second.add(rows[i], outcomes[i]);
  }
  std::vector<Group> finished;
  for (auto& [keys, gathered] : groups) finished.push_back(gathered.finish());
  return finished;
}

Result<SampledRows> read_sampled(const std::vector<std::string>& paths, const SampleOptions& sample,
                                 const ReadOptions& read, Names& names) {
  Sampler sampler(sample);
  SampledRows sampled;
  for (const std::string& path : paths) {
    auto report = read_any(path, names, read, [&](const Measurement& row) {
      sampler.offer(row);
      return Status(Ok{});
    });
    if (!report) return std::move(report).error();
    sampled.report.add(*report);
  }
  sampled.rows = sampler.take();
  return sampled;
}

}  // namespace tilecast
