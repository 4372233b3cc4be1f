// What is worth saying of a run's number formats.
#pragma once

#include <string>
#include <vector>

#include "api/chosen_method.h"
#include "engine/run.h"
#include "parallel/forecast.h"
#include "serve/deployment.h"

namespace tilecast {

// What products run as on the card, and whether a wider format would be faster. `step`: the run's own time.
std::vector<std::string> format_notes(const Run& run, const Gpu& gpu, Seconds step, const ChosenMethod& method);
// ... over ranks: also what the engine refuses of a rank's part.
std::vector<std::string> rank_notes(const ParallelRun& run, const Cluster& cluster, Seconds step,
                                    const StepPricing& pricing);
// What a utilisation above 1 refers to; empty below.
std::string above_peak_note(const Run& run, const Gpu& gpu, double utilisation);

// The steps that a served load is made of.
struct ServedSteps {
  Count answers = 64, context = 1024;  // answers of a step, and the tokens before each; none: prompts alone are served
  Count prompt = 1024;                 // tokens; none: answers alone
};
// In which of these steps a wider format would be faster.
std::vector<std::string> slower_format_notes(const DeploymentOptions& options, const ServedSteps& steps,
                                             const ChosenMethod& method);
// What is worth saying of a deployment's formats, and what it does not do with prefixes.
std::vector<std::string> deployment_notes(const DeploymentOptions& options, const ServedSteps& steps,
                                          const ChosenMethod& method);

}  // namespace tilecast
