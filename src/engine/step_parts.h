// A step's time by whatever its kernels are grouped by, and what most of it has in common.
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
  // What holds back most of it; nothing where nothing runs.
  std::optional<Resource> limited_by() const;
};

// In the order in which the groups first appear.
std::vector<StepPart> step_parts(const Program& program, const ProgramForecast& step,
                                 const std::function<std::string(const KernelCall&)>& group);
// By class of operator, kernels that nothing is known of apart.
std::vector<StepPart> step_classes(const Program& program, const ProgramForecast& step);
StepPart whole_step(const Program& program, const ProgramForecast& step);

// How the card stands to the kernels that take the time: of more than half of it, the weakest claim.
Seen seen_of(const Program& program, const ProgramForecast& step);

}  // namespace tilecast
