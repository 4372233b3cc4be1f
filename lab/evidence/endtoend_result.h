// A measured step of a whole model once judged: its measured and forecast figures, and its labels.
// Separate from the cases (endtoend.h), so that reports need to know nothing about models and engines.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct EndToEndLabel {
  std::string source;  // its mapping's name: h200, argonne, synperf
  std::string gpu, engine, model;
  std::string mode;    // what a step does: prefill, decode, train, generate
  std::string detail;  // what else tells cases apart: "bf16", "autocast_bf16, checkpoint", a workload's name
  Count batch = 0, length = 0;
  std::string measured_by = {};  // where a source gathers runs of several
};

// Kinds beside those of engine/run_width.h.
inline constexpr std::string_view kHostKind = "host";

struct EndToEndResult {
  EndToEndLabel label;
  std::string quantity;  // step, forward, backward, optimizer, prefill, decode, total, memory, throughput
  double measured = 0;   // seconds, bytes of memory, or tokens a second of throughput
  double forecast = 0;
  double low = 0, high = 0;              // 80 % interval; none where both are 0
  double parts_low = 0, parts_high = 0;  // ... without what whole runs are off by beside their parts
  std::string kind;                      // whose width of whole runs it has: "inference, one GPU", "host"
  std::string steps_kind = {};           // of served loads: whose scale their parts have
  // Of served loads: how far the figure follows what first tokens and the tokens after them are off by.
  double of_first = 0, of_further = 0;
  bool host_bound = false;  // launches take longer than kernels, so say both the forecast and the measured row's tags
  bool fits = true;         // the cache and the weights together; else requests ran in waves
  std::vector<std::pair<std::string, double>> others = {};  // other methods' forecasts of the same row

  double ratio() const { return forecast / measured; }
  double error() const { return std::abs(ratio() - 1); }
  // Another method's figure; negative where it has none.
  double other(const std::string& method) const {
    for (const auto& [name, value] : others)
      if (name == method) return value;
    return -1;
  }
};

struct ErrorSummary {
  Count rows = 0;
  double mean = 0, median = 0, p90 = 0;
  double bias = 0;  // mean of forecast / measured - 1
};
ErrorSummary summary_of_errors(const std::vector<double>& ratios);

// Results of one kind, their ratios.
using ResultFilter = std::function<bool(const EndToEndResult&)>;
std::vector<double> ratios_of(const std::vector<EndToEndResult>& results, const ResultFilter& wanted);

// How many rows of a source became cases and how many were left out, and why, as results that reports, CSV and JSON
// carry along: source "SOURCE judged" and "SOURCE left out", the reason as detail, their number as the figure "rows".
std::vector<EndToEndResult> row_counts(const std::string& source, Count judged,
                                       const std::map<std::string, Count>& left_out);

// One line per result, for programs.
std::string end_to_end_csv(const std::vector<EndToEndResult>& results);
Result<std::vector<EndToEndResult>> read_end_to_end_csv(const std::string& path);
std::string end_to_end_json(const std::vector<EndToEndResult>& results);

}  // namespace tilecast
