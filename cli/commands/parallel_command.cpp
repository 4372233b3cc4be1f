#include "cli/commands/parallel_command.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/commands/chosen_method.h"
#include "cluster/registry.h"
#include "gpu/registry.h"
#include "parallel/chakra.h"
#include "parallel/planned_step.h"
#include "support/file.h"
#include "support/number.h"
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
    const auto n = number_from<int>(part);
    if (!n || *n < 0)
      return flag_error("--stage-layers", "'" + part + "' is no number of layers", "for example 13,14,13");
    layers.push_back(*n);
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

StepPricing pricing_of(const ChosenMethod& chosen) {
  StepPricing with;
  with.method = chosen.method, with.weights = chosen.weights(), with.links = &shipped_comm_constants();
  return with;
}

Status too_many(Count value, const char* flag) {
  constexpr Count kMost = Count{1} << 30;
  if (value >= 0 && value <= kMost) return Ok{};
  return flag_error(flag, fmt::format("must lie between 0 and {}, not {}", kMost, value));
}

}  // namespace

namespace {

std::vector<ParallelVariant> those_that_run(const std::vector<ParallelVariant>& variants) {
  std::vector<ParallelVariant> running;
  for (const ParallelVariant& v : variants)
    if (!v.refused) running.push_back(v);
  return running;
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
  const auto chosen = chosen_method(options.method, options.weights);
  if (!chosen) return chosen.error();
  const StepPricing with = pricing_of(*chosen);
  std::vector<ParallelVariant> variants;
  for (Run& run : *runs)
    for (const Cluster& cluster : *clusters) {
      run.training.wide_gradients = o.wide_gradients;
      ParallelRun parallel{run, *layout, o.micro_batch};
      // --accumulate says how many micro-batches there are, where their size is not given.
      if (o.micro_batch == 0 && run.workload.mode == Mode::train && given.accumulation > 1)
        parallel.micro_batch = std::max<Count>(1, run.workload.sequences() / layout->dp / given.accumulation);
      auto forecast = forecast_parallel(parallel, cluster, with);
      ParallelVariant v{cluster, std::move(parallel), {}};
      if (forecast) v.forecast = *std::move(forecast);
      else v.refused = std::move(forecast).error();
      variants.push_back(std::move(v));
    }
  if (those_that_run(variants).empty()) return *variants.front().refused;
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
  const auto variants = forecast_parallel_variants(options, layout);
  if (!variants) return variants.error();
  const std::vector<ParallelVariant> running = those_that_run(*variants);
  if (!options.trace.empty())
    if (auto written = write_lanes(options.trace, running); !written) return std::move(written).error();
  std::string exported;
  if (!layout.chakra.empty()) {
    auto line = export_chakra(layout.chakra, running);
    if (!line) return std::move(line).error();
    exported = "\n" + *std::move(line);
  }
  if (options.json) return parallel_json(*variants);
  return parallel_table(*variants) + context_note(running.front().run.run) + "\n" +
         parallel_breakdown(running.front()) +
         (exported.empty()
              ? "\n--trace FILE draws the step, one lane a pipeline rank; --export-chakra DIR writes every "
                "rank's part of it for ASTRA-sim.\n"
              : exported);
}

Result<std::string> run_memory_parallel(const PredictOptions& options, const LayoutOptions& layout) {
  PredictOptions quick = options;
  quick.method = "roofline";  // memory does not ask how long
  const auto variants = forecast_parallel_variants(quick, layout);
  if (!variants) return variants.error();
  if (options.json) return parallel_json(*variants);
  return parallel_memory_table(*variants) + context_note(variants->front().run.run);
}

}  // namespace tilecast
