#include "engine/run_width.h"

#include <algorithm>

#include "constants/intervals.h"

namespace tilecast {

using namespace constants;

namespace {

Width width_from(const WidthConstants& c) { return {c.down, c.up}; }

}  // namespace

RunKind kind_of(const Program& program, bool several_gpus) {
  const bool trains = std::any_of(program.sections.begin(), program.sections.end(),
                                  [](const auto& section) { return section.pass == Pass::backward; });
  if (trains) return several_gpus ? RunKind::training_over : RunKind::training;
  return several_gpus ? RunKind::inference_over : RunKind::inference;
}

Width run_width(RunKind kind) {
  switch (kind) {
    case RunKind::inference: return width_from(kStepWidth);
    case RunKind::inference_over: return width_from(kStepOverWidth);
    case RunKind::training: return width_from(kTrainingWidth);
    case RunKind::training_over: return width_from(kTrainingOverWidth);
  }
  return {};
}

Width host_width() { return width_from(kHostWidth); }

Interval of_whole_run(const Interval& parts, Seconds forecast, RunKind kind, Seconds least) {
  if (!(parts.low < parts.high)) return parts;
  const Width width = joined(width_of(parts, forecast), run_width(kind));
  const Interval whole = around(forecast, wider(width, {kNoiseWidth, kNoiseWidth}));
  return {std::max(whole.low, std::min(least, forecast)), whole.high};
}

}  // namespace tilecast
