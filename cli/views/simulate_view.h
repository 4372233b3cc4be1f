// A simulated deployment as text, JSON, a table of requests and a timeline.
#pragma once

#include <string>

#include "tilecast/serving.h"

namespace tilecast {

std::string simulate_text(const SimulateQuery& query, const SimulationResult& run);
std::string requests_csv(const ServingOutcome& outcome);
// Chrome's trace format: steps of each replica, its cache and queue, and the first requests.
std::string timeline_json(const SimulationResult& run);

}  // namespace tilecast
