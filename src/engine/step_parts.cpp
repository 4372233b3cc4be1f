#include "engine/step_parts.h"

#include <algorithm>

namespace tilecast {

std::optional<Resource> StepPart::limited_by() const {
  const auto most =
      std::max_element(limits.begin(), limits.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == limits.end() ? std::nullopt : std::optional(most->first);
}

std::vector<StepPart> step_parts(const Program& program, const ProgramForecast& step,
                                 const std::function<std::string(const KernelCall&)>& group) {
  std::vector<StepPart> parts;
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    const KernelCall& call = program.calls[i];
    const CallForecast& c = step.calls[i];
    const std::string name = group(call);
    auto at = std::find_if(parts.begin(), parts.end(), [&](const StepPart& p) { return p.name == name; });
    if (at == parts.end()) at = parts.insert(parts.end(), StepPart{name, {}, {}, 0, {}});
    const auto times = static_cast<double>(call.times);
    at->time += c.each * times;
    at->bound += c.bound * times;
    at->launches += call.times;
    at->limits[c.limited_by] += c.each * times;
  }
  return parts;
}

std::vector<StepPart> step_classes(const Program& program, const ProgramForecast& step) {
  return step_parts(program, step, [](const KernelCall& call) {
    return call.unknown ? "unknown (memory traffic only)" : std::string(name_of(call.op_class));
  });
}

StepPart whole_step(const Program& program, const ProgramForecast& step) {
  auto parts = step_parts(program, step, [](const KernelCall&) { return "step"; });
  return parts.empty() ? StepPart{"step", {}, {}, 0, {}} : std::move(parts.front());
}

Seen seen_of(const Program& program, const ProgramForecast& step) {
  Seconds calibrated, seen, sibling, all;  // each holds those before it
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    const CallForecast& c = step.calls[i];
    const Seconds t = c.each * static_cast<double>(program.calls[i].times);
    all += t;
    if (c.seen == Seen::calibrated) calibrated += t;
    if (c.seen == Seen::calibrated || c.seen == Seen::yes) seen += t;
    if (c.seen != Seen::no) sibling += t;
  }
  if (calibrated > all * 0.5) return Seen::calibrated;
  if (seen > all * 0.5) return Seen::yes;
  return sibling > all * 0.5 ? Seen::sibling : Seen::no;
}

}  // namespace tilecast
