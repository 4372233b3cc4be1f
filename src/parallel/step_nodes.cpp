#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <memory>

#include "parallel/planned_step.h"
#include "parallel/split.h"
#include "parallel/stages.h"
#include "support/arithmetic.h"

namespace tilecast {
namespace {

std::size_t slot(Count n) { return static_cast<std::size_t>(n); }

void append(std::vector<int>& to, const std::vector<int>& more) {
  for (const int n : more)
    if (std::find(to.begin(), to.end(), n) == to.end()) to.push_back(n);
}

// Groups of ranks that are numbered `stride` apart: in every stage, or where that is further than a stage, across them.
class StageGroups {
 public:
  explicit StageGroups(const RankLayout& layout)
      : stage_(layout.tp * layout.cp * layout.dp), stages_(layout.pp), all_(layout.ranks()) {}

  void add(int stride, int ranks) {
    const auto [at, is_new] = places_.try_emplace({stride, ranks});
    if (!is_new) return;
    at->second.assign(slot(all_), -1);
    const auto keep = [&, at = at](std::vector<int> members) {
      for (const int r : members) at->second[slot(r)] = static_cast<int>(groups.size());
      groups.push_back(std::move(members));
    };
    if (stride >= stage_) {
      for (int first = 0; first + stride < all_ && first < stage_; ++first) keep({first, first + stride});
      return;
    }
    for (int stage = 0; stage < stages_; ++stage)
      for (int block = 0; block < stage_; block += stride * ranks)
        for (int offset = 0; offset < stride; ++offset) {
          std::vector<int> members;
          for (int i = 0; i < ranks && block + offset + i * stride < stage_; ++i)
            members.push_back(stage * stage_ + block + offset + i * stride);
          if (members.size() >= 2) keep(std::move(members));
        }
  }
  // -1 where the rank is alone.
  int of(int stride, int ranks, int rank) const { return places_.at({stride, ranks})[slot(rank)]; }

  CommGroups groups;

 private:
  int stage_, stages_, all_;
  std::map<std::pair<int, int>, std::vector<int>> places_;  // group of every rank
};

// An exchange of one layer.
struct Call {
  std::string name;
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes;
  Seconds duration;
  int times = 1, stride = 1, ranks = 1;
  bool beside = false;
  bool of_weights = false;        // follows gradients of weights, not of activations
  double dense = 1, experts = 1;  // step: which parameters it carries
};

Call call_of(const Exchange& e, Seconds latency, const RankLayout& layout) {
  Call call{e.name,   e.call.op,    e.call.bytes, latency, std::max(1, static_cast<int>(std::lround(e.times))),
            e.stride, e.call.ranks, e.beside};
  if (e.call.op == CollectiveOp::send_recv) call.ranks = layout.cp;  // a ring
  const bool data = e.axis == Axis::data || e.axis == Axis::expert_data;
  call.of_weights = data && e.call.op == CollectiveOp::reduce_scatter;
  return call;
}

struct Computation {
  Seconds time;
  Ops work;
  Bytes moved;
};
Computation computation_of(const PassCost& c, PipelinePhase phase) {
  if (phase == PipelinePhase::backward_input)
    return {c.compute - c.weights, c.work - c.weights_work, c.moved - c.weights_moved};
  if (phase == PipelinePhase::backward_weight) return {c.weights, c.weights_work, c.weights_moved};
  return {c.compute, c.work, c.moved};
}

// Layers alike of a section that stand as one.
struct Piece {
  std::size_t section = 0;
  Count layers = 1;
};

// All that ranks share.
struct Plan {
  RankLayout layout;
  Pipeline pipeline;
  PipelineTimeline timeline;
  std::vector<std::string> names;  // of sections
  std::vector<SectionCost> sections;
  std::vector<std::vector<Call>> forward, backward;  // of sections
  std::vector<std::vector<Count>> counts;            // [virtual stage][section]
  std::vector<std::vector<Call>> sums, gathers;      // of pipeline ranks, once in a step
  std::vector<std::vector<Call>> tied;               // ... between the first and the last, once all else is summed
  std::vector<double> dense, experts;                // parameters of pipeline ranks
  std::vector<Computation> updates;                  // of pipeline ranks
  Seconds between_steps;
  Bytes message;
  StageGroups groups;
  Count merged = 1;

  explicit Plan(const RankLayout& l) : layout(l), groups(l) {}

  std::vector<Piece> pieces(std::size_t stage, Count most) const {
    std::vector<Piece> all;
    for (std::size_t s = 0; s < names.size(); ++s)
      for (Count left = counts[stage][s]; left > 0; left -= most) all.push_back({s, std::min(left, most)});
    return all;
  }
};

// Writes one rank's nodes.
class RankWriter {
 public:
  RankWriter(const Plan& plan, int rank)
      : plan_(plan), rank_(rank), stage_ranks_(plan.layout.tp * plan.layout.cp * plan.layout.dp) {
    place_ = rank / stage_ranks_;
  }

  RankTrace write() && {
    std::vector<int> peers;
    for (int p = 0; p < plan_.layout.pp; ++p) peers.push_back(p * stage_ranks_ + rank_ % stage_ranks_);
    std::vector<int> ends;
    RankTrace trace = pipeline_trace(plan_.pipeline, plan_.timeline, {peers, place_, plan_.message},
                                     [&](const PipelineTask& task, std::vector<int> after, RankTrace& t) {
                                       return ends = run_task(task, std::move(after), t);
                                     });
    end_step(std::move(ends), trace);
    return trace;
  }

 private:
  std::vector<int> run_task(const PipelineTask& task, std::vector<int> ends, RankTrace& trace) {
    const bool forward = task.phase == PipelinePhase::forward, overlap = plan_.layout.overlap;
    const bool gathers = overlap && plan_.layout.gather_overlap && forward && task.micro_batch == 0 &&
                         !plan_.gathers[slot(place_)].empty();
    const bool sums = overlap && !forward && task.phase != PipelinePhase::backward_input &&
                      task.micro_batch == plan_.pipeline.micro_batches - 1 && !plan_.sums[slot(place_)].empty();
    std::vector<Piece> pieces =
        plan_.pieces(slot(plan_.layout.stage_of(place_, task.chunk)), gathers || sums ? 1 : plan_.merged);
    if (!forward) std::reverse(pieces.begin(), pieces.end());
    // A layer's weights are on their way while the layer before computes.
    std::vector<int> weights;
    const auto gather = [&](std::size_t i) {
      return gathers && i < pieces.size() ? step_calls(plan_.gathers[slot(place_)], &pieces[i], {}, trace)
                                          : std::vector<int>{};
    };
    if (gathers) weights = gather(0);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::vector<int> next = gather(i + 1);
      append(ends, weights);
      ends = run_piece(pieces[i], task.phase, ends, trace);
      if (sums) step_calls(plan_.sums[slot(place_)], &pieces[i], ends, trace);
      weights = std::move(next);
    }
    return ends;
  }

  std::vector<int> run_piece(const Piece& piece, PipelinePhase phase, const std::vector<int>& after, RankTrace& trace) {
    const bool forward = phase == PipelinePhase::forward;
    const SectionCost& cost = plan_.sections[piece.section];
    const Computation c = computation_of(forward ? cost.forward : cost.backward, phase);
    std::vector<int> ends = after;
    if (c.time > seconds(0))
      ends = {compute(name_of(piece) + (forward ? " forward" : " backward"), c, real(piece.layers), after, trace)};
    const auto& calls = (forward ? plan_.forward : plan_.backward)[piece.section];
    const auto here = [&](const Call& call, bool beside) {
      if (call.beside != beside) return false;
      if (phase == PipelinePhase::backward_input) return !call.of_weights;
      return phase != PipelinePhase::backward_weight || call.of_weights;
    };
    std::vector<int> beside = after;
    for (const Call& call : calls)
      if (here(call, true)) beside = exchange(call, piece.layers, beside, trace);
    if (beside != after) append(ends, beside);
    for (const Call& call : calls)
      if (here(call, false)) ends = exchange(call, piece.layers, ends, trace);
    return ends;
  }

  std::string name_of(const Piece& piece) const {
    const std::string& name = plan_.names[piece.section];
    return piece.layers > 1 ? fmt::format("{} x{}", name, piece.layers) : name;
  }

  static int compute(std::string name, const Computation& c, double times, std::vector<int> after, RankTrace& trace) {
    return trace.add(
        {TraceKind::compute, std::move(name), std::move(after), c.time * times, c.work * times, c.moved * times});
  }

  std::vector<int> exchange(const Call& call, Count layers, std::vector<int> after, RankTrace& trace) {
    const std::string name = layers > 1 ? fmt::format("{} x{}", call.name, layers) : call.name;
    for (int i = 0; i < call.times; ++i)
      after = call.op == CollectiveOp::send_recv ? pass_on(call, name, real(layers), std::move(after), trace)
                                                 : collective(call, name, real(layers), std::move(after), trace);
    return after;
  }

  std::vector<int> collective(const Call& call, const std::string& name, double share, std::vector<int> after,
                              RankTrace& trace) {
    const int group = plan_.groups.of(call.stride, call.ranks, rank_);
    if (group < 0) return after;
    if (last_call_ >= 0) append(after, {last_call_});
    TraceNode n{TraceKind::collective, name, std::move(after), call.duration * share, {}, call.bytes * share};
    n.op = call.op, n.group = group;
    last_call_ = trace.add(std::move(n));
    return {last_call_};
  }

  // One step of a ring: to the next rank, from the one before.
  std::vector<int> pass_on(const Call& call, const std::string& name, double share, const std::vector<int>& after,
                           RankTrace& trace) {
    const int group = plan_.groups.of(call.stride, call.ranks, rank_);
    if (group < 0) return after;
    const std::vector<int>& ring = plan_.groups.groups[slot(group)];
    const std::size_t own = slot(std::find(ring.begin(), ring.end(), rank_) - ring.begin());
    std::vector<int> ends;
    for (const TraceKind kind : {TraceKind::send, TraceKind::receive}) {
      TraceNode n{kind, name, after, call.duration * share, {}, call.bytes * share};
      n.peer = ring[(own + (kind == TraceKind::send ? 1 : ring.size() - 1)) % ring.size()];
      n.tag = next_tag_;
      ends.push_back(trace.add(std::move(n)));
    }
    ++next_tag_;
    return ends;
  }

  // Exchanges of a step: a piece's part of them, or all.
  std::vector<int> step_calls(const std::vector<Call>& calls, const Piece* piece, std::vector<int> after,
                              RankTrace& trace) {
    for (const Call& call : calls) {
      double share = 1;
      if (piece) {
        const SectionCost& s = plan_.sections[piece->section];
        const double all = call.dense * plan_.dense[slot(place_)] + call.experts * plan_.experts[slot(place_)];
        share = all > 0 ? real(piece->layers) * (call.dense * real(s.dense) + call.experts * real(s.experts)) / all : 0;
      }
      if (share > 0) after = collective(call, call.name, share, std::move(after), trace);
    }
    return after;
  }

  void end_step(std::vector<int> ends, RankTrace& trace) {
    if (!plan_.layout.overlap) ends = step_calls(plan_.sums[slot(place_)], nullptr, std::move(ends), trace);
    if (last_call_ >= 0) append(ends, {last_call_});
    ends = step_calls(plan_.tied[slot(place_)], nullptr, std::move(ends), trace);
    const Computation& update = plan_.updates[slot(place_)];
    if (update.time > seconds(0)) ends = {compute("optimizer", update, 1, std::move(ends), trace)};
    if (!plan_.layout.overlap || !plan_.layout.gather_overlap)
      ends = step_calls(plan_.gathers[slot(place_)], nullptr, std::move(ends), trace);
    if (plan_.between_steps > seconds(0))
      compute("between steps", {plan_.between_steps, {}, {}}, 1, std::move(ends), trace);
  }

  const Plan& plan_;
  int rank_, stage_ranks_, place_ = 0;
  int last_call_ = -1, next_tag_ = 0;
};

// Nodes of the rank that has most, with so many layers to one.
Count nodes_of(const Plan& plan, Count merged) {
  Count most = 0;
  const std::size_t pp = slot(plan.layout.pp);
  for (std::size_t rank = 0; rank < pp; ++rank) {
    Count n = 0;
    for (const std::size_t v : stages_of(plan.layout, rank))
      for (const Piece& piece : plan.pieces(v, merged)) {
        n += 2;
        for (const auto* calls : {&plan.forward[piece.section], &plan.backward[piece.section]})
          for (const Call& call : *calls) n += call.times * (call.op == CollectiveOp::send_recv ? 2 : 1);
      }
    most = std::max(most, n);
  }
  return most * plan.pipeline.micro_batches;
}

// One plan in the making.
class Planning {
 public:
  Planning(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster, const CommConstants& links)
      : run_(run), forecast_(forecast), cluster_(cluster), links_(links), plan_(std::make_shared<Plan>(run.layout)) {}

  Result<std::shared_ptr<const Plan>> plan(Count most_nodes) && {
    const auto* spec = std::get_if<ModelSpec>(&run_.run.model);
    assert(spec && "nothing else was forecast");
    auto batches = batches_of(run_);
    if (!batches) return std::move(batches).error();
    auto graph = rank_graph(*spec, run_.layout, batches->each);
    if (!graph) return std::move(graph).error();
    auto timeline = step_timeline(run_, forecast_);
    if (!timeline) return std::move(timeline).error();
    plan_->timeline = *std::move(timeline);
    plan_->pipeline = forecast_.pipeline;
    plan_->sections = forecast_.sections;
    assert(plan_->sections.size() == graph->sections.size());
    for (const Section& s : graph->sections) plan_->names.push_back(s.name);
    plan_->counts = section_counts(*spec, run_.layout, *graph);
    if (run_.layout.pp > 1)
      plan_->message =
          stage_send({*spec, run_.layout, batches->each, run_.run.engine, run_.run.training, cluster_.gpus_per_node})
              .bytes;
    add_layer_calls();
    if (auto added = add_step_calls(); !added) return std::move(added).error();
    add_updates();
    const Count most = std::clamp<Count>(kMostNodesInAll / run_.layout.ranks(), 1, most_nodes);
    Count longest = 1;
    for (const auto& stage : plan_->counts) longest = std::max(longest, *std::max_element(stage.begin(), stage.end()));
    while (plan_->merged < longest && nodes_of(*plan_, plan_->merged) > most) plan_->merged *= 2;
    plan_->merged = std::min(plan_->merged, longest);
    return std::shared_ptr<const Plan>(std::move(plan_));
  }

 private:
  void add_layer_calls() {
    plan_->forward.resize(plan_->names.size()), plan_->backward.resize(plan_->names.size());
    const std::size_t own = forecast_.exchanges.size() - forecast_.step_exposed.size();
    for (std::size_t i = 0; i < own; ++i) {
      const Exchange& e = forecast_.exchanges[i];
      auto& calls = (e.pass == Pass::forward ? plan_->forward : plan_->backward)[e.section];
      calls.push_back(call_of(e, forecast_.exchange_times[i].latency, run_.layout));
      // Behind the other task of its pair; here, behind its own.
      if (e.axis == Axis::expert && forecast_.pipeline.schedule == PipelineSchedule::dual_pipe_v)
        calls.back().beside = true;
      plan_->groups.add(calls.back().stride, calls.back().ranks);
    }
  }

  Status add_step_calls() {
    auto exchanges = step_exchanges_of(run_, forecast_, cluster_, links_);
    if (!exchanges) return std::move(exchanges).error();
    const std::size_t pp = slot(run_.layout.pp);
    plan_->sums.resize(pp), plan_->gathers.resize(pp), plan_->tied.resize(pp);
    for (std::size_t rank = 0; rank < pp; ++rank) {
      double dense = 0, experts = 0;  // of the sections; a copy of a tied table is shared out among them
      for (const std::size_t v : stages_of(plan_->layout, rank))
        for (std::size_t s = 0; s < plan_->sections.size(); ++s) {
          dense += real(plan_->counts[v][s] * plan_->sections[s].dense);
          experts += real(plan_->counts[v][s] * plan_->sections[s].experts);
        }
      plan_->dense.push_back(dense), plan_->experts.push_back(experts);
      for (const TimedExchange& e : (*exchanges)[rank]) {
        Call call = call_of(e.exchange, e.time, run_.layout);
        if (run_.layout.sharding != Sharding::parameters)  // whose shards hold both
          call.dense = e.exchange.axis == Axis::data ? 1 : 0, call.experts = 1 - call.dense;
        plan_->groups.add(call.stride, call.ranks);
        if (e.exchange.axis == Axis::pipeline) {
          plan_->tied[rank].push_back(std::move(call));
          continue;
        }
        (e.exchange.pass == Pass::forward ? plan_->gathers : plan_->sums)[rank].push_back(std::move(call));
      }
    }
    return Ok{};
  }

  void add_updates() {
    Seconds longest, all;
    const Bytes moved = update_cost(forecast_.program, forecast_.rank).moved;
    for (const StageForecast& s : forecast_.stages) all += s.update;
    for (const StageForecast& s : forecast_.stages) {
      longest = std::max(longest, s.update);
      plan_->updates.push_back({s.update, {}, all > seconds(0) ? moved * (s.update / all) : bytes(0)});
    }
    plan_->between_steps = forecast_.optimizer - longest;
  }

  const ParallelRun& run_;
  const ParallelForecast& forecast_;
  const Cluster& cluster_;
  const CommConstants& links_;
  std::shared_ptr<Plan> plan_;
};

}  // namespace

Result<StepNodes> step_nodes(const ParallelRun& run, const ParallelForecast& forecast, const Cluster& cluster,
                             const CommConstants& links, Count most_nodes) {
  auto plan = Planning(run, forecast, cluster, links).plan(most_nodes);
  if (!plan) return std::move(plan).error();
  return StepNodes{(*plan)->groups.groups, run.layout.ranks(), (*plan)->merged,
                   [shared = *plan](int rank) { return RankWriter(*shared, rank).write(); }};
}

}  // namespace tilecast
