// A change detector: a few hundred forecasts of every kind, kept as figures in data/golden. Whoever changes the physics
// sees in the diff of that file what moved: `make golden` accepts today's figures.
//
// The file's lines are commands, each followed by the figures of its JSON output that the list below names:
//
//   tilecast kernel gemm --m 8 --n 4096 --k 4096 --gpu H100-SXM,L4
//     0.latency_us 15.672
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "cli/cli_testing.h"
#include "support/test_share.h"
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

constexpr std::size_t kStep = one_of(5);       // through commands
constexpr std::size_t kShownStep = one_of(9);  // through those that a document shows

TEST(Golden, ForecastsAreThoseThatWereAccepted) {
  const std::vector<Command> commands = golden();
  ASSERT_GT(commands.size(), 40u);
  if (std::getenv("TILECAST_ACCEPT_GOLDEN")) return accept(commands);
  std::size_t rows = 0;
  for (std::size_t c = 0; c < commands.size(); c += kStep) {
    const Command& command = commands[c];
    const Figures now = figures_of(command.line);
    ASSERT_EQ(now.size(), command.figures.size()) << command.line;
    for (std::size_t i = 0; i < now.size(); ++i, ++rows) {
      EXPECT_EQ(now[i].first, command.figures[i].first) << command.line;
      EXPECT_NEAR(now[i].second, command.figures[i].second, kTolerance * std::abs(command.figures[i].second))
          << command.line << ": " << now[i].first << "\n`make golden` accepts the change";
    }
  }
  EXPECT_GT(rows * kStep, 300u);
}

// A file as tools/golden/capture writes them, of one question.
std::string captured(const std::string& name, const std::string& said) {
  const std::string path = scratch_path(name);
  const Ran ran =
      run_shell("echo '{\"kind\":\"step\",\"command\":\"predict M\"," + said + "}' | gzip > '" + path + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  return path;
}
Ran compared(const std::string& before, const std::string& after, const std::string& flags = "") {
  return run_shell(TILECAST_SOURCE_DIR "/tools/golden/compare '" + before + "' '" + after + "' " + flags);
}

// tools/golden: the large set, kept outside the repository.
TEST(Golden, LargeSetsAreComparedFigureByFigure) {
  using testing::HasSubstr;
  const std::string before = captured("before.gz", R"("answer":[{"step_ms":2.0,"seen":"yes"}])");
  const Ran same = compared(before, before, "--exact");
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("1 questions (0 refused), 1 forecasts: 1 the same to the last digit"));
  const std::string rounded = captured("rounded.gz", R"("answer":[{"step_ms":2.0000000000002,"seen":"yes"}])");
  EXPECT_EQ(compared(before, rounded).code, 0);
  EXPECT_THAT(compared(before, rounded).out, HasSubstr("1 within 1e-12, 0 moved"));
  EXPECT_EQ(compared(before, rounded, "--exact").code, 1);
  const Ran moved = compared(before, captured("moved.gz", R"("answer":[{"step_ms":2.5,"seen":"no"}])"));
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.out, HasSubstr("step: step_ms: 1, by 0.2 at most: predict M: 2.0 -> 2.5"));
  EXPECT_THAT(moved.out, HasSubstr("step: seen: 1: predict M: yes -> no"));
  const Ran refused = compared(before, captured("refused.gz", R"("refused":"no such model")"));
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, HasSubstr("step: now refused: 1: predict M: no such model"));
}

TEST(Golden, LargeSetIsTheSameWhenAskedTwice) {
  const std::string once = scratch_path("once.gz"), again = scratch_path("again.gz");
  for (const std::string& path : {once, again}) {
    const Ran ran = run_shell(TILECAST_SOURCE_DIR "/tools/golden/capture '" + path +
                              "' --program '" TILECAST_BINARY "' --only tuning");
    ASSERT_EQ(ran.code, 0) << ran.err;
    if (kSanitized) break;  // the same answers twice are asked of the program that ships
  }
  if (kSanitized) std::filesystem::copy_file(once, again);
  const Ran ran = compared(once, again, "--exact");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, testing::ContainsRegex("48 questions .* 0 within 1e-12, 0 moved; 0 are asked only after"));
}

// A folder that looks like a checkout with its program built: what commands of documents write stays in it.
class Checkout {
 public:
  Checkout() : folder_(scratch_path("checkout")) {
    namespace fs = std::filesystem;
    fs::create_directories(folder_ + "/build");
    for (const char* name : {"data", "tools", "docs"})
      fs::create_directory_symlink(TILECAST_SOURCE_DIR "/" + std::string(name), folder_ + "/" + name);
    for (const char* path : {"tilecast", "build/tilecast"}) fs::create_symlink(TILECAST_BINARY, folder_ + "/" + path);
  }
  Checkout(const Checkout&) = delete;
  Checkout& operator=(const Checkout&) = delete;
  ~Checkout() { std::filesystem::remove_all(folder_); }

  // What a shell shows, line by line.
  std::vector<std::string> shown(const std::string& command) const {
    const Ran ran = run_shell("cd '" + folder_ + "' && PATH=.:$PATH && " + command);
    std::vector<std::string> lines = split(ran.out + ran.err, '\n');
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

 private:
  std::string folder_;
};

// A line without what differs from run to run, and digits that another compiler's order of additions changes.
std::string comparable(const std::string& line) {
  static const std::regex took("(fitted|searched) in [0-9.]+ m?s"), digits("([0-9][.][0-9]{6})[0-9]+");
  return std::regex_replace(std::regex_replace(line, took, "$1 in a while"), digits, "$1");
}

constexpr std::string_view kMore = "[...]";  // a block that ends with it shows the beginning

// What a document shows below the command at `at`: up to the next one or the end of the block.
struct ShownOutput {
  std::size_t first = 0, last = 0;  // [first, last)
  bool whole = true;
};
ShownOutput output_below(const std::vector<std::string>& lines, std::size_t at) {
  ShownOutput out{at + 1, at + 1, true};
  while (out.first < lines.size() && lines[out.first].empty()) ++out.first;
  out.last = out.first;
  while (out.last < lines.size() && !lines[out.last].starts_with("```") && !lines[out.last].starts_with("$ "))
    ++out.last;
  if (out.last > out.first && lines[out.last - 1] == kMore) --out.last, out.whole = false;
  while (out.last > out.first && lines[out.last - 1].empty()) --out.last;
  return out;
}

// Compares the outputs in a document with what is printed now, or puts the latter in their place; how many there are.
std::size_t held_outputs(const std::string& name, bool accepts) {
  const std::string path = TILECAST_SOURCE_DIR "/" + name;
  std::vector<std::string> lines = split(file_text(path), '\n');
  const Checkout checkout;
  const bool has_jq = run_shell("command -v jq").code == 0;
  std::size_t held = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("$ ")) continue;
    const ShownOutput shown = output_below(lines, i);
    if (shown.first == shown.last || (!has_jq && lines[i].find("| jq") != std::string::npos)) continue;
    if (held++ % kShownStep != 0 && !accepts) continue;
    std::vector<std::string> printed = checkout.shown(lines[i].substr(2));
    EXPECT_FALSE(printed.empty()) << name << ": " << lines[i];
    const std::size_t length = shown.last - shown.first;
    if (!shown.whole && printed.size() > length) printed.resize(length);
    if (accepts) {
      for (std::size_t k = 0; k < std::min(length, printed.size()); ++k)
        if (comparable(lines[shown.first + k]) == comparable(printed[k])) printed[k] = lines[shown.first + k];
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(shown.first),
                  lines.begin() + static_cast<std::ptrdiff_t>(shown.last));
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(shown.first), printed.begin(), printed.end());
      continue;
    }
    EXPECT_EQ(length, printed.size()) << name << ": " << lines[i] << "\n`make golden` mends it";
    for (std::size_t k = 0; k < std::min(length, printed.size()); ++k)
      EXPECT_EQ(comparable(lines[shown.first + k]), comparable(printed[k]))
          << name << ": " << lines[i] << "\n`make golden` mends it";
  }
  if (accepts) std::ofstream(path) << join(lines, "\n");
  return held;
}

// Documents show commands behind "$ ", and below them what they print: all of it, or its beginning and "[...]".
// docs/walkthrough.md, which needs a GPU for some, has a test of its own.
TEST(Golden, DocumentsShowWhatIsPrinted) {
  const bool accepts = std::getenv("TILECAST_ACCEPT_GOLDEN") != nullptr;
  std::vector<std::string> names = {"README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(TILECAST_SOURCE_DIR "/docs"))
    if (const std::string name = entry.path().filename(); name.ends_with(".md") && name != "walkthrough.md")
      names.push_back("docs/" + name);
  std::map<std::string, std::size_t> held;
  for (const std::string& name : names) held[name] = held_outputs(name, accepts);
  for (const char* name : {"README.md", "docs/parallel.md", "docs/serving.md", "docs/calibrate.md", "docs/tune.md",
                           "docs/json.md", "docs/models.md"})
    EXPECT_GE(held[name], 1u) << name << " holds no output any more";
}

}  // namespace
}  // namespace tilecast
