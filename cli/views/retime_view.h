// Views of a re-timed trace; each takes values and returns text.
#pragma once

#include <string>

#include "tilecast/retime.h"

namespace tilecast {

std::string retime_text(const RetimeReport& report, Count top);
// For programs; field names are stable (docs/json.md).
std::string retime_json(const RetimeReport& report);

}  // namespace tilecast
