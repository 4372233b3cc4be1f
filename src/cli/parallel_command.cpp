#include "cli/parallel_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "cluster/prices.h"
#include "cluster/registry.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "parallel/chakra.h"
#include "parallel/planned_step.h"
#include "support/file.h"
#include "support/text.h"

namespace tilecast {
namespace {

Error flag_error(std::string flag, std::string problem, std::string remedy = {}) {
  return Error{std::move(flag), "", std::move(problem), std::move(remedy)};
}

Result<std::vector<int>> layers_from(const std::string& text) {
  std::vector<int> layers;
  if (text.empty()) return layers;
  for (const std::string& part : split(text, ',')) {
    int n = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), n);
    if (problem != std::errc() || end != part.data() + part.size() || n < 0)
      return flag_error("--stage-layers", "'" + part + "' is no number of layers", "for example 13,14,13");
    layers.push_back(n);
  }
  return layers;
}

Result<RankLayout> layout_from(const LayoutOptions& o) {
  RankLayout layout;
  layout.tp = o.tp, layout.pp = o.pp, layout.dp = o.dp, layout.ep = o.ep, layout.cp = o.cp;
  layout.expert_tp = o.expert_tp, layout.sequence_parallel = o.sequence_parallel;
  layout.shard_group = o.shard_group, layout.chunks = o.chunks, layout.overlap = !o.no_overlap;
  const auto schedule = pipeline_schedule_from(o.schedule);
  if (!schedule) return schedule.error();
  layout.schedule = *schedule;
  const auto sharding = sharding_from(o.sharding);
  if (!sharding) return sharding.error();
  layout.sharding = *sharding;
  if (o.context == name_of(ContextScheme::all_gather)) layout.context = ContextScheme::all_gather;
  else if (o.context != name_of(ContextScheme::ring))
    return flag_error("--context-scheme", "must be ring or all-gather, not '" + o.context + "'");
  auto layers = layers_from(o.stage_layers);
  if (!layers) return std::move(layers).error();
  layout.stage_layers = *std::move(layers);
  if (auto fine = check_sizes(layout); !fine) return std::move(fine).error();
  return layout;
}

// Clusters by name, or those that have the GPUs named; grown to as many nodes as the ranks need.
Result<std::vector<Cluster>> clusters_from(const PredictOptions& o, const LayoutOptions& layout, int ranks) {
  std::vector<Cluster> clusters;
  std::vector<std::string> names = layout.clusters;
  if (names.empty())
    for (const std::string& gpu : o.gpus) names.push_back(fmt::format("{}x{}", ranks, gpu));
  if (names.empty()) return flag_error("--cluster", "is missing", "for example --cluster hgx-h100");
  for (const std::string& name : names) {
    auto cluster = cluster_of(name, ranks);
    if (!cluster) return std::move(cluster).error();
    clusters.push_back(*std::move(cluster));
  }
  return clusters;
}

struct Pricing {
  std::optional<Weights> own;
  StepPricing with;
};
Result<Pricing> pricing_from(const PredictOptions& o) {
  Pricing pricing;
  const auto method = method_from(o.method);
  if (!method) return method.error();
  if (needs_weights(*method))
    return flag_error("--method", "forecasts kernels only: '" + o.method + "'", "tilecast, analytic or roofline");
  pricing.with.method = *method;
  pricing.with.links = &shipped_comm_constants();
  if (!o.weights.empty()) {
    auto loaded = load_weights(o.weights);
    if (!loaded) return std::move(loaded).error();
    pricing.own = *std::move(loaded);
  }
  if (*method == Method::tilecast) pricing.with.weights = &shipped_models();
  return pricing;
}

Status too_many(Count value, const char* flag) {
  constexpr Count kMost = Count{1} << 30;
  if (value >= 0 && value <= kMost) return Ok{};
  return flag_error(flag, fmt::format("must lie between 0 and {}, not {}", kMost, value));
}

// A line on the terminal that rewrites itself; silent elsewhere.
class Countdown {
 public:
  void operator()(std::size_t done, std::size_t all) {
    if (!isatty(STDERR_FILENO)) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    const double spent = std::chrono::duration<double>(now - start_).count();
    const double left = done > 0 ? spent * static_cast<double>(all - done) / static_cast<double>(done) : 0;
    fmt::print(stderr, "\r{} of {} layouts, {:.0f} s left ", done, all, std::ceil(left));
    printed_ = true;
  }
  ~Countdown() {
    if (printed_) fmt::print(stderr, "\r{:50}\r", "");
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), shown_ = start_;
  bool printed_ = false;
};

Result<double> price_of(const PlanOptions& o, const Gpu& gpu, std::string& note) {
  if (o.price > 0) {
    note = "as given";
    return o.price;
  }
  PriceTable own;
  if (!o.prices.empty()) {
    auto loaded = load_prices(o.prices);
    if (!loaded) return std::move(loaded).error();
    own = *std::move(loaded);
  }
  const auto price = (o.prices.empty() ? shipped_prices() : own).of(gpu.name);
  if (!price) {
    note = "no price of " + gpu.name + " is known: give --price or --prices";
    return 0.0;
  }
  note = o.prices.empty() ? price->provider + ", read " + price->read_on : o.prices;
  return price->usd_per_hour;
}

}  // namespace

Result<std::vector<ParallelVariant>> forecast_parallel_variants(const PredictOptions& given, const LayoutOptions& o) {
  auto layout = layout_from(o);
  if (!layout) return std::move(layout).error();
  for (const auto& [value, flag] : {std::pair(o.micro_batch, "--micro-batch"), {o.global_batch, "--global-batch"}})
    if (auto fine = too_many(value, flag); !fine) return std::move(fine).error();
  PredictOptions options = given;
  if (o.global_batch > 0) options.batch = o.global_batch;
  auto clusters = clusters_from(options, o, layout->ranks());
  if (!clusters) return std::move(clusters).error();
  auto runs = runs_from(options);
  if (!runs) return std::move(runs).error();
  auto pricing = pricing_from(options);
  if (!pricing) return std::move(pricing).error();
  if (pricing->own) pricing->with.weights = &*pricing->own;
  std::vector<ParallelVariant> variants;
  for (Run& run : *runs)
    for (const Cluster& cluster : *clusters) {
      run.training.wide_gradients = o.wide_gradients;
      ParallelRun parallel{run, *layout, o.micro_batch};
      // --accumulate says how many micro-batches there are, where their size is not given.
      if (o.micro_batch == 0 && run.workload.mode == Mode::train && given.accumulation > 1)
        parallel.micro_batch = std::max<Count>(1, run.workload.sequences() / layout->dp / given.accumulation);
      auto forecast = forecast_parallel(parallel, cluster, pricing->with);
      if (!forecast) return std::move(forecast).error();
      variants.push_back({cluster, std::move(parallel), *std::move(forecast)});
    }
  return variants;
}

namespace {

Status write_lanes(const std::string& path, const std::vector<ParallelVariant>& variants) {
  std::vector<StepLanes> steps;
  for (const ParallelVariant& v : variants) {
    auto lanes = step_lanes(v.run, v.forecast, v.cluster, shipped_comm_constants());
    if (!lanes) return std::move(lanes).error();
    steps.push_back(*std::move(lanes));
  }
  return write_text_file(path, lanes_json(steps));
}

// What was written, in a line.
Result<std::string> export_chakra(const std::string& folder, const std::vector<ParallelVariant>& variants) {
  if (variants.size() > 1)
    return flag_error("--export-chakra", "takes one step", "give one cluster, one engine and one dtype");
  const ParallelVariant& v = variants.front();
  const auto nodes = step_nodes(v.run, v.forecast, v.cluster, shipped_comm_constants());
  if (!nodes) return nodes.error();
  if (auto written = write_chakra(folder, "step", nodes->groups, nodes->ranks, nodes->trace_of); !written)
    return std::move(written).error();
  return fmt::format("Wrote {0}/step.0.et to step.{1}.et and {0}/step.json{2} (docs/chakra.md).\n", folder,
                     nodes->ranks - 1,
                     nodes->merged > 1 ? fmt::format("; a node stands for up to {} layers alike", nodes->merged) : "");
}

}  // namespace

Result<std::string> run_predict_parallel(const PredictOptions& options, const LayoutOptions& layout) {
  if (!layout.chakra.empty() && layout.tp * layout.pp * layout.dp * layout.cp == 1)
    return flag_error("--export-chakra", "a step of one GPU exchanges nothing", "give --tp, --pp, --dp or --cp");
  auto variants = forecast_parallel_variants(options, layout);
  if (!variants) return std::move(variants).error();
  if (!options.trace.empty())
    if (auto written = write_lanes(options.trace, *variants); !written) return std::move(written).error();
  std::string exported;
  if (!layout.chakra.empty()) {
    auto line = export_chakra(layout.chakra, *variants);
    if (!line) return std::move(line).error();
    exported = "\n" + *std::move(line);
  }
  if (options.json) return parallel_json(*variants);
  return parallel_table(*variants) + "\n" + parallel_breakdown(variants->front()) +
         (exported.empty()
              ? "\n--trace FILE draws the step, one lane a pipeline rank; --export-chakra DIR writes every "
                "rank's part of it for ASTRA-sim.\n"
              : exported);
}

Result<std::string> run_plan_train(const PlanOptions& o) {
  if (o.gpus.empty()) return flag_error("--gpus", "is missing", "for example --gpus 64xH100-SXM");
  if (o.global_batch < 1)
    return flag_error("--global-batch", "is missing: sequences of a step", "for example --global-batch 512");
  if (!(o.tokens > 0) || !std::isfinite(o.tokens)) return flag_error("--tokens", "must be positive");
  if (!(o.price >= 0) || !std::isfinite(o.price)) return flag_error("--price", "must not be negative");
  auto cluster = cluster_of(o.gpus);
  if (!cluster) return std::move(cluster).error();
  PredictOptions predict = o.predict;
  predict.mode = "train", predict.batch = o.global_batch;
  if (predict.engines.empty()) predict.engines = {"cudagraph"};
  auto runs = runs_from(predict);
  if (!runs) return std::move(runs).error();
  if (runs->size() > 1) return flag_error("--dtype", "takes one format here", "plan twice to compare");
  TrainingQuery query{std::move(runs->front()), *std::move(cluster), 0};
  query.gpus = query.cluster.gpus();
  query.run.training.wide_gradients = true;
  auto pricing = pricing_from(predict);
  if (!pricing) return std::move(pricing).error();
  if (pricing->own) pricing->with.weights = &*pricing->own;
  std::string note;
  const auto price = price_of(o, query.cluster.gpu, note);
  if (!price) return price.error();
  Countdown countdown;
  auto plan = plan_training(query, pricing->with, [&](std::size_t done, std::size_t all) { countdown(done, all); });
  if (!plan) return std::move(plan).error();
  TrainingCost cost;
  if (!plan->ranked.empty()) {
    cost.gpu_hours = o.tokens / plan->ranked.front().tokens_per_second / 3600 * query.gpus;
    cost.usd = cost.gpu_hours * *price;
  }
  return predict.json ? plan_json(query, *plan, o, cost) : plan_table(query, *plan, o, cost, note);
}

}  // namespace tilecast
