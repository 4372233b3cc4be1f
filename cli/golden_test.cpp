// A change detector: a few hundred forecasts of every kind, kept as figures in data/golden. Whoever changes the physics
// sees in the diff of that file what moved: `make golden` accepts today's figures.
//
// The file's lines are commands, each followed by the figures of its JSON output that the list below names:
//
//   tilecast kernel gemm --m 8 --n 4096 --k 4096 --gpu H100-SXM,L4
//     0.latency_us 15.672
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/cli_testing.h"
#include "support/text.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kPath = TILECAST_SOURCE_DIR "/data/golden/forecasts.txt";

// Figures of the JSON outputs that are forecasts, by their name.
const std::set<std::string, std::less<>> kFigures = {
    "latency_us",  "interval_us",  "bound_us",    "ceiling_us",  "step_ms",      "interval_ms",
    "bound_ms",    "host_ms",      "usable",      "total",       "num_blocks",   "mean_ttft_ms",
    "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "forecast_us", "mean_e2el_ms", "output_throughput"};

// Wide enough for another compiler's order of additions, far too narrow for a change of physics.
constexpr double kTolerance = 1e-9;

using Figures = std::vector<std::pair<std::string, double>>;

void gather(const nlohmann::json& value, const std::string& path, std::string_view name, Figures& out) {
  if (value.is_number() && kFigures.contains(name)) out.emplace_back(path, value.get<double>());
  if (value.is_object())
    for (const auto& [key, inner] : value.items())
      if (key != "breakdown" && key != "kernels") gather(inner, path.empty() ? key : path + "." + key, key, out);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      gather(value[i], path.empty() ? std::to_string(i) : path + "." + std::to_string(i), name, out);
}

struct Command {
  std::string line;
  Figures figures;
};

std::vector<Command> golden() {
  std::vector<Command> commands;
  std::istringstream file(file_text(kPath));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("tilecast ")) commands.push_back({line.substr(9), {}});
    else if (line.starts_with("  ") && !commands.empty()) {
      const std::size_t space = line.rfind(' ');
      commands.back().figures.emplace_back(line.substr(2, space - 2), std::strtod(line.c_str() + space, nullptr));
    }
  }
  return commands;
}

Figures figures_of(const std::string& line) {
  const Ran ran = run_tilecast(line + " --json");
  EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  Figures figures;
  gather(nlohmann::json::parse(ran.out, nullptr, false), "", "", figures);
  return figures;
}

void accept(const std::vector<Command>& commands) {
  std::string text = "# Made by `make golden`. A command per line, then the figures of its forecast.\n";
  for (const Command& command : commands) {
    text += "tilecast " + command.line + "\n";
    for (const auto& [path, value] : figures_of(command.line)) text += fmt::format("  {} {:.12g}\n", path, value);
  }
  std::ofstream(kPath) << text;
}

TEST(Golden, ForecastsAreThoseThatWereAccepted) {
  const std::vector<Command> commands = golden();
  ASSERT_GT(commands.size(), 40u);
  if (std::getenv("TILECAST_ACCEPT_GOLDEN")) return accept(commands);
  std::size_t rows = 0;
  for (const Command& command : commands) {
    const Figures now = figures_of(command.line);
    ASSERT_EQ(now.size(), command.figures.size()) << command.line;
    for (std::size_t i = 0; i < now.size(); ++i, ++rows) {
      EXPECT_EQ(now[i].first, command.figures[i].first) << command.line;
      EXPECT_NEAR(now[i].second, command.figures[i].second, kTolerance * std::abs(command.figures[i].second))
          << command.line << ": " << now[i].first << "\n`make golden` accepts the change";
    }
  }
  EXPECT_GT(rows, 300u);
}

// Documents show commands behind "$ ", and below them the first lines of what they print.
TEST(Golden, DocumentsShowWhatIsPrinted) {
  const bool accepts = std::getenv("TILECAST_ACCEPT_GOLDEN") != nullptr;
  for (const std::string name : {"README.md", "docs/parallel.md"}) {
    const std::string path = TILECAST_SOURCE_DIR "/" + name;
    std::vector<std::string> lines = split(file_text(path), '\n');
    std::size_t commands = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t at = lines[i].find("tilecast ");
      if (!lines[i].starts_with("$ ") || at == std::string::npos) continue;
      ++commands;
      const Ran ran = run_tilecast(lines[i].substr(at + 9));
      const std::vector<std::string> printed = split(ran.out + ran.err, '\n');
      std::size_t shown = i + 1;
      while (shown < lines.size() && lines[shown].empty()) ++shown;
      for (std::size_t k = 0; shown < lines.size(); ++shown, ++k) {
        if (lines[shown].starts_with("```") || lines[shown].starts_with("$ ")) break;
        ASSERT_LT(k, printed.size()) << name << ": " << lines[i];
        if (accepts) lines[shown] = printed[k];
        else EXPECT_EQ(lines[shown], printed[k]) << name << ": `make golden` mends it";
      }
    }
    EXPECT_GE(commands, 1u) << name;
    if (accepts) std::ofstream(path) << join(lines, "\n");
  }
}

}  // namespace
}  // namespace tilecast
