// What the commands that read measured tables share.
#pragma once

#include <string>
#include <vector>

#include "lab/train/train_all.h"
#include "measure/measurement.h"
#include "tilecast/result.h"

namespace tilecast {

// Number of threads for commands without a flag for it; no result depends on it.
inline constexpr int kThreads = 2;

// "120 rows, 2 bad rows skipped", then a line for each reason.
std::string summary_of(const ReadReport& report);

// Progress with the time left.
Progress terminal_progress();

// Files as they are; for a folder of measured data, the tables of these sources, or of those read by default.
Result<std::vector<std::string>> tables_of(const std::vector<std::string>& named,
                                           const std::vector<std::string>& sources);

// A report as it is or, where a file is named, written there as a page of docs/accuracy that says which command made
// it.
Result<std::string> page_or_text(const std::string& report, std::string_view command, const std::string& out);

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads);

}  // namespace tilecast
