// Tables of docs/accuracy.md about whole models: functions from results to Markdown.
#pragma once

#include <string>
#include <vector>

#include "lab/evidence/endtoend_result.h"

namespace tilecast {

// Everything that was judged, source by source; a source without results is omitted.
std::string end_to_end_report(const std::vector<EndToEndResult>& results);

}  // namespace tilecast
