// A step's time by any grouping of its kernels, and what most of it has in common.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/step.h"

namespace tilecast {

struct StepPart {
  std::string name;
  Seconds time, bound;
  Count launches = 0;
  std::map<Resource, Seconds> limits;  // the time that each holds back
  // What limits most of it; empty if nothing runs.
  std::optional<Resource> limited_by() const;
};

// In the order in which the groups first appear.
std::vector<StepPart> step_parts(const Program& program, const ProgramForecast& step,
                                 const std::function<std::string(const KernelCall&)>& group);
// By class of operator, with unknown kernels separate.
std::vector<StepPart> step_classes(const Program& program, const ProgramForecast& step);
StepPart whole_step(const Program& program, const ProgramForecast& step);

// How well the kernels that take the time are known on the card: the weakest level over more than half of it.
Seen seen_of(const Program& program, const ProgramForecast& step);

}  // namespace tilecast
