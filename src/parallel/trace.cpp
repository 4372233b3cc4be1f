#include "parallel/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/chrome_trace.h"

namespace tilecast {
namespace {

constexpr int kProcess = 1;
int lane_of(int rank, bool beside) { return 2 * rank + (beside ? 2 : 1); }

std::string_view name_of(PipelinePhase phase) {
  switch (phase) {
    case PipelinePhase::forward: return "forward";
    case PipelinePhase::backward: return "backward";
    case PipelinePhase::backward_input: return "backward input";
    case PipelinePhase::backward_weight: return "backward weight";
  }
  return "";
}

}  // namespace

std::string lanes_json(const std::string& title, const PipelineTimeline& timeline, std::span<const LaneSpan> spans) {
  ChromeTrace trace;
  trace.process(kProcess, title);
  for (int rank = 0; rank < static_cast<int>(timeline.busy.size()); ++rank) {
    trace.thread(kProcess, lane_of(rank, false), fmt::format("rank {}", rank));
    if (std::any_of(spans.begin(), spans.end(), [&](const LaneSpan& s) { return s.rank == rank && s.beside; }))
      trace.thread(kProcess, lane_of(rank, true), fmt::format("rank {} communication", rank));
  }
  for (const PipelineTask& t : timeline.tasks) {
    const std::string name = fmt::format("{} {}", name_of(t.phase), t.micro_batch);
    trace.span(kProcess, lane_of(t.rank, false), {name, name_of(t.phase), t.begin, t.end - t.begin},
               {{"micro_batch", std::to_string(t.micro_batch)}, {"chunk", std::to_string(t.chunk)}});
  }
  for (const LaneSpan& s : spans)
    trace.span(kProcess, lane_of(s.rank, s.beside), {s.name, s.category, s.begin, s.end - s.begin});
  return trace.text();
}

}  // namespace tilecast
