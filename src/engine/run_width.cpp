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

Width run_scale(RunKind kind) {
  switch (kind) {
    case RunKind::inference:
    case RunKind::training: return width_from(kOneGpuScale);
    case RunKind::inference_over: return width_from(kStepOverScale);
    case RunKind::training_over: return width_from(kTrainingOverScale);
  }
  return {};
}

Width run_width(const Width& parts, RunKind kind) {
  const Width noise{kNoiseWidth, kNoiseWidth}, open = wider(parts, noise), scale = run_scale(kind);
  return wider({open.down * scale.down, open.up * scale.up}, noise);
}

Width host_width() { return width_from(kHostWidth); }

Interval of_whole_run(const Interval& parts, Seconds forecast, RunKind kind, const RunLimits& limits) {
  if (!(parts.low < parts.high)) return parts;
  const Width open = width_of(parts, forecast);
  const Width width = limits.host_bound ? wider(open, {kNoiseWidth, kNoiseWidth}) : run_width(open, kind);
  const Interval whole = around(forecast, width);
  return {std::max(whole.low, std::min(limits.least, forecast)), whole.high};
}

}  // namespace tilecast
