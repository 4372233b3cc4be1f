// What every rank of a cluster does in a step, as a graph of nodes a rank: computation, collectives, messages. For
// those who simulate the network themselves (chakra.h writes it for ASTRA-sim).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/collective.h"
#include "parallel/pipeline.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

enum class TraceKind : std::uint8_t { compute, collective, send, receive };

struct TraceNode {
  TraceKind kind = TraceKind::compute;
  std::string name;
  std::vector<int> after;  // what it waits for: nodes of the same rank, by place, all before it
  Seconds duration;        // the forecast
  Ops work;                // of compute
  Bytes bytes;             // compute: to and from memory; else the message, as cluster/collective.h counts it
  CollectiveOp op = CollectiveOp::all_reduce;
  int group = -1;          // collective: who takes part, a place in the groups
  int peer = -1, tag = 0;  // send and receive: the other rank; what tells messages of the same two ranks apart
};
struct RankTrace {
  int rank = 0;
  std::vector<TraceNode> nodes;

  int add(TraceNode node) { return nodes.push_back(std::move(node)), static_cast<int>(nodes.size()) - 1; }
};
using CommGroups = std::vector<std::vector<int>>;

// Whether a simulation of all ranks can end: nodes wait for earlier ones, the members of a group run the same
// collectives in the same order, every message sent is received. A clear line otherwise; for tests of what makes
// traces.
Status check(const CommGroups& groups, std::span<const RankTrace> ranks);

// A rank's tasks of a pipeline with the messages between them. `work` appends the nodes of a task, the first of them
// waiting for `after`, and returns the nodes that end it.
//
// A rank waits for a message only once it has nothing else to do before: what it receives waits for the task before,
// and sends come first. So a simulator that runs one message of a rank at a time does not stall.
struct PipelineRank {
  std::span<const int> ranks;  // of the pipeline, in order of stages
  int place = 0;               // the one in question
  Bytes message;               // activations of a micro-batch, and their gradient
};
using TaskWork = std::function<std::vector<int>(const PipelineTask& task, std::vector<int> after, RankTrace& trace)>;
RankTrace pipeline_trace(const Pipeline& pipeline, const PipelineTimeline& timeline, const PipelineRank& rank,
                         const TaskWork& work);

}  // namespace tilecast
