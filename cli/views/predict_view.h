// Views of steps; each takes values and returns text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/step_rows.h"
#include "support/marks.h"

namespace tilecast {

std::string describe(const StepSetting& setting);  // "decode 32 × 1 token after 2,048"
std::string notes_text(const std::vector<std::string>& notes);
// Of several steps side by side: what holds for all of them once, the rest with the step that it is said of.
std::string notes_text(const std::vector<StepForecast>& steps);

// One GPU each.
std::string predict_table(const StepRows& rows);
std::string breakdown_text(const StepForecast& step);
std::string compare_table(std::span<const StepForecast> steps);
std::string kernels_table(const StepForecast& step);

// Many.
std::string gpus_text(std::string_view cluster, int gpus, int gpus_per_node);  // "16 GPUs of HGX-H100 (2 nodes)"
std::string parallel_table(const StepRows& rows);
std::string parallel_breakdown(const StepForecast& step);

// Memory: of one GPU each, and of ranks.
std::string memory_table(const MemoryRows& rows);
std::string parallel_memory_table(const MemoryRows& rows);

// Names, then as many dashes as it takes, then why.
inline std::vector<std::string> refused_cells(std::vector<std::string> names, const Error& why, std::size_t dashes) {
  names.insert(names.end(), dashes, "–");
  names.push_back(marked(Mark::bad, "cannot run: " + why.problem));
  return names;
}

}  // namespace tilecast
