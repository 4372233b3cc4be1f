// What `tilecast-lab evaluate` found, for people and for programs (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "lab/evaluate/judge.h"
#include "lab/evaluate/speedup.h"

namespace tilecast {

// Errors by group: all figures of one method, or the mean errors of several side by side.
std::string errors_text(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods,
                        const std::vector<Key>& by);
std::string errors_json(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods,
                        const std::vector<Key>& by);

// Predicted speed-ups between GPUs.
std::string speedups_text(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods);
std::string speedups_json(const std::vector<Measurement>& rows, const std::vector<MethodOutcomes>& methods);

}  // namespace tilecast
