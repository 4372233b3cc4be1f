#include "learn/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "estimate/bound.h"
#include "estimate/physics.h"
#include "gpu/registry.h"
#include "learn/import.h"
#include "support/text.h"

namespace tilecast {
namespace {

Regime regime_of(const Estimate& estimate, Resource limit, Seconds floor) {
  if (floor > estimate.bound) return Regime::launch;
  return limit == Resource::dram || limit == Resource::l2 ? Regime::memory : Regime::compute;
}

// The launch that bounds most: the one worth comparing with a measurement's.
std::size_t main_launch(const Estimate& estimate) {
  std::size_t main = 0;
  for (std::size_t i = 1; i < estimate.launches.size(); ++i)
    if (estimate.launches[i].bound > estimate.launches[main].bound) main = i;
  return main;
}

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

// A group under construction, its errors apart by GPU.
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
      group.median += quantile(all, 0.5) / group.gpus;
      group.p90 += quantile(all, 0.9) / group.gpus;
    }
    return std::move(group);
  }
};

}  // namespace

namespace {
// DeepSeek-V3's router may pick experts from four of eight groups only. vLLM and SGLang apply that limit to the
// benchmark's balanced scores, and half of the 256 experts are never touched: from 32 to 256 tokens the rows stay at
// the time of 128 experts' weights, where TensorRT-LLM's take twice as long.
bool group_limited(const Measurement& row) {
  const auto* moe = std::get_if<Moe>(&row.kernel.shape);
  return moe && moe->distribution == ExpertDistribution::balanced && moe->hidden == 7168 && moe->inter == 2048 &&
         moe->experts == 256 && moe->topk == 8 && (row.engine == "vllm" || row.engine == "sglang");
}
// AIConfigurator's collector of SGLang 0.5.10 (the A100 rows) kept all pairs of the tokens that visit the rank and
// moved those of other ranks to its first expert: 16,384 tokens of 128 experts take 57.8, 57.5, 57.0 and 57.5 ms on 1,
// 2, 4 and 8 ranks.
bool counts_remote_pairs(const Measurement& row) {
  const auto* moe = std::get_if<Moe>(&row.kernel.shape);
  return moe && moe->ep > 1 && row.engine == "sglang" && row.engine_version == "0.5.10";
}
// The collectors of vLLM 0.14 and TensorRT-LLM 1.0 (A100) gave the rows that rounding a power law leaves over to
// experts side by side, hence to one rank; later ones deal them to the ranks in turn. With no more rows than experts
// that is nearly all of them: one token of eight experts takes 488 us on 1 and on 16 ranks.
bool leaves_rows_on_one_rank(const Measurement& row) {
  const auto* moe = std::get_if<Moe>(&row.kernel.shape);
  return moe && moe->ep > 1 && moe->distribution == ExpertDistribution::power_law &&
         moe->tokens * moe->topk <= moe->experts &&
         ((row.engine == "vllm" && row.engine_version == "0.14.0") ||
          (row.engine == "trtllm" && row.engine_version == "1.0.0"));
}
}  // namespace

std::string_view trap_of(const Measurement& row) {
  if (row.source == "aiconfigurator-difference") return "compute_scale is a difference of timings";
  if (row.source == "aiconfigurator-power") return "steady state under the power limit";
  const std::string_view family = family_of(row.kernel.shape);
  // The same kernels reach 0.6 of the peak on P100, and P4's own batched products reach 0.8 of it.
  if (row.source == "neusight-train" && row.gpu == "P4" && family == "gemm")
    return "P4's linear layers ran at a quarter of their kernels' rate";
  if (row.source != "aiconfigurator") return {};
  if (row.gpu.starts_with("A100") && row.engine == "trtllm" && (family == "attention_decode" || family == "mla_decode"))
    return "A100 TRT-LLM decode beats DRAM";
  if (counts_remote_pairs(row)) return "SGLang 0.5.10 computes the pairs of other ranks";
  if (leaves_rows_on_one_rank(row)) return "old collectors route few rows to one rank";
  if (group_limited(row)) return "DeepSeek's router touches half of the experts";
  return {};
}

Outcome outcome_of(const Plan& plan, const Estimate& e, const Gpu& gpu, Runtime runtime) {
  Outcome outcome;
  const std::size_t main = main_launch(e);
  const Launch& launch = plan.launches[main];
  outcome.forecast = e.latency;
  outcome.bound = e.bound;
  outcome.low = e.interval.low;
  outcome.high = e.interval.high;
  outcome.limit = largest_resource(e.launches[main].at_peak);
  outcome.regime = regime_of(e, outcome.limit, launch_floor(default_physics(gpu), launch, runtime));
  outcome.ctas = launch.ctas;
  outcome.tile_m = launch.tile.m;
  outcome.tile_n = launch.tile.n;
  outcome.split = launch.split;
  return outcome;
}

Outcome forecast_row(const Measurement& row, const Gpu& gpu, Method method) {
  const Context context = row.whole_context();
  const auto planned = plan(row.kernel, gpu, context);
  if (!planned || planned->launches.empty()) {
    Outcome failed;
    failed.failed = true;
    return failed;
  }
  return outcome_of(*planned, estimate(*planned, gpu, context, method), gpu, context.runtime);
}

Result<std::vector<Outcome>> forecast_rows(const std::vector<Measurement>& rows, Method method, int threads) {
  std::map<std::string_view, Gpu> gpus;
  for (const Measurement& row : rows) {
    if (gpus.contains(row.gpu)) continue;
    auto found = find_gpu(row.gpu);
    if (!found) return std::move(found).error().at(row.place());
    gpus.emplace(row.gpu, *std::move(found));
  }
  std::vector<Outcome> outcomes(rows.size());
  // Rows differ in cost a hundredfold: threads take small batches. Each row's outcome has its own place.
  constexpr std::size_t kBatch = 64;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    while (true) {
      const std::size_t begin = next.fetch_add(kBatch);
      if (begin >= rows.size()) return;
      for (std::size_t i = begin; i < std::min(begin + kBatch, rows.size()); ++i)
        outcomes[i] = forecast_row(rows[i], gpus.find(rows[i].gpu)->second, method);
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return outcomes;
}

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

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
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
