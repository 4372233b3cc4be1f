#include "cli/collective_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(CollectiveCommand, SizesAsNcclTestsReadThem) {
  EXPECT_DOUBLE_EQ(*byte_count("256"), 256);
  EXPECT_DOUBLE_EQ(*byte_count("64K"), 65536);
  EXPECT_DOUBLE_EQ(*byte_count("1.5m"), 1572864);
  EXPECT_DOUBLE_EQ(*byte_count("2G"), 2147483648.0);
  for (const char* bad : {"", "K", "x", "-1", "1T", "9999999G"}) EXPECT_FALSE(byte_count(bad).ok()) << bad;
}

TEST(CollectiveCommand, ShowsClustersSideBySide) {
  const Ran ran = run_tilecast("collective all_reduce --bytes 64K,1G --ranks 8 --cluster hgx-h100-8,hgx-b300-8");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words :
       {"HGX-H100-8", "HGX-B300-8 *", "80 % interval", "NVLS", "1073741824", "no collective of this GPU"})
    EXPECT_THAT(ran.out, HasSubstr(words));
}

TEST(CollectiveCommand, JsonHasTheSameFigures) {
  const Ran ran =
      run_tilecast("collective all_gather --bytes 1M --cluster hgx-a100-8 --nodes 2 --library custom --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json[0]["ranks"], 16);
  EXPECT_EQ(json[0]["bytes"], 1048576);
  EXPECT_GE(json[0]["latency_us"], json[0]["bound_us"]);
  EXPECT_LE(json[0]["interval_us"][0], json[0]["latency_us"]);
  EXPECT_GE(json[0]["interval_us"][1], json[0]["latency_us"]);
  EXPECT_EQ(json[0]["seen"], true);
}

TEST(CollectiveCommand, MistakesAreOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"collective all_reduse --bytes 1M --cluster hgx-h100-8", "did you mean all_reduce"},
      {"collective all_reduce --bytes 1Q --cluster hgx-h100-8", "--bytes: is no size: '1Q'"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-9", "--cluster: unknown cluster"},
      {"collective all_reduce --bytes 1M --ranks 9 --cluster hgx-h100-8 --nodes 1", "give it 2 nodes"},
      {"collective all_reduce --bytes 1M --ranks 9 --cluster hgx-h100-8:1", "say hgx-h100-8:2"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --library mpi", "--library: unknown library 'mpi'"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --dtype x", "--dtype: unknown number format"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --eager", "--eager: is for the engines"},
      {"collectives --data /nonexistent", "/nonexistent"}};
  for (const auto& [command, problem] : cases) {
    const Ran ran = run_tilecast(command);
    EXPECT_EQ(ran.code, 2) << command;
    EXPECT_THAT(ran.err, HasSubstr(problem)) << command;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

TEST(ClustersCommand, ListsThem) {
  const Ran ran = run_tilecast("clusters");
  ASSERT_EQ(ran.code, 0);
  for (const char* name : {"HGX-A100-4", "GB300-NVL72", "L40S-PCIe-8", "infiniband"})
    EXPECT_THAT(ran.out, HasSubstr(name));
  EXPECT_GT(nlohmann::json::parse(run_tilecast("clusters --json").out).size(), 12U);
}

}  // namespace
}  // namespace tilecast
