#include "parallel/planned_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "parallel/split.h"

namespace tilecast {
namespace {

std::size_t slot(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Result<PipelineTimeline> step_timeline(const ParallelRun& run, const ParallelForecast& forecast) {
  // A task is a span of a trace and at least two nodes of an export.
  constexpr Count kMostTasks = 1'000'000;
  const Pipeline& p = forecast.pipeline;
  if (const Count tasks = 2 * Count{p.micro_batches} * p.chunks * p.ranks; tasks > kMostTasks)
    return error(
        fmt::format("a step of {} pipeline tasks is more than the {} that can be written out", tasks, kMostTasks),
        "give a larger micro-batch");
  if (run.run.workload.mode == Mode::train) return simulate(p);
  PipelineTimeline t;
  t.busy.resize(slot(p.ranks)), t.kept.assign(slot(p.ranks), 1);
  for (std::size_t v = 0; v < p.stages.size(); ++v) {
    const int rank = rank_of_stage(p.schedule, p.ranks, static_cast<int>(v));
    const bool sent = v > 0 && rank_of_stage(p.schedule, p.ranks, static_cast<int>(v) - 1) != rank;
    const Seconds begin = t.total + (sent ? p.send : seconds(0));
    t.total = begin + p.stages[v].forward;
    t.busy[slot(rank)] += p.stages[v].forward;
    t.tasks.push_back({rank, static_cast<int>(v) / p.ranks, 0, PipelinePhase::forward, begin, t.total});
  }
  std::stable_sort(t.tasks.begin(), t.tasks.end(),
                   [](const PipelineTask& a, const PipelineTask& b) { return a.rank < b.rank; });
  return t;
}

Result<std::vector<std::vector<TimedExchange>>> step_exchanges_of(const ParallelRun& run,
                                                                  const ParallelForecast& forecast,
                                                                  const Cluster& cluster, const CommConstants& links) {
  const auto* model = std::get_if<ModelSpec>(&run.run.model);
  if (!model) return error("a graph with given shapes has no plan of tasks", "give the model's configuration");
  const ModelSpec& spec = *model;
  const auto batches = batches_of(run);
  if (!batches) return batches.error();
  const auto graph = rank_graph(spec, run.layout, batches->each);
  if (!graph) return graph.error();
  const std::vector<StageCost> stages = assemble_stages(spec, run.layout, *graph, forecast.sections);
  const ExchangeSetting setting{spec,           run.layout,       batches->each,
                                run.run.engine, run.run.training, cluster.gpus_per_node};
  const std::size_t pp = slot(run.layout.pp);
  std::vector<std::vector<TimedExchange>> all(pp);
  for (std::size_t rank = 0; rank < pp; ++rank) {
    StageCost own;
    for (const std::size_t v : stages_of(run.layout, rank)) own += stages[v];
    for (Exchange& e : step_exchanges(own.dense, own.experts, setting)) {
      const auto timed = forecast_collective(e.call, cluster, links);
      if (!timed) return timed.error();
      all[rank].push_back({std::move(e), timed->latency});
    }
  }
  const Count table = run.run.workload.mode == Mode::train ? copied_table(spec, run.layout, *graph) : 0;
  if (table == 0) return all;
  const Exchange tied = tied_exchange(table, setting);
  const auto timed = forecast_collective(tied.call, cluster, links);
  if (!timed) return timed.error();
  for (auto* end : {&all.front(), &all.back()}) end->push_back({tied, timed->latency});
  return all;
}

namespace {

// Spans of one pipeline rank after and beside its tasks. All ranks update their weights at once: the norm of all
// gradients comes first.
class SpanWriter {
 public:
  SpanWriter(const ParallelForecast& forecast, const PipelineTimeline& timeline, std::vector<LaneSpan>& spans)
      : forecast_(forecast),
        timeline_(timeline),
        spans_(spans),
        first_(forecast.exchanges.size() - forecast.step_exposed.size()) {
    for (const StageForecast& s : forecast.stages) longest_ = std::max(longest_, s.update);
  }

  void write(int rank, const std::vector<TimedExchange>& exchanges) {
    Seconds end;
    for (const PipelineTask& t : timeline_.tasks)
      if (t.rank == rank) end = std::max(end, t.end);
    Seconds hidden;
    for (const TimedExchange& e : exchanges)
      if (e.exchange.pass == Pass::backward) hidden += e.time * (1 - open_share(e.exchange));
    Seconds at = std::max(seconds(0), end - hidden);
    for (const TimedExchange& e : exchanges)
      if (e.exchange.pass == Pass::backward) at = add(rank, text_of(e), "communication", at, e.time, true);
    const Seconds ready = timeline_.total + exposed(Pass::backward);
    const Seconds update = forecast_.stages[slot(rank)].update;
    add(rank, "optimizer", "optimizer", ready, update, false);
    add(rank, "between steps", "host", ready + longest_, forecast_.optimizer - longest_, false);
    at = ready + forecast_.optimizer;
    for (const TimedExchange& e : exchanges) {
      if (e.exchange.pass != Pass::forward) continue;
      const double open = open_share(e.exchange);
      const char* rest = open < 1 ? " (the rest hides in the next forward pass)" : "";
      at = add(rank, text_of(e) + rest, "communication", at, e.time * open, true);
    }
  }

 private:
  // What the busiest rank cannot hide of such an exchange; others are taken to be alike.
  double open_share(const Exchange& exchange) const {
    for (std::size_t i = 0; i < forecast_.step_exposed.size(); ++i) {
      const Exchange& e = forecast_.exchanges[first_ + i];
      const Seconds all = forecast_.exchange_times[first_ + i].latency * e.times;
      if (e.name == exchange.name && e.axis == exchange.axis && all > seconds(0))
        return std::min(1.0, forecast_.step_exposed[i] / all);
    }
    return 1;
  }
  Seconds exposed(Pass pass) const {
    Seconds sum;
    for (std::size_t i = 0; i < forecast_.step_exposed.size(); ++i)
      if (forecast_.exchanges[first_ + i].pass == pass) sum += forecast_.step_exposed[i];
    return sum;
  }
  static std::string text_of(const TimedExchange& e) {
    return e.exchange.axis == Axis::expert_data ? "experts' " + e.exchange.name : e.exchange.name;
  }
  Seconds add(int rank, std::string name, std::string category, Seconds begin, Seconds length, bool beside) {
    if (length > seconds(0))
      spans_.push_back({rank, std::move(name), std::move(category), begin, begin + length, beside});
    return begin + length;
  }

  const ParallelForecast& forecast_;
  const PipelineTimeline& timeline_;
  std::vector<LaneSpan>& spans_;
  std::size_t first_;
  Seconds longest_;
};

}  // namespace

Result<StepLanes> step_lanes(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster,
                             const CommConstants& links) {
  auto timeline = step_timeline(run, forecast);
  if (!timeline) return std::move(timeline).error();
  const auto exchanges = step_exchanges_of(run, forecast, cluster, links);
  if (!exchanges) return exchanges.error();
  const RankLayout& l = run.layout;
  StepLanes lanes{fmt::format("{}, {} on {}", name_of(run.run.model), text_of(l), cluster.name),
                  *std::move(timeline),
                  {},
                  l.tp * l.cp * l.dp};
  SpanWriter writer(forecast, lanes.timeline, lanes.spans);
  for (int rank = 0; rank < l.pp; ++rank) writer.write(rank, (*exchanges)[slot(rank)]);
  return lanes;
}

}  // namespace tilecast
