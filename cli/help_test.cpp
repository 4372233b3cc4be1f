// Every command's help ends in examples of that very command, and every one of them runs as it is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cli/cli_testing.h"
#include "support/test_share.h"
#include "test_paths.h"

namespace tilecast {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Names below "Subcommands:", two spaces in.
std::vector<std::string> subcommands_of(const std::vector<std::string>& help) {
  std::vector<std::string> names;
  bool listed = false;
  for (const std::string& line : help) {
    if (line == "Subcommands:") listed = true;
    else if (line.empty()) listed = false;
    else if (listed && line.starts_with("  ") && line[2] != ' ')
      names.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
  }
  return names;
}

// Lines of the last part that begin with the program's name; what follows a backslash belongs to them.
std::vector<std::string> examples_of(const std::vector<std::string>& help) {
  std::vector<std::string> examples;
  for (const std::string& line : help) {
    if (!examples.empty() && examples.back().ends_with("\\")) {
      examples.back().pop_back();
      examples.back() += line;
    } else if (line.starts_with("  tilecast ")) {
      examples.push_back(line.substr(2));
    }
  }
  return examples;
}

// A folder that looks as the repository does from where examples are typed, and takes what they write.
class Workplace {
 public:
  Workplace() : folder_(scratch_path("examples")) {
    std::filesystem::create_directories(folder_);
    std::filesystem::create_directory_symlink(TILECAST_SOURCE_DIR "/data", folder_ + "/data");
    std::ofstream(folder_ + "/requests.csv") << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                                "2026-01-01 00:00:00.0,100,20\n2026-01-01 00:00:01.5,200,30\n";
  }
  ~Workplace() { std::filesystem::remove_all(folder_); }
  Ran run(const std::string& example) const {
    return run_shell("cd '" + folder_ + "' && '" TILECAST_BINARY "' " +
                     example.substr(std::string("tilecast ").size()));
  }

 private:
  std::string folder_;
};

std::vector<std::string> help_lines(const std::string& command) {
  const Ran ran = run_tilecast(command + " --help");
  EXPECT_EQ(ran.code, 0) << command;
  return lines_of(ran.out);
}

void expect_examples(const std::string& command, std::vector<std::string>& all) {
  const std::vector<std::string> help = help_lines(command);
  const std::vector<std::string> examples = examples_of(help);
  ASSERT_FALSE(examples.empty()) << command;
  for (const std::string& example : examples) {
    const std::string own = command.empty() ? "tilecast " : "tilecast " + command + " ";
    EXPECT_TRUE((example + " ").starts_with(own)) << command << ": " << example;
  }
  ASSERT_FALSE(help.empty());
  EXPECT_TRUE(help.back().starts_with("  ")) << command << " ends in: " << help.back();
  all.insert(all.end(), examples.begin(), examples.end());
  for (const std::string& sub : subcommands_of(help)) expect_examples(command.empty() ? sub : command + " " + sub, all);
}

std::vector<std::string> all_examples() {
  std::vector<std::string> examples;
  expect_examples("", examples);
  std::sort(examples.begin(), examples.end());
  examples.erase(std::unique(examples.begin(), examples.end()), examples.end());
  return examples;
}

void expect_to_run(const std::string& example, const Workplace& place) {
  if (example.find("--measure") != std::string::npos) return;  // takes a GPU
  if (example.starts_with("tilecast http") || example.starts_with("tilecast mcp"))
    return;                                                // serve until they are ended
  if (example.find(" > ~/") != std::string::npos) return;  // writes where a shell looks; manual_test completes for real
  const Ran ran = place.run(example);
  EXPECT_EQ(ran.code, 0) << example << "\n" << ran.err;
  EXPECT_FALSE(ran.out.empty()) << example;
}

bool is_of(const std::string& example, const std::string& command) {
  return example.starts_with("tilecast " + command + " ");
}

TEST(Help, EndsInExamples) { EXPECT_GT(all_examples().size(), 50u); }

void expect_to_run(const std::vector<std::string>& examples, std::size_t step) {
  const Workplace place;
  for (std::size_t i = 0; i < examples.size(); i += step) expect_to_run(examples[i], place);
}

// Plans apart, since they take longest.
TEST(Help, ExamplesRun) {
  std::vector<std::string> examples = all_examples();
  std::erase_if(examples, [](const std::string& example) { return is_of(example, "plan"); });
  expect_to_run(examples, one_of(7));
}

TEST(Help, ExamplesOfPlansRun) {
  std::vector<std::string> examples = all_examples();
  std::erase_if(examples, [](const std::string& example) { return !is_of(example, "plan"); });
  EXPECT_GT(examples.size(), 5u);
  expect_to_run(examples, one_of(5));
}

}  // namespace
}  // namespace tilecast
