#include "cluster/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/collective.h"
#include "cluster/comm_constants.h"
#include "gpu/registry.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

std::string line_of(const std::string& text, int gpus = 0) {
  const auto cluster = cluster_of(text, gpus);
  EXPECT_FALSE(cluster.ok()) << text;
  return cluster.ok() ? "" : cluster.error().line();
}

// Boards of four and eight, racks, PCIe servers, both networks.
TEST(ClusterRegistry, HasThePresets) {
  for (const char* name : {"hgx-a100-4", "hgx-a100-8", "hgx-h100-4", "hgx-h100-8", "hgx-h200-4", "hgx-h200-8",
                           "hgx-b200-4", "hgx-b200-8", "hgx-b300-4", "hgx-b300-8", "gb200-nvl72", "gb300-nvl72",
                           "l40s-pcie-8", "rtx-6000-ada-pcie-8", "rtx-pro-6000-pcie-8", "a40-pcie-8"}) {
    const auto cluster = find_cluster(name);
    ASSERT_TRUE(cluster.ok()) << name;
    EXPECT_TRUE(cluster->inter) << name;
  }
  EXPECT_EQ(find_cluster("hgx-h100-8")->inter->kind, "infiniband");
  EXPECT_EQ(find_cluster("a40-pcie-8")->inter->kind, "roce");
}

// A card made like another stands in its parent's server, joined by its own links, and says its own name.
TEST(ClusterRegistry, ACardOfOtherLinksIsJoinedByThem) {
  const auto gpu = [](const std::string& like, const std::string& links) {
    return *load_gpu(R"({"like": ")" + like + R"(", "name": "MINE", "links": )" + links + "}");
  };
  const Cluster own = node_of(*find_gpu("H100-SXM"));
  const Cluster slow = node_of(gpu("H100-SXM", R"({"nvlink_gb_per_s": 10})"));
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(slow.intra.bandwidth), 10);
  EXPECT_EQ(slow.name, "MINE in " + own.name);
  EXPECT_EQ(slow.gpus_per_node, own.gpus_per_node);
  const Cluster same = node_of(gpu("H100-SXM", "{}"));
  EXPECT_EQ(same.intra.bandwidth, own.intra.bandwidth);
  const Cluster bus = node_of(gpu("L40S", R"({"pcie_gb_per_s": 8})"));
  EXPECT_LT(bus.intra.bandwidth, node_of(*find_gpu("L40S")).intra.bandwidth);
  Collective call;
  call.op = CollectiveOp::all_reduce, call.bytes = mebibytes(64), call.ranks = 8;
  const auto fast = forecast_collective(call, own, shipped_comm_constants());
  const auto late = forecast_collective(call, slow, shipped_comm_constants());
  ASSERT_TRUE(fast && late);
  EXPECT_GT(late->latency / fast->latency, 20);
  EXPECT_TRUE(fast->seen);
  EXPECT_FALSE(late->seen);
  EXPECT_TRUE(forecast_collective(call, same, shipped_comm_constants())->seen);
}

TEST(ClusterRegistry, NamesGrowToWhatIsNeeded) {
  EXPECT_EQ(cluster_of("hgx-h100")->gpus(), 8);
  EXPECT_EQ(cluster_of("hgx-h100", 8)->nodes, 1);
  EXPECT_EQ(cluster_of("hgx-h100", 9)->nodes, 2);
  EXPECT_EQ(cluster_of("hgx-h100", 512)->gpus(), 512);
  EXPECT_EQ(cluster_of("hgx-h100:8")->gpus(), 64);
  EXPECT_EQ(cluster_of("HGX-H100-8:3", 20)->nodes, 3);
  EXPECT_THAT(line_of("hgx-h100", 2147483647), HasSubstr("more than 1048576 nodes"));
  EXPECT_EQ(line_of("hgx-h100:8", 65), "65 GPUs are needed and hgx-h100:8 has 64 (say hgx-h100:9)");
}

TEST(ClusterRegistry, NodesAndFabricsThatAreNoneAreNamed) {
  for (const char* nodes : {"0", "-1", "x", "1e18", ""})
    EXPECT_EQ(cluster_of(std::string("hgx-h100:") + nodes, 1).error().problem,
              std::string("'") + nodes + "' is not a number of nodes");
  EXPECT_EQ(cluster_of("hgx-h100@", 1).error().problem, "'hgx-h100@' names no fabric behind its @");
}

TEST(ClusterRegistry, CountedGpusFillThePresetThatHasThem) {
  for (const char* text : {"64xH100", "64\u00d7H100", "64X H100-SXM", "64*h100"}) {
    const auto cluster = cluster_of(text, 64);
    ASSERT_TRUE(cluster.ok()) << text << cluster.error().line();
    EXPECT_EQ(cluster->name, "HGX-H100-8");
    EXPECT_EQ(cluster->nodes, 8);
  }
  EXPECT_EQ(cluster_of("144xGB200")->nodes, 2);
  // Four of a kind are their own board; two, or 64 of a rack of 72, are part of a node.
  EXPECT_EQ(cluster_of("4xA100")->name, "HGX-A100-4");
  EXPECT_EQ(cluster_of("2xH100")->gpus(), 2);
  EXPECT_EQ(cluster_of("64xGB200")->gpus(), 64);
  const auto small = cluster_of("16xA100-SXM-40GB");
  ASSERT_TRUE(small.ok()) << small.error().line();
  EXPECT_EQ(small->gpu.name, "A100-SXM-40GB");
  EXPECT_EQ(small->nodes, 2);
  EXPECT_EQ(line_of("12xH100"), "12 H100-SXM do not fill nodes of 8 (8 or 16 do)");
  EXPECT_EQ(line_of("64xH100", 128), "128 GPUs are needed and 64xH100 has 64 (say 128xH100)");
  EXPECT_EQ(line_of("H100"), "'H100' is a GPU, not a cluster (say how many: 8xH100)");
  EXPECT_EQ(line_of("64"), "'64' is a number, not a cluster (say of which GPU: 64xH100)");
  EXPECT_THAT(line_of("8xH1000"), HasSubstr("unknown GPU"));
  for (const char* text : {"0xH100", "hgx-h100:0", "hgx-h100:x", "99999999999xH100", "", ":", "8x"})
    EXPECT_FALSE(cluster_of(text).ok()) << text;
}

// A card without a description of its servers stands in a plain one, whoever asks, and that is said.
TEST(ClusterRegistry, CardsThatNobodyDescribedStandInAPlainNode) {
  for (const char* name : {"L4", "A10", "T4", "L40", "RTX-3090", "RTX-4090", "RTX-A6000", "V100-PCIe", "A100-PCIe-80GB",
                           "A100-PCIe-40GB", "H100-PCIe", "H100-NVL", "GH200", "P4"}) {
    const Gpu gpu = *find_gpu(name);
    const Cluster node = node_of(gpu);
    EXPECT_EQ(node.gpu.name, gpu.name);
    EXPECT_EQ(node.intra.kind, LinkKind::pcie) << name;
    EXPECT_EQ(node.intra.bandwidth, gpu.links.pcie) << name;
    EXPECT_THAT(plain_node_note(node), HasSubstr("no node of " + gpu.name + " is described")) << name;
    const auto asked = cluster_of("8x" + gpu.name);
    ASSERT_TRUE(asked) << name;
    EXPECT_EQ(asked->name, node.name);
    EXPECT_EQ(asked->host_bridge->gpus, 4);
  }
  EXPECT_EQ(node_of(*find_gpu("V100-SXM")).intra.kind, LinkKind::nvlink_mesh);
  EXPECT_EQ(node_of(*find_gpu("A100-SXM-40GB")).name, "HGX-A100-8");
  EXPECT_EQ(node_of(*find_gpu("L40S")).name, "L40S-PCIe-8");
  for (const char* described : {"A100-SXM-40GB", "L40S", "H100-SXM"})
    EXPECT_EQ(plain_node_note(node_of(*find_gpu(described))), "") << described;
}

TEST(ClusterRegistry, FilesStayAsTheyAreAndNeedANetwork) {
  const TestFolder folder;
  folder.plain("apart.json", R"({"name": "apart", "gpu": "L40S", "gpus_per_node": 8,
                                 "intra": {"kind": "pcie", "gb_per_s": 32, "latency_us": 1, "nvls": false}})");
  folder.plain("joined.json", R"({"like": "hgx-h100-8", "name": "joined", "nodes": 2})");
  const std::string apart = folder.file("apart.json"), joined = folder.file("joined.json");
  EXPECT_EQ(cluster_of(apart, 8)->gpus(), 8);
  EXPECT_EQ(cluster_of(joined, 16)->gpus(), 16);
  EXPECT_EQ(cluster_of(joined + ":4", 32)->gpus(), 32);
  EXPECT_THAT(line_of(joined, 17), HasSubstr("17 GPUs are needed"));
  EXPECT_THAT(line_of(apart + ":2"),
              HasSubstr("the nodes of apart cannot reach each other (its file needs \"inter\")"));
}

}  // namespace
}  // namespace tilecast
