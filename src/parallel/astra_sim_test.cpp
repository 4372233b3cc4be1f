#include "parallel/astra_sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cluster/registry.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

std::string text_of(const std::vector<NamedText>& files, const std::string& name) {
  for (const NamedText& file : files)
    if (file.name == name) return file.text;
  return "";
}

TEST(AstraSim, NetworksOfANodeAndOfSeveral) {
  const auto cluster = cluster_of("hgx-h100", 16);
  ASSERT_TRUE(cluster.ok());
  CommGroups apart;
  for (int rank = 0; rank < 16; rank += 8) apart.push_back({rank, rank + 1, rank + 2, rank + 3});
  const auto two = network_dimensions(*cluster, 16, apart);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].npus, 8);
  EXPECT_NEAR(two[0].gb_per_s, 450, 1e-9);
  EXPECT_EQ(two[1].npus, 2);
  EXPECT_NEAR(two[1].gb_per_s, 50, 1e-9);
  EXPECT_NEAR(two[1].latency_ns * 2, in_seconds(cluster->inter->latency) * 1e9, 1e-6);
  EXPECT_EQ(network_dimensions(*cluster, 8, {{0, 1, 2, 3, 4, 5, 6, 7}}).size(), 1u);
  // Ranks in two groups: one dimension would make ASTRA-sim abort.
  const auto cut = network_dimensions(*cluster, 8, {{0, 1}, {0, 2}});
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].npus, 4);
  EXPECT_EQ(cut[1].npus, 2);
  EXPECT_EQ(cut[0].gb_per_s, cut[1].gb_per_s);
  EXPECT_EQ(network_dimensions(*cluster, 7, {{0, 1}, {0, 2}}).size(), 1u) << "seven cannot be cut";
}

TEST(AstraSim, EveryClusterHasANetwork) {
  for (const Cluster& cluster : built_in_clusters())
    for (const NetworkDimension& d : network_dimensions(cluster, cluster.gpus_per_node, {})) {
      EXPECT_GT(d.gb_per_s, 0) << cluster.name;
      EXPECT_GT(d.latency_ns, 0) << cluster.name;
    }
}

TEST(AstraSim, FilesParse) {
  const auto cluster = cluster_of("hgx-h100", 16);
  const auto files = astra_sim_files(*cluster, 16, {{0, 1}}, "step");
  EXPECT_THAT(text_of(files, "network.yml"),
              HasSubstr("topology: [ Switch, Switch ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 450.000, 50.000 ]"));
  const auto system = nlohmann::json::parse(text_of(files, "system.json"));
  EXPECT_EQ(system["all-to-all-implementation"], (nlohmann::json{"direct", "direct"}));
  EXPECT_EQ(system["preferred-dataset-splits"], 1);
  EXPECT_EQ(system["local-mem-bw"], 3352);
  EXPECT_TRUE(nlohmann::json::parse(text_of(files, "memory.json")).is_object());
  const TestFolder folder;
  const std::string script = folder.plain("run.sh", text_of(files, "run.sh"));
  EXPECT_EQ(std::system(("bash -n " + script).c_str()), 0);
  EXPECT_THAT(text_of(files, "run.sh"), HasSubstr("--workload-configuration=\"$here/step\""));
}

}  // namespace
}  // namespace tilecast
