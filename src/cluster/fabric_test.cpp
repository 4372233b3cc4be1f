#include "cluster/fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_file.h"
#include "cluster/collective.h"
#include "cluster/embedded_clusters.h"
#include "cluster/registry.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(Fabric, BuiltInOnesJoinEveryCluster) {
  EXPECT_EQ(built_in_fabrics().size(), embedded_fabric_files().size());
  for (const Fabric& fabric : built_in_fabrics()) {
    EXPECT_FALSE(fabric.sources.empty()) << fabric.name;
    for (const Cluster& cluster : built_in_clusters()) {
      const auto with = with_fabric(cluster, fabric.name);
      ASSERT_TRUE(with.ok()) << with.error().line();
      // Written and read back, it is the same.
      const std::string text = cluster_json(*with);
      const auto again = parse_cluster(text, "again", built_in_cluster_text);
      ASSERT_TRUE(again.ok()) << again.error().line();
      EXPECT_EQ(cluster_json(*again), text);
    }
  }
}

TEST(Fabric, ComesAfterAnAt) {
  const auto four = cluster_of("hgx-h100:4@HDR-200");
  ASSERT_TRUE(four.ok()) << four.error().line();
  EXPECT_EQ(four->nodes, 4);
  EXPECT_EQ(four->name, "HGX-H100-8@HDR200");  // answers say which
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(four->inter->bandwidth), 25);
  EXPECT_EQ(four->inter->leaf_nodes, 20);
  const auto counted = cluster_of("64xH100@efa-v1");
  ASSERT_TRUE(counted.ok()) << counted.error().line();
  EXPECT_EQ(counted->gpus(), 64);
  EXPECT_EQ(counted->inter->rails, 4);  // a card for two GPUs
  EXPECT_FALSE(counted->inter->low_latency);
  EXPECT_EQ(cluster_of("hgx-h100@ndr400", 32)->nodes, 4);  // grows as it does without
  EXPECT_FALSE(cluster_of("hgx-h100@ethernet")->inter->gpudirect);
  EXPECT_THAT(cluster_of("hgx-h100@ndr401").error().line(), HasSubstr("unknown fabric 'ndr401' (did you mean NDR400"));
  EXPECT_THAT(cluster_of("hgx-h101@ndr400").error().line(), HasSubstr("unknown cluster 'hgx-h101'"));
}

TEST(Fabric, StandsInAFile) {
  const auto read = [](const std::string& inter) {
    return parse_cluster(R"({"like": "hgx-h100-8", "name": "ours", "nodes": 4, "inter": )" + inter + "}", "x",
                         built_in_cluster_text);
  };
  const auto plain = read(R"({"fabric": "ndr400"})");
  ASSERT_TRUE(plain.ok()) << plain.error().line();
  EXPECT_EQ(plain->inter->rails, 8);
  EXPECT_EQ(plain->inter->leaf_nodes, 32);
  const auto own = read(R"({"fabric": "ndr400", "oversubscription": 2, "sharp": true, "rails": 4, "pair_gb_per_s": 40,
                            "congestion": 1.2})");
  ASSERT_TRUE(own.ok()) << own.error().line();
  EXPECT_EQ(own->inter->rails, 4);
  EXPECT_TRUE(own->inter->sharp);
  EXPECT_DOUBLE_EQ(own->inter->oversubscription, 2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(own->inter->pair), 40);
  EXPECT_DOUBLE_EQ(*own->inter->congestion, 1.2);
  // A pair that slow is copied through the hosts, unless the file knows better.
  EXPECT_FALSE(read(R"({"pair_gb_per_s": 8})")->inter->gpudirect);
  EXPECT_TRUE(read(R"({"pair_gb_per_s": 8, "gpudirect": true})")->inter->gpudirect);
  EXPECT_TRUE(read(R"({"pair_gb_per_s": 12})")->inter->gpudirect);
  // Without a name the built-in cluster's network stays below.
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(read(R"({"leaf_nodes": 16, "hop_us": 0.3})")->inter->bandwidth), 50);

  const std::pair<const char*, const char*> mistakes[] = {
      {R"({"fabric": "nowhere"})", "inter.fabric: unknown fabric 'nowhere'"},
      {R"({"fabric": 3})", "inter.fabric: must be the name of a fabric"},
      {R"({"kind": "carrier-pigeon"})", "inter.kind: unknown kind 'carrier-pigeon'"},
      {R"({"oversubscription": 2})", "inter.oversubscription: needs switches to leave"},
      {R"({"oversubscription": 0.5, "leaf_nodes": 4})", "inter.oversubscription: must lie between 1 and 100"},
      {R"({"congestion": 0.5})", "inter.congestion: must lie between 1 and 100"},
      {R"({"hop_us": -1})", "inter.hop_us: must lie between 0 and 1000"},
      {R"({"leaf_nodes": 1.5})", "inter.leaf_nodes: must be a whole number"},
      {R"({"sharp": 1})", "inter.sharp: must be true or false"},
      {R"({"gpus_per_card": 0})", "inter.gpus_per_card: must be a whole number"},
      {R"({"pair_gb_per_s": 0})", "inter.pair_gb_per_s: must lie between 0.01"},
      {R"({"measured_as": "nowhere"})", "inter.measured_as: no network 'nowhere' was measured"},
      {R"({"hops": 3})", "hops"}};
  for (const auto& [inter, problem] : mistakes) {
    const auto refused = read(inter);
    ASSERT_FALSE(refused.ok()) << inter;
    EXPECT_THAT(refused.error().line(), HasSubstr(problem)) << inter;
  }
}

TEST(Fabric, MeasuredOnesAreForecastAsTheyRan) {
  // 16 GiB between a pair of the ten nodes at about 39.6 GB/s; all with all over two of them at 49 GB/s a GPU.
  const Cluster two = *cluster_of("hgx-h100:2@xxrjun-10-node");
  Collective call;
  call.op = CollectiveOp::all_to_all, call.bytes = gibibytes(16), call.ranks = 16, call.local = 8, call.groups = 1;
  const auto ran = forecast_collective(call, two, shipped_comm_constants());
  ASSERT_TRUE(ran.ok()) << ran.error().line();
  EXPECT_NEAR(in_gigabytes_per_second(ran->bus_bandwidth), 91.8, 2);
  EXPECT_EQ(ran->standing, kNetwork);
  call.ranks = 24, call.local = 8;  // nobody ran three nodes
  const Cluster three = *cluster_of("hgx-h100:3@xxrjun-10-node");
  EXPECT_EQ(forecast_collective(call, three, shipped_comm_constants())->standing, kBetween);
}

}  // namespace
}  // namespace tilecast
