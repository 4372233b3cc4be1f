#include "lab/evidence/retime_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "gpu/registry.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr double kShortKernel = 10e-6;  // s; below, launch and the profiler's own scatter count

struct CallErrors {
  std::vector<double> each;     // of shapes, absolute
  double weighted = 0, bias = 0, plain = 0, time = 0;

  void add(const TransferredWork& work) {
    const double seconds = in_seconds(work.recorded);
    each.push_back(std::abs(work.error()));
    weighted += seconds * std::abs(work.error()), bias += seconds * work.error();
    plain += seconds * std::abs(work.plain / work.recorded - 1);
    time += seconds;
  }
  std::string cells() const {
    if (each.empty()) return "0 | – | – | – | –";
    return fmt::format("{} | {:.1f} % | {:.1f} % | {:+.1f} % | {:.0f} %", each.size(), 100 * median(each),
                       100 * weighted / time, 100 * bias / time, 100 * plain / time);
  }
};

constexpr std::string_view kErrorColumns = "shapes | median | by time | bias | without a recording |\n";

std::string pair_table(const std::vector<TransferredPair>& pairs) {
  std::string text =
      "| program | recorded at | forecast at | time matched | all its kernels | median of shapes | by time |\n"
      "|---|---|---|---:|---:|---:|---:|\n";
  for (const TransferredPair& pair : pairs) {
    CallErrors errors;
    for (const TransferredWork& work : pair.transfer.work) errors.add(work);
    if (errors.each.empty()) continue;
    text += fmt::format("| {} | {} | {} | {:.0f} % | {:+.1f} % | {:.1f} % | {:.1f} % |\n", pair.program, pair.from,
                        pair.to, 100 * (pair.transfer.recorded / pair.transfer.total),
                        100 * (pair.transfer.forecast / pair.transfer.recorded - 1), 100 * median(errors.each),
                        100 * errors.weighted / errors.time);
  }
  return text + "\n";
}

std::string grouped_table(const std::map<std::string, CallErrors>& groups, std::string_view first) {
  std::string text = fmt::format("| {} | {}|---|---:|---:|---:|---:|---:|\n", first, kErrorColumns);
  for (const auto& [name, errors] : groups) text += fmt::format("| {} | {} |\n", name, errors.cells());
  return text + "\n";
}

}  // namespace

Result<std::vector<TransferredPair>> judge_transfers(const std::string& folder, const std::string& gpu_name,
                                                     const ModelSource& weights) {
  const auto gpu = find_gpu(gpu_name);
  if (!gpu) return gpu.error();
  std::map<std::string, std::map<std::string, Recording>> programs;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    const auto end = name.find(".json"), dash = name.rfind('-', end);
    if (end == std::string::npos || dash == std::string::npos) continue;
    auto recording = read_recording(entry.path().string());
    if (!recording) return std::move(recording).error();
    programs[name.substr(0, dash)].emplace(name.substr(dash + 1, end - dash - 1), *std::move(recording));
  }
  if (failure) return Error{folder, "", "cannot be listed: " + failure.message(), ""};
  std::vector<TransferredPair> pairs;
  for (const auto& [program, sizes] : programs)
    for (const auto& [from, first] : sizes)
      for (const auto& [to, second] : sizes)
        if (from != to) pairs.push_back({program, from, to, transfer(first, second, *gpu, &weights)});
  return pairs;
}

std::string transfer_report(const std::vector<TransferredPair>& pairs) {
  std::map<std::string, CallErrors> all, families;
  std::vector<double> totals;
  for (const TransferredPair& pair : pairs) {
    totals.push_back(std::abs(pair.transfer.forecast / pair.transfer.recorded - 1));
    for (const TransferredWork& work : pair.transfer.work) {
      all["all"].add(work);
      const bool tiny = in_seconds(work.recorded) / static_cast<double>(work.calls) < kShortKernel;
      all[tiny ? "calls under 10 µs" : "calls over 10 µs"].add(work);
      all[pair.program].add(work);
      families[std::string(describe(work.family))].add(work);
    }
  }
  std::string text =
      "# Kernels from another recording\n\n"
      "Steps of four PyTorch programs were recorded on an H200 at two batches and two lengths each "
      "(`data/measurements/traces/h200_programs`). The kernels of every recording are forecast from each of the other three "
      "of its program: the recorded time of the same call there times the ratio of the forecasts of the two shapes, which is "
      "what `tilecast retime` ([retime.md](../retime.md)) does between cards. Nothing was fitted or chosen on these "
      "rows. *By time*: mean error weighted by recorded time; *without a recording*: the same of the plain forecast.\n\n";
  if (!totals.empty())
    text += fmt::format("{} pairs of recordings; the sum of a recording's kernels is off by {:.1f} % in the median, at "
                        "most {:.1f} %.\n\n",
                        totals.size(), 100 * median(totals), 100 * *std::max_element(totals.begin(), totals.end()));
  text += grouped_table(all, "rows") + grouped_table(families, "family") + pair_table(pairs);
  text += "Time that is not matched is of kernels without a shape (fills, look-ups), or of operators that one of the two "
          "recordings calls more often. The recordings lack operators' scalars (data/measurements/README.md), so strides of "
          "convolutions and masks of attention are not known: plain forecasts of these are far off, their ratios are not.\n";
  return text;
}

}  // namespace tilecast
