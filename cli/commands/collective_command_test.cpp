#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(CollectiveCommand, ShowsClustersSideBySide) {
  const Ran ran = run_tilecast("collective all_reduce --bytes 64K,1G --ranks 8 --cluster hgx-h100-8,hgx-b300-8");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words :
       {"HGX-H100-8", "HGX-B300-8 *", "80 % interval", "NVLS", "1,073,741,824", "no collective of this GPU"})
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

TEST(CollectiveCommand, GroupsThatShareNodes) {
  const auto us = [](const std::string& options) {
    const Ran ran = run_tilecast("collective all_reduce --bytes 1G --cluster hgx-h100 --json " + options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)[0]["bound_us"].get<double>();
  };
  // Sixteen ranks: of two nodes, eight network cards; one on each of sixteen nodes, one card and 15/8 of the bytes.
  EXPECT_NEAR(us("--ranks 16"), 2.7 + 1073741824 / 400e3, 0.01);
  EXPECT_NEAR(us("--ranks 16 --local 1"), 2.7 + 1.875 * 1073741824 / 50e3, 0.01);
}

TEST(CollectiveCommand, ExchangesOfTokens) {
  const Ran ran = run_tilecast("collective dispatch --tokens 16,4096 --ranks 32 --cluster hgx-h100,hgx-b300");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* words : {"tokens", "4,096", "HGX-B300-8 *", "deepep", "not measured on this GPU"})
    EXPECT_THAT(ran.out, HasSubstr(words));
  const Ran json = run_tilecast(
      "collective combine --tokens 128 --experts 128 --ranks 8 --cluster hgx-h100 --library deepep-ll --json");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto one = nlohmann::json::parse(json.out)[0];
  EXPECT_EQ(one["op"], "combine");
  EXPECT_EQ(one["tokens"], 128);
  EXPECT_EQ(one["experts"], 128);
  EXPECT_EQ(one["bytes_per_element"], 2);
  EXPECT_EQ(one["library"], "deepep-ll");
  EXPECT_GE(one["latency_us"], one["bound_us"]);
}

TEST(CollectiveCommand, MistakesAreOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"collective all_reduse --bytes 1M --cluster hgx-h100-8", "OP: must be all_reduce"},
      {"collective all_reduse --bytes 1M --cluster hgx-h100-8", "did you mean all_reduce"},
      {"collective all_reduce --bytes 1M --tokens 8 --cluster hgx-h100-8", "--tokens: is for dispatch"},
      {"collective all_reduce --bytes 1Q --cluster hgx-h100-8", "--bytes: is not a size: '1Q'"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-9", "--cluster: unknown cluster"},
      {"collective all_reduce --bytes 1M --ranks 9 --cluster hgx-h100-8 --nodes 1", "give it 2 nodes"},
      {"collective all_reduce --bytes 1M --ranks 9 --cluster hgx-h100-8:1", "say hgx-h100-8:2"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --library mpi", "--library: unknown library 'mpi'"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --dtype x", "--dtype: unknown number format"},
      {"collective all_reduce --bytes 1M --cluster hgx-h100-8 --eager", "--eager: is for the engines"},
      {"collective all_reduce --cluster hgx-h100-8", "--bytes: is missing"},
      {"collective all_reduce --bytes 1 --ranks 2147483647 --cluster hgx-h100-8", "--ranks: must lie between"},
      {"collective all_reduce --bytes 1 --local 2 --cluster hgx-h100-8", "--local: needs ranks"},
      {"collective dispatch --tokens 8 --ranks 8 --local 2 --cluster hgx-h100-8", "--local: is for collectives"},
      {"collective dispatch --cluster hgx-h100-8", "--tokens: is missing"},
      {"collective dispatch --bytes 1M --cluster hgx-h100-8", "--bytes: is for collectives (say tokens"},
      {"collective dispatch --tokens 0 --cluster hgx-h100-8", "--tokens: must lie between 1"},
      {"collective dispatch --tokens 8 --cluster hgx-h100-8 --library nccl", "--library: unknown library 'nccl'"},
      {"collective dispatch --tokens 8 --cluster hgx-h100-8 --dtype fp64", "--dtype: no tokens travel as 'fp64'"},
      {"collective dispatch --tokens 8 --cluster hgx-h100-8 --experts 4 --topk 2", "8 are more than the 4 experts"},
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
  for (const char* name : {"HGX-A100-4", "GB300-NVL72", "L40S-PCIe-8", "infiniband", "NDR400", "Slingshot-11"})
    EXPECT_THAT(ran.out, HasSubstr(name));
  EXPECT_GT(nlohmann::json::parse(run_tilecast("clusters --json").out).size(), 12U);
}

}  // namespace
}  // namespace tilecast
