// Views of a re-timed trace; each takes values and returns text.
#pragma once

#include <string>

#include "tilecast/retime.h"

namespace tilecast {

std::string retime_text(const RetimeReport& report, Count top);

}  // namespace tilecast
