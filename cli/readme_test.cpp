// README.md: what its first commands promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli_testing.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

// The line of README.md that begins so, without `build/tilecast `.
std::string command_of_readme(const std::string& beginning) {
  std::istringstream lines(file_text(TILECAST_SOURCE_DIR "/README.md"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("build/tilecast " + beginning)) return line.substr(line.find(' ') + 1);
  return "";
}

// A build of minutes says how far it is, from the first line on, and the last thing shown is a forecast.
TEST(Readme, TheDemoShowsProgressAndEndsInAForecast) {
  const Ran ran = run_shell("make --no-print-directory -n -C '" TILECAST_SOURCE_DIR "' demo");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  std::string line, last_forecast;
  bool builds = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("cmake --build")) {
      builds = true;
      EXPECT_THAT(line, testing::Not(testing::AnyOf(HasSubstr(">"), HasSubstr("quiet")))) << "hides ninja's progress";
    }
    if (line.starts_with("build/tilecast ")) last_forecast = line.substr(line.find(' ') + 1);
  }
  EXPECT_TRUE(builds) << ran.out;
  const Ran shown = run_tilecast(last_forecast);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("limited by"));
}

TEST(Readme, TheExampleOverManyGpusFitsThem) {
  const std::string command = command_of_readme("predict Llama-3.1-70B --cluster");
  ASSERT_NE(command, "");
  const Ran ran = run_tilecast(command + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const nlohmann::json step = nlohmann::json::parse(ran.out)[0];
  EXPECT_EQ(step["gpus"], 64);
  EXPECT_EQ(step["fits"], true);
}

}  // namespace
}  // namespace tilecast
