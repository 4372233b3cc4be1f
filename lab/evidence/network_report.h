// The part of docs/accuracy/collectives.md about calls between nodes.
#pragma once

#include <string>

#include "lab/fit/network_fit.h"

namespace tilecast {

std::string network_report(const NetworkJudgement& judged, const CommConstants& constants);

}  // namespace tilecast
