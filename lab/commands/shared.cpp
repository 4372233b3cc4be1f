#include "lab/commands/shared.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace tilecast {

std::string summary_of(const ReadReport& report) {
  std::string text = fmt::format("{} rows", report.rows);
  if (report.bad > 0) text += fmt::format(", {} bad rows skipped", report.bad);
  for (const auto& [reason, rows] : report.left_out) text += fmt::format("\n  left out: {} rows, {}", rows, reason);
  for (const std::string& problem : report.problems) text += "\n  " + problem;
  return text + "\n";
}

Progress terminal_progress() {
  using Clock = std::chrono::steady_clock;
  const bool terminal = isatty(STDERR_FILENO);
  const auto start = Clock::now();
  // A log gets a line a minute, a terminal one line that changes.
  return [terminal, start, last = start](double share, std::string_view what) mutable {
    const auto now = Clock::now();
    const double spent = std::chrono::duration<double>(now - start).count();
    const std::string left = share > 0 ? fmt::format(", {:.0f} s left", spent * (1 - share) / share) : "";
    if (terminal) {
      fmt::print(stderr, "\r\033[K{:3.0f} %{}  {}", share * 100, left, what);
      if (share >= 1) fmt::print(stderr, "\r\033[K");
    } else if (now - last > std::chrono::minutes(1)) {
      last = now;
      fmt::print(stderr, "{:3.0f} %{}  {}\n", share * 100, left, what);
    }
    std::fflush(stderr);
  };
}

TrainAllOptions train_options(const std::vector<std::string>& families, Count trees, int threads) {
  TrainAllOptions options;
  options.families = families;
  options.train.set_trees(static_cast<int>(trees));
  options.train.set_threads(threads);
  return options;
}

// Every table under a folder that an importer reads; power_* files are steady-state runs of another protocol.
Result<std::vector<std::string>> tables_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code failure;
  for (const char* part : {"aiconfigurator", "neusight/kernels_train", "neusight/kernels_test", "synperf"}) {
    const fs::path below = fs::path(folder) / part;
    for (fs::directory_iterator at(below, failure), end; !failure && at != end; at.increment(failure)) {
      const fs::directory_entry& entry = *at;
      const std::string name = entry.path().filename().string();
      const bool other = name.starts_with("power_") || name.starts_with("_") || name.starts_with("e2e") ||
                         name.find("allreduce") != std::string::npos || name.starts_with("nccl") ||
                         name.starts_with("deepep") || name.find("alltoall") != std::string::npos ||
                         name.find("_module") != std::string::npos;
      if (name.ends_with(".csv.gz") && !other) paths.push_back(entry.path().string());
    }
    if (failure)
      return Error{below.string(), "", "cannot be listed", "--data names the folder with the measured tables"};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::vector<std::string>> tables_of(const std::vector<std::string>& named) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& path : named) {
    if (!std::filesystem::is_directory(path, ignored)) {
      paths.push_back(path);
      continue;
    }
    auto below = tables_below(path);
    if (!below) return below;
    paths.insert(paths.end(), below->begin(), below->end());
  }
  return paths;
}

}  // namespace tilecast
