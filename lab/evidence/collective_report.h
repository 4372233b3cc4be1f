// The section of docs/accuracy.md about collectives.
#pragma once

#include <string>

#include "lab/fit/collective_fit.h"

namespace tilecast {

std::string collective_report(const CollectiveJudgement& judged);

}  // namespace tilecast
