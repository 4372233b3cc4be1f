#include "parallel/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/chrome_trace.h"

namespace tilecast {
namespace {

int lane_of(int rank, bool beside) { return 2 * rank + (beside ? 2 : 1); }

std::string lane_name(int rank, int alike) {
  if (alike == 1) return fmt::format("rank {}", rank);
  return fmt::format("ranks {}–{}", rank * alike, (rank + 1) * alike - 1);
}

void write_lanes(ChromeTrace& trace, int process, const StepLanes& step) {
  trace.process(process, step.title);
  for (int rank = 0; rank < static_cast<int>(step.timeline.busy.size()); ++rank) {
    const std::string name = lane_name(rank, step.alike);
    trace.thread(process, lane_of(rank, false), name);
    if (std::any_of(step.spans.begin(), step.spans.end(),
                    [&](const LaneSpan& s) { return s.rank == rank && s.beside; }))
      trace.thread(process, lane_of(rank, true), name + " communication");
  }
  for (const PipelineTask& t : step.timeline.tasks) {
    const std::string name = fmt::format("{} {}", name_of(t.phase), t.micro_batch);
    trace.span(process, lane_of(t.rank, false), {name, name_of(t.phase), t.begin, t.end - t.begin},
               {{"micro_batch", std::to_string(t.micro_batch)}, {"chunk", std::to_string(t.chunk)}});
  }
  for (const LaneSpan& s : step.spans)
    trace.span(process, lane_of(s.rank, s.beside), {s.name, s.category, s.begin, s.end - s.begin});
}

}  // namespace

std::string_view name_of(PipelinePhase phase) {
  switch (phase) {
    case PipelinePhase::forward: return "forward";
    case PipelinePhase::backward: return "backward";
    case PipelinePhase::backward_input: return "backward input";
    case PipelinePhase::backward_weight: return "backward weight";
  }
  return "";
}

std::string lanes_json(std::span<const StepLanes> steps) {
  ChromeTrace trace;
  int process = 0;
  for (const StepLanes& step : steps) write_lanes(trace, ++process, step);
  return trace.text();
}

}  // namespace tilecast
