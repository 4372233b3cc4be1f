// What the commands that read measured tables share.
#pragma once

#include <string>
#include <vector>

#include "measure/measurement.h"
#include "lab/train/train_all.h"
#include "support/result.h"

namespace tilecast {

// Threads of commands that do not ask for a number; no result depends on it.
inline constexpr int kThreads = 2;

// "120 rows, 2 bad rows skipped", then a line for each reason.
std::string summary_of(const ReadReport& report);

// Progress with the time left.
Progress terminal_progress();

// Every table below the folder that holds aiconfigurator/, neusight/ and synperf/ that an importer reads.
Result<std::vector<std::string>> tables_below(const std::string& folder);
// Files as they are, such folders as their tables.
Result<std::vector<std::string>> tables_of(const std::vector<std::string>& named);

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads);

}  // namespace tilecast
