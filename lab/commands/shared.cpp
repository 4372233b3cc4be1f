#include "lab/commands/shared.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "lab/import/import.h"

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
  // A log gets one line per minute, a terminal a single line that is redrawn.
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

Result<std::vector<std::string>> tables_of(const std::vector<std::string>& named,
                                           const std::vector<std::string>& sources) {
  std::vector<std::string> paths;
  std::error_code ignored;
  bool folder = false;
  for (const std::string& path : named) {
    if (!std::filesystem::is_directory(path, ignored)) {
      paths.push_back(path);
      continue;
    }
    folder = true;
    auto below = tables_of_sources(path, sources);
    if (!below) return below;
    if (below->empty()) return Error{path, "", "holds no table of a known source", "--sources names which to look for"};
    paths.insert(paths.end(), below->begin(), below->end());
  }
  if (!folder && !sources.empty())
    return Error{"", "sources", "chooses tables of a folder, and --data names none", "leave it out"};
  return paths;
}

}  // namespace tilecast
