// What the commands that read measured tables share.
#pragma once

#include <string>
#include <vector>

#include "lab/train/train_all.h"
#include "measure/measurement.h"
#include "tilecast/result.h"

namespace tilecast {

// Threads of commands that do not ask for a number; no result depends on it.
inline constexpr int kThreads = 2;

// "120 rows, 2 bad rows skipped", then a line for each reason.
std::string summary_of(const ReadReport& report);

// Progress with the time left.
Progress terminal_progress();

// Files as they are; folders of measured data as the tables of these sources, or of those that are read by default.
Result<std::vector<std::string>> tables_of(const std::vector<std::string>& named,
                                           const std::vector<std::string>& sources);

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads);

}  // namespace tilecast
