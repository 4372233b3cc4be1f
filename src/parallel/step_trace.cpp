#include "parallel/step_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tilecast {
namespace {

using SizedCall = std::pair<CollectiveOp, double>;
using Message = std::tuple<int, int, int, double>;  // from, to, tag, bytes

Status check_node(const CommGroups& groups, const RankTrace& r, std::size_t place, std::size_t ranks) {
  const TraceNode& n = r.nodes[place];
  const auto wrong = [&](std::string problem) {
    return Error{fmt::format("rank {}", r.rank), fmt::format("node {} '{}'", place, n.name), std::move(problem), ""};
  };
  for (const int a : n.after)
    if (a < 0 || static_cast<std::size_t>(a) >= place) return wrong(fmt::format("waits for node {}", a));
  if (n.kind == TraceKind::collective) {
    if (n.group < 0 || static_cast<std::size_t>(n.group) >= groups.size()) return wrong("has no group");
    const std::vector<int>& members = groups[static_cast<std::size_t>(n.group)];
    if (std::find(members.begin(), members.end(), r.rank) == members.end())
      return wrong(fmt::format("is of group {}, the rank is not", n.group));
    if (n.op == CollectiveOp::send_recv) return wrong("is not a collective");
  } else if (n.kind != TraceKind::compute) {
    if (n.peer < 0 || static_cast<std::size_t>(n.peer) >= ranks || n.peer == r.rank)
      return wrong(fmt::format("goes to or comes from rank {}", n.peer));
  }
  return Ok{};
}

}  // namespace

Status check(const CommGroups& groups, std::span<const RankTrace> ranks) {
  std::map<int, std::pair<int, std::vector<SizedCall>>> calls;  // group -> a member and what it runs
  std::map<Message, int> open;                                  // sent, less received
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankTrace& r = ranks[i];
    if (r.rank != static_cast<int>(i)) return error(fmt::format("rank {} stands in place {}", r.rank, i));
    std::map<int, std::vector<SizedCall>> mine;
    for (std::size_t place = 0; place < r.nodes.size(); ++place) {
      const TraceNode& n = r.nodes[place];
      if (Status node = check_node(groups, r, place, ranks.size()); !node) return node;
      const double bytes = n.bytes.base();
      if (n.kind == TraceKind::collective) mine[n.group].emplace_back(n.op, bytes);
      if (n.kind == TraceKind::send) ++open[{r.rank, n.peer, n.tag, bytes}];
      if (n.kind == TraceKind::receive) --open[{n.peer, r.rank, n.tag, bytes}];
    }
    for (auto& [group, run] : mine) {
      const auto [first, is_first] = calls.try_emplace(group, r.rank, run);
      if (!is_first && first->second.second != run)
        return error(
            fmt::format("ranks {} and {} run different collectives of group {}", first->second.first, r.rank, group));
    }
  }
  for (const auto& [group, run] : calls)
    for (const int member : groups[static_cast<std::size_t>(group)]) {
      const auto runs = [group = group](const TraceNode& n) {
        return n.kind == TraceKind::collective && n.group == group;
      };
      if (member < 0 || static_cast<std::size_t>(member) >= ranks.size())
        return error(fmt::format("rank {} of group {} does not exist", member, group));
      const std::vector<TraceNode>& nodes = ranks[static_cast<std::size_t>(member)].nodes;
      if (std::none_of(nodes.begin(), nodes.end(), runs))
        return error(fmt::format("ranks {} and {} run different collectives of group {}", run.first, member, group));
    }
  for (const auto& [message, count] : open)
    if (count != 0)
      return error(fmt::format("rank {} to {}, tag {}, {} bytes: sent {} times more than received",
                               std::get<0>(message), std::get<1>(message), std::get<2>(message), std::get<3>(message),
                               count));
  return Ok{};
}

RankTrace pipeline_trace(const Pipeline& p, const PipelineTimeline& timeline, const PipelineRank& at,
                         const TaskWork& work) {
  const int stages = p.ranks * p.chunks;
  RankTrace trace{at.ranks[static_cast<std::size_t>(at.place)], {}};
  std::vector<int> before;  // what ended the task before
  for (const PipelineTask& task : timeline.tasks) {
    if (task.rank != at.place) continue;
    const bool forward = task.phase == PipelinePhase::forward, local = task.phase == PipelinePhase::backward_weight;
    const int stage = stage_at(p.schedule, p.ranks, task.rank, task.chunk), step = forward ? 1 : -1;
    // Messages carry the virtual stage that reads them, the micro-batch and the direction as tag.
    const auto message = [&](TraceKind kind, int reader, int peer_stage, std::vector<int> after) {
      const std::string_view way = forward ? "activations" : "gradients";
      TraceNode n{kind,
                  fmt::format("{} {} {}", kind == TraceKind::send ? "send" : "receive", way, task.micro_batch),
                  std::move(after),
                  p.send,
                  {},
                  at.message};
      n.peer = at.ranks[static_cast<std::size_t>(rank_of_stage(p.schedule, p.ranks, peer_stage))];
      n.tag = 2 * (reader / p.ranks * p.micro_batches + task.micro_batch) + (forward ? 0 : 1);
      return trace.add(std::move(n));
    };
    const auto other = [&](int s) {
      return !local && s >= 0 && s < stages && rank_of_stage(p.schedule, p.ranks, s) != task.rank;
    };
    std::vector<int> after = before;
    if (other(stage - step)) after.push_back(message(TraceKind::receive, stage, stage - step, after));
    before = work(task, std::move(after), trace);
    if (other(stage + step)) message(TraceKind::send, stage + step, stage + step, before);
  }
  return trace;
}

}  // namespace tilecast
