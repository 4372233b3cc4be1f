#include "parallel/planned_step.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "cluster/registry.h"
#include "lab/evidence/endtoend.h"
#include "parallel/split.h"

namespace tilecast {
namespace {

struct SteppedRun {
  std::string name;
  ParallelRun run;
  Cluster cluster;
  ParallelForecast forecast;
};

SteppedRun case_of(std::string name, const char* model, RankLayout layout, Mode mode = Mode::train,
                   EngineKind engine = EngineKind::cudagraph) {
  Workload w;
  w.mode = mode;
  w.requests = {{4 * layout.dp, mode == Mode::decode ? 1 : 2048, mode == Mode::decode ? 2048 : 0}};
  SteppedRun c{std::move(name), {*run_of(model, engine, "bf16", w), layout, 1}, *find_cluster("HGX-H100-8"), {}};
  c.cluster.nodes = 4;
  auto forecast = forecast_parallel(c.run, c.cluster, {Method::roofline, nullptr, &shipped_comm_constants()});
  EXPECT_TRUE(forecast) << c.name << ": " << forecast.error().line();
  if (forecast) c.forecast = *std::move(forecast);
  return c;
}

RankLayout layout(int tp, int cp, int dp, int pp) {
  RankLayout l;
  l.tp = tp, l.cp = cp, l.dp = dp, l.pp = pp;
  return l;
}
template <class F>
RankLayout with(RankLayout l, F&& set) {
  set(l);
  return l;
}

constexpr const char *kDense = "Llama-3.1-8B", *kExperts = "Qwen3-30B-A3B";

std::vector<SteppedRun> cases() {
  using L = RankLayout;
  std::vector<SteppedRun> all;
  all.push_back(case_of("tp", kDense, layout(2, 1, 1, 1)));
  all.push_back(case_of("dp", kDense, layout(1, 1, 4, 1)));
  all.push_back(case_of("tp dp pp zero1 sp", kDense, with(layout(2, 1, 2, 2), [](L& l) {
                          l.sharding = Sharding::optimizer, l.sequence_parallel = true;
                        })));
  all.push_back(case_of("ring", kDense, layout(2, 4, 2, 1)));
  all.push_back(case_of("gathered contexts", kDense,
                        with(layout(1, 2, 2, 2), [](L& l) { l.context = ContextScheme::all_gather; })));
  all.push_back(case_of("interleaved", kDense,
                        with(layout(2, 1, 2, 4), [](L& l) { l.chunks = 2, l.sharding = Sharding::optimizer; })));
  all.push_back(case_of("zero bubble, zero 2", kDense, with(layout(1, 1, 2, 4), [](L& l) {
                          l.schedule = PipelineSchedule::zero_bubble, l.sharding = Sharding::gradients;
                        })));
  all.push_back(case_of("gpipe, nothing beside", kDense, with(layout(2, 1, 2, 2), [](L& l) {
                          l.schedule = PipelineSchedule::gpipe, l.overlap = false, l.sharding = Sharding::optimizer;
                        })));
  all.push_back(case_of("hybrid shards", kDense,
                        with(layout(1, 1, 8, 1), [](L& l) { l.sharding = Sharding::parameters, l.shard_group = 4; })));
  all.push_back(case_of("uneven stages", kDense, with(layout(1, 1, 2, 3), [](L& l) {
                          l.stage_layers = {10, 12, 10};
                        })));
  all.push_back(case_of("experts", kExperts, with(layout(2, 1, 4, 2), [](L& l) { l.ep = 4; })));
  all.push_back(case_of("wide experts", kExperts, with(layout(2, 2, 2, 1), [](L& l) { l.ep = 2, l.expert_tp = 2; })));
  all.push_back(case_of("tied tables", "Llama-3.2-1B", with(layout(2, 1, 2, 4), [](L& l) {
                          l.sharding = Sharding::optimizer, l.sequence_parallel = true;
                        })));
  all.push_back(case_of("prefill", kDense, layout(2, 1, 2, 2), Mode::prefill, EngineKind::vllm));
  all.push_back(case_of("decode of experts", kExperts, with(layout(1, 1, 4, 1), [](L& l) { l.ep = 4; }), Mode::decode,
                        EngineKind::sglang));
  return all;
}

StepNodes nodes_of(const SteppedRun& c, Count most = kMostNodes) {
  auto nodes = step_nodes(c.run, c.forecast, c.cluster, shipped_comm_constants(), most);
  EXPECT_TRUE(nodes) << c.name << ": " << nodes.error().line();
  return *std::move(nodes);
}
std::vector<RankTrace> traces_of(const StepNodes& nodes) {
  std::vector<RankTrace> traces;
  for (int rank = 0; rank < nodes.ranks; ++rank) traces.push_back(nodes.trace_of(rank));
  return traces;
}
int stage_ranks(const RankLayout& l) { return l.tp * l.cp * l.dp; }

// How often each section runs in a step on the ranks of a stage.
std::vector<double> runs_of(const SteppedRun& c, std::size_t place) {
  const ModelSpec& spec = std::get<ModelSpec>(c.run.run.model);
  const Graph graph = *rank_graph(spec, c.run.layout, batches_of(c.run)->each);
  const auto counts = section_counts(spec, c.run.layout, graph);
  std::vector<double> runs(graph.sections.size());
  for (std::size_t v = place; v < counts.size(); v += static_cast<std::size_t>(c.run.layout.pp))
    for (std::size_t s = 0; s < runs.size(); ++s)
      runs[s] += static_cast<double>(counts[v][s] * c.forecast.micro_batches);
  return runs;
}

// All ranks as ASTRA-sim runs them (Workload.cc, HardwareResource.cc): of the nodes that wait for nothing, in order,
// those whose unit is free begin; computation is one unit, collectives and sends another, receives need none (commit
// 0383c20), or the same (043f2ec). What is exchanged takes its forecast times `net`. When each rank ends, or nothing
// where they never do.
class Replay {
 public:
  Replay(const CommGroups& groups, const std::vector<RankTrace>& ranks, double net, bool receives_hold = false)
      : groups_(groups), ranks_(ranks), net_(net), receives_hold_(receives_hold), state_(ranks.size()) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      State& s = state_[r];
      s.missing.resize(ranks[r].nodes.size()), s.next.resize(ranks[r].nodes.size());
      for (std::size_t n = 0; n < ranks[r].nodes.size(); ++n) {
        s.missing[n] = ranks[r].nodes[n].after.size();
        for (const int a : ranks[r].nodes[n].after) s.next[static_cast<std::size_t>(a)].push_back(n);
        if (s.missing[n] == 0) s.ready.insert(n);
      }
    }
  }

  std::optional<std::vector<double>> run() {
    std::size_t all = 0, ended = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) start(r), all += ranks_[r].nodes.size();
    std::vector<double> ends(ranks_.size());
    for (; !events_.empty(); ++ended) {
      const auto [time, rank, node] = *events_.begin();
      events_.erase(events_.begin());
      ends[rank] = now_ = time;
      if (bool* unit = unit_of(rank, node)) *unit = false;
      for (const std::size_t n : state_[rank].next[node])
        if (--state_[rank].missing[n] == 0) state_[rank].ready.insert(n);
      start(rank);
    }
    return ended == all ? std::optional(ends) : std::nullopt;
  }

 private:
  struct State {
    std::vector<std::size_t> missing;
    std::vector<std::vector<std::size_t>> next;
    std::set<std::size_t> ready;
    bool computes = false, communicates = false;
    std::map<int, int> calls;  // of a group
  };
  using Wire = std::tuple<int, int, int>;

  bool* unit_of(std::size_t rank, std::size_t node) {
    switch (ranks_[rank].nodes[node].kind) {
      case TraceKind::compute: return &state_[rank].computes;
      case TraceKind::receive: return receives_hold_ ? &state_[rank].communicates : nullptr;
      default: return &state_[rank].communicates;
    }
  }
  void start(std::size_t rank) {
    const std::set<std::size_t> ready = state_[rank].ready;
    for (const std::size_t n : ready) {
      bool* unit = unit_of(rank, n);
      if (unit && *unit) continue;
      if (unit) *unit = true;
      state_[rank].ready.erase(n);
      begin(rank, n);
    }
  }
  void begin(std::size_t rank, std::size_t node) {
    const TraceNode& n = ranks_[rank].nodes[node];
    const double end = now_ + n.duration.base() * (n.kind == TraceKind::compute ? 1 : net_);
    const int self = static_cast<int>(rank);
    if (n.kind == TraceKind::compute) {
      events_.insert({end, rank, node});
    } else if (n.kind == TraceKind::send) {
      const Wire wire{self, n.peer, n.tag};
      events_.insert({end, rank, node});
      arrived_[wire] = end;
      if (const auto at = listens_.find(wire); at != listens_.end())
        events_.insert({end, static_cast<std::size_t>(n.peer), at->second});
    } else if (n.kind == TraceKind::receive) {
      const Wire wire{n.peer, self, n.tag};
      if (const auto at = arrived_.find(wire); at != arrived_.end())
        events_.insert({std::max(now_, at->second), rank, node});
      else listens_[wire] = node;
    } else {
      auto& met = meetings_[{n.group, state_[rank].calls[n.group]++}];
      met.emplace_back(rank, node);
      if (met.size() == groups_[static_cast<std::size_t>(n.group)].size())
        for (const auto& [r, m] : met) events_.insert({end, r, m});
    }
  }

  const CommGroups& groups_;
  const std::vector<RankTrace>& ranks_;
  double net_, now_ = 0;
  bool receives_hold_;
  std::vector<State> state_;
  std::set<std::tuple<double, std::size_t, std::size_t>> events_;
  std::map<Wire, double> arrived_;
  std::map<Wire, std::size_t> listens_;
  std::map<std::pair<int, int>, std::vector<std::pair<std::size_t, std::size_t>>> meetings_;
};

TEST(PlannedStep, AllRanksCanRunIt) {
  for (const SteppedRun& c : cases())
    for (const Count most : {kMostNodes, Count{100}}) {
      const StepNodes nodes = nodes_of(c, most);
      ASSERT_EQ(nodes.ranks, c.run.layout.ranks());
      std::vector<RankTrace> traces = traces_of(nodes);
      const Status checked = check(nodes.groups, traces);
      EXPECT_TRUE(checked) << c.name << ": " << checked.error().line();
      // Nobody waits for a rank that waits for others, however uneven the ranks are, and on a slow network too.
      std::size_t turn = 0;
      for (RankTrace& trace : traces)
        for (TraceNode& n : trace.nodes) n.duration = n.duration * static_cast<double>(1 + turn++ * 7 % 11);
      EXPECT_TRUE(Replay(nodes.groups, traces, 50, most == kMostNodes).run()) << c.name << " " << most;
    }
}

// Ranks that took collectives of two groups in different orders would wait for each other forever.
TEST(PlannedStep, EveryCollectiveWaitsForTheOneBefore) {
  for (const SteppedRun& c : cases()) {
    const RankTrace trace = nodes_of(c).trace_of(0);
    std::vector<int> reached;  // of each node, the last collective it waits for, by number
    int collectives = 0;
    for (const TraceNode& n : trace.nodes) {
      int last = 0;
      for (const int a : n.after) last = std::max(last, reached[static_cast<std::size_t>(a)]);
      if (n.kind == TraceKind::collective) {
        EXPECT_EQ(last, collectives) << c.name << ": " << n.name;
        last = ++collectives;
      }
      reached.push_back(last);
    }
    EXPECT_GT(collectives, 0) << c.name;
  }
}

TEST(PlannedStep, ComputesAndSendsWhatTheForecastDoes) {
  for (const SteppedRun& c : cases())
    for (const Count most : {kMostNodes, Count{100}}) {
      const ParallelForecast& f = c.forecast;
      const StepNodes nodes = nodes_of(c, most);
      const RankTrace trace = nodes.trace_of(static_cast<int>(f.busiest) * stage_ranks(c.run.layout));
      Seconds compute;
      std::map<std::string, double> sizes;
      double work = 0;
      for (const TraceNode& n : trace.nodes) {
        const bool between_stages = n.name.starts_with("send ") || n.name.starts_with("receive ");
        if (n.kind == TraceKind::compute) compute += n.duration, work += n.work.base();
        else if (!between_stages && n.kind != TraceKind::receive)
          sizes[n.name.substr(0, n.name.find(" x"))] += n.bytes.base();
      }
      Seconds longest;
      for (const StageForecast& s : f.stages) longest = std::max(longest, s.update);
      const Seconds expected = f.compute + f.optimizer - (longest - f.stages[f.busiest].update);
      EXPECT_NEAR(compute / expected, 1, 1e-9) << c.name;
      const std::vector<double> runs = runs_of(c, f.busiest);
      double flops = 0;
      for (std::size_t s = 0; s < runs.size(); ++s)
        flops += runs[s] * (f.sections[s].forward.work + f.sections[s].backward.work).base();
      EXPECT_GT(flops, 0);
      EXPECT_NEAR(work / flops, 1, 1e-9) << c.name;
      std::map<std::string, double> said;
      for (std::size_t i = 0; i < f.exchanges.size(); ++i) {
        const Exchange& e = f.exchanges[i];
        const bool once = i >= f.exchanges.size() - f.step_exposed.size();
        said[e.name] += e.call.bytes.base() * (once ? 1 : e.times * runs[e.section]);
      }
      std::erase_if(said, [](const auto& s) { return s.second == 0; });
      ASSERT_EQ(sizes.size(), said.size()) << c.name;
      for (const auto& [name, size] : said) EXPECT_NEAR(sizes[name] / size, 1, 1e-9) << c.name << ": " << name;
      EXPECT_FALSE(sizes.empty()) << c.name;
    }
}

TEST(PlannedStep, WithoutANetworkRanksTakeThePipelinesTime) {
  for (const SteppedRun& c : cases()) {
    const ParallelForecast& f = c.forecast;
    const StepNodes nodes = nodes_of(c, 100);
    const auto ends = Replay(nodes.groups, traces_of(nodes), 0).run();
    ASSERT_TRUE(ends) << c.name;
    // The same pipeline of stages that only compute.
    const ModelSpec& spec = std::get<ModelSpec>(c.run.run.model);
    const Graph graph = *rank_graph(spec, c.run.layout, batches_of(c.run)->each);
    const auto counts = section_counts(spec, c.run.layout, graph);
    ParallelForecast bare = f;
    bare.pipeline.send = seconds(0);
    for (std::size_t v = 0; v < counts.size(); ++v) {
      StageTimes& t = bare.pipeline.stages[v] = {};
      for (std::size_t s = 0; s < graph.sections.size(); ++s) {
        const SectionCost& cost = f.sections[s];
        const auto n = static_cast<double>(counts[v][s]);
        t.forward += cost.forward.compute * n, t.backward_weight += cost.backward.weights * n;
        t.backward_input += (cost.backward.compute - cost.backward.weights) * n;
      }
    }
    const PipelineTimeline timeline = *step_timeline(c.run, bare);
    std::vector<Seconds> own(f.stages.size());
    Seconds longest, total;
    for (const PipelineTask& t : timeline.tasks)
      own[static_cast<std::size_t>(t.rank)] = std::max(own[static_cast<std::size_t>(t.rank)], t.end);
    // The ends of a pipeline that hold one table wait for each other before they update it.
    const auto tied = [](const Exchange& e) { return e.name == "tied embedding sum"; };
    if (std::any_of(f.exchanges.begin(), f.exchanges.end(), tied))
      own.front() = own.back() = std::max(own.front(), own.back());
    for (std::size_t i = 0; i < own.size(); ++i) {
      longest = std::max(longest, f.stages[i].update);
      total = std::max(total, own[i] + f.stages[i].update);
    }
    total += f.optimizer - longest;
    EXPECT_NEAR(*std::max_element(ends->begin(), ends->end()) / total.base(), 1, 1e-9) << c.name;
  }
}

// Where nothing overlaps, the nodes one after the other are the forecast.
TEST(PlannedStep, AddsUpToTheForecast) {
  for (const int pp : {1, 2}) {
    RankLayout l = layout(2, 1, 4, pp);
    l.overlap = false, l.sharding = Sharding::optimizer, l.ep = 4;
    const SteppedRun c = case_of("experts", kExperts, l);
    const StepNodes nodes = nodes_of(c);
    const auto ends = Replay(nodes.groups, traces_of(nodes), 1).run();
    ASSERT_TRUE(ends);
    const double end = *std::max_element(ends->begin(), ends->end());
    // A simulator sends one message of a rank at a time, which the forecast does not make stages wait for.
    EXPECT_NEAR(end / c.forecast.step.base(), 1, pp == 1 ? 1e-9 : 0.02);
  }
}

TEST(PlannedStep, GradientsHideBehindTheLastBackwardPass) {
  RankLayout l = layout(1, 1, 8, 1);
  l.sharding = Sharding::optimizer;
  const SteppedRun c = case_of("dp", kDense, l);
  const StepNodes nodes = nodes_of(c);
  const auto beside = Replay(nodes.groups, traces_of(nodes), 1).run();
  l.overlap = false;
  const SteppedRun apart = case_of("dp", kDense, l);
  const StepNodes other = nodes_of(apart);
  const auto after = Replay(other.groups, traces_of(other), 1).run();
  ASSERT_TRUE(beside && after);
  Seconds all;
  for (const CollectiveForecast& e : c.forecast.exchange_times) all += e.latency;
  const double gained = after->front() - beside->front();
  EXPECT_GT(gained, 0.7 * all.base());
  EXPECT_LT(gained, all.base());
}

TEST(PlannedStep, GroupsAreNumberedAsMegatronDoes) {
  const SteppedRun c = case_of("experts", kExperts, with(layout(2, 1, 4, 2), [](RankLayout& l) { l.ep = 4; }));
  const StepNodes nodes = nodes_of(c);
  const std::set<std::vector<int>> groups(nodes.groups.begin(), nodes.groups.end());
  EXPECT_EQ(groups.size(), nodes.groups.size());
  const std::set<std::vector<int>> expected = {
      {0, 1},       {2, 3},       {4, 5},          {6, 7},
      {8, 9},       {10, 11},     {12, 13},        {14, 15},          // tensor
      {0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11},  {12, 13, 14, 15},  // experts
      {0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15},   // data
      {0, 4},       {1, 5},       {2, 6},          {3, 7},
      {8, 12},      {9, 13},      {10, 14},        {11, 15}};  // the same experts
  EXPECT_EQ(groups, expected);
}

TEST(PlannedStep, MergesLayersAlikeWhereThereAreManyNodes) {
  const SteppedRun c = case_of("tp pp", kDense, layout(2, 1, 1, 2));
  const StepNodes all = nodes_of(c), few = nodes_of(c, 300);
  EXPECT_EQ(all.merged, 1);
  EXPECT_EQ(few.merged, 2);  // 16 layers of 6 nodes, 4 micro-batches; the embedding of 3
  EXPECT_LT(few.trace_of(0).nodes.size(), 300u);
  EXPECT_EQ(all.trace_of(0).nodes.size(), 4 * (16 * 6 + 3) + 4 * 2 + 2u);  // messages, the end
  EXPECT_EQ(few.trace_of(0).nodes[2].name, "layer x2 forward");
}

TEST(PlannedStep, LanesEndWithTheStep) {
  for (const SteppedRun& c : cases()) {
    const auto lanes = step_lanes(c.run, c.forecast, c.cluster, shipped_comm_constants());
    ASSERT_TRUE(lanes) << c.name;
    EXPECT_EQ(lanes->alike * c.run.layout.pp, c.run.layout.ranks());
    Seconds end = lanes->timeline.total;
    std::map<std::pair<int, bool>, std::vector<std::pair<Seconds, Seconds>>> used;
    for (const PipelineTask& t : lanes->timeline.tasks) used[{t.rank, false}].emplace_back(t.begin, t.end);
    for (const LaneSpan& s : lanes->spans) {
      if (s.rank == static_cast<int>(c.forecast.busiest)) end = std::max(end, s.end);
      used[{s.rank, s.beside}].emplace_back(s.begin, s.end);
    }
    EXPECT_NEAR(end / c.forecast.step, 1, 1e-9) << c.name;
    for (auto& [lane, spans] : used) {
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i)
        EXPECT_GE(spans[i].first.base(), spans[i - 1].second.base() * (1 - 1e-12)) << c.name << " " << lane.first;
    }
  }
}

}  // namespace
}  // namespace tilecast
