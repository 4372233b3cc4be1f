// What the commands that read measured tables share.
#pragma once

#include <string>
#include <vector>

#include "learn/measurement.h"
#include "learn/train_all.h"

namespace tilecast {

// Threads of commands that do not ask for a number; no result depends on it.
inline constexpr int kThreads = 2;

// "120 rows, 2 bad rows skipped", then a line for each reason.
std::string summary_of(const ReadReport& report);

// Progress with the time left.
Progress terminal_progress();

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads);

}  // namespace tilecast
