// What is worth saying of a run's number formats.
#pragma once

#include <string>
#include <vector>

#include "api/chosen_method.h"
#include "engine/run.h"
#include "serve/deployment.h"

namespace tilecast {

// What products run as on the card, and whether a wider format would be faster. `step`: the run's own time.
std::vector<std::string> format_notes(const Run& run, const Gpu& gpu, Seconds step, const ChosenMethod& method);
// ... over ranks: what products run as, and what the engine refuses of a rank's part.
std::vector<std::string> rank_notes(const Run& run, const RankLayout& layout, const Gpu& gpu);
// ... of a deployment, by a step of 64 answers after 1,024 tokens; and what it does not do with prefixes.
std::vector<std::string> deployment_notes(const DeploymentOptions& options, const ChosenMethod& method);

}  // namespace tilecast
