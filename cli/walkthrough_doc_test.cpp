// docs/walkthrough.md: its commands run, and what it says they print is what they print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "cli/cli_testing.h"
#include "support/file.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kRoot = TILECAST_SOURCE_DIR;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// `diagnose` and `tune` commands of the document's blocks that need no GPU, and the output that stands below them, if
// any.
std::map<std::string, std::vector<std::string>> commands_of(const std::string& document) {
  std::map<std::string, std::vector<std::string>> found;
  std::istringstream lines(document);
  std::string line;
  std::vector<std::string>* output = nullptr;
  for (bool inside = false; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      output = nullptr;
    } else if (inside) {
      const std::string command = line.starts_with("$ ") ? line.substr(2) : line;
      if (command.starts_with("build/tilecast ")) {
        const std::string rest = command.substr(15);
        const bool ours = rest.starts_with("diagnose ") || rest.starts_with("tune ");
        output = ours && rest.find("--measure") == std::string::npos ? &found[rest] : nullptr;
        if (!line.starts_with("$ ")) output = nullptr;
      } else if (output && !line.empty() && line.find("[...") == std::string::npos) {
        output->push_back(line);
      }
    }
  }
  return found;
}

TEST(WalkthroughDoc, CommandsPrintWhatItSays) {
  const auto document = read_text_file(kRoot + "/docs/walkthrough.md", 1 << 20);
  ASSERT_TRUE(document) << document.error().line();
  const auto commands = commands_of(*document);
  ASSERT_GE(commands.size(), 3u);
  const std::string scratch = scratch_path("walkthrough");
  std::filesystem::create_directories(scratch);
  std::string advised;
  for (const auto& [command, output] : commands) {
    std::string run = command;
    replace_all(run, " data/", " " + kRoot + "/data/");
    replace_all(run, "-o tuned", "-o " + scratch);
    Ran ran = run_tilecast(run);
    ASSERT_EQ(ran.code, 0) << command << "\n" << ran.err;
    replace_all(ran.out, scratch, "tuned");
    for (const std::string& line : output) EXPECT_THAT(ran.out, testing::HasSubstr(line)) << command;
    if (command.find("sglang_default") != std::string::npos) advised = ran.out;
  }
  // The report names the command that comes next.
  std::string next;
  for (const auto& [command, output] : commands)
    if (command.starts_with("tune fused-moe")) next = command;
  EXPECT_FALSE(next.empty());
  EXPECT_THAT(advised, testing::HasSubstr("tilecast " + next));
  std::filesystem::remove_all(scratch);
}

TEST(WalkthroughDoc, EveryPictureIsThere) {
  const auto document = read_text_file(kRoot + "/docs/walkthrough.md", 1 << 20);
  ASSERT_TRUE(document) << document.error().line();
  int pictures = 0;
  for (std::size_t at = document->find("](plots/"); at != std::string::npos; at = document->find("](plots/", at + 1)) {
    const std::string file = document->substr(at + 2, document->find(')', at) - at - 2);
    EXPECT_TRUE(std::filesystem::exists(kRoot + "/docs/" + file)) << file;
    ++pictures;
  }
  EXPECT_GE(pictures, 7);
}

}  // namespace
}  // namespace tilecast
