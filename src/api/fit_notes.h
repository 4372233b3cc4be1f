// Whether a model fits, said by one rule wherever it is asked (parallel/smaller_steps.h).
#pragma once

#include <string>
#include <vector>

#include "api/step_run.h"
#include "serve/deployment.h"
#include "tilecast/step.h"

namespace tilecast {

// Of a step's memory, a rank's where there are many. Adds nothing where it fits for sure.
void add_fit_note(const AskedStep& asked, const std::vector<StepMemory>& ranks, std::vector<std::string>& notes);
// Of a server's.
void add_fit_note(const DeploymentOptions& options, std::vector<std::string>& notes);

}  // namespace tilecast
