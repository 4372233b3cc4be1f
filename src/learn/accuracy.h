// The generated part of docs/accuracy.md: forecasts against measured rows, as Markdown tables.
//
// Sample of the output:
//   | family | dtype | GPU | rows | forecast mean | median | p90 | bias | roofline mean |
//   |---|---|---|---:|---:|---:|---:|---:|---:|
//   | gemm | bf16 | H100-SXM | 6000 | 14.2 % | 10.1 % | 30.4 % | -3.0 % | 48.9 % |
#pragma once

#include <string>
#include <vector>

#include "learn/evaluate.h"

namespace tilecast {

// Rows measured faster than their bound, at most this share for every GPU, family and dtype.
inline constexpr double kMostViolations = 0.005;

// Errors of the analytic forecast beside the roofline's on the same rows.
std::string error_tables(const std::vector<Measurement>& rows, const std::vector<Outcome>& forecast,
                         const std::vector<Outcome>& roofline);

// Bound violations, known traps apart, and planned against measured launches.
std::string bound_tables(const std::vector<Measurement>& rows, const std::vector<Outcome>& forecast);

// Both from files of any known form: errors on a sample, the rest on every row.
Result<std::string> accuracy_report(const std::vector<std::string>& paths, const SampleOptions& sample,
                                    const ReadOptions& read, int threads);

}  // namespace tilecast
