// Fitting the factors of estimate/tuning.h to measured rows: a vendor, its generations, their kernel sources.
#pragma once

#include <map>
#include <span>
#include <string>

#include "measure/planned_rows.h"

namespace tilecast {

// Facts of every level that the rows have. Deterministic; needs no seed.
std::map<std::string, SourceFacts, std::less<>> fit_sources(std::span<const PlannedRow* const> rows);

}  // namespace tilecast
