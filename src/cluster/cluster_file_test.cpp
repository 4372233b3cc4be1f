#include "cluster/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/embedded_clusters.h"
#include "cluster/registry.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const std::string kGood = R"({"name": "mine", "gpu": "H100-SXM", "gpus_per_node": 8, "nodes": 2,
  "intra": {"kind": "nvlink-switch", "gb_per_s": 450, "latency_us": 0.5, "nvls": true},
  "inter": {"kind": "infiniband", "gb_per_s": 50, "latency_us": 2.7, "rails": 8}})";

std::string without(std::string text, const std::string& part, const std::string& instead) {
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

TEST(ClusterFile, ReadsEveryField) {
  const auto cluster = parse_cluster(kGood, "mine.json", built_in_cluster_text);
  ASSERT_TRUE(cluster.ok()) << cluster.error().line();
  EXPECT_EQ(cluster->gpu.name, "H100-SXM");
  EXPECT_EQ(cluster->gpus(), 16);
  EXPECT_EQ(cluster->intra.kind, LinkKind::nvlink_switch);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cluster->intra.bandwidth), 450);
  EXPECT_DOUBLE_EQ(in_microseconds(cluster->intra.latency), 0.5);
  EXPECT_TRUE(cluster->intra.nvls);
  EXPECT_EQ(cluster->inter->rails, 8);
}

TEST(ClusterFile, BuiltInOnesAreCompleteAndReadBack) {
  EXPECT_EQ(built_in_clusters().size(), embedded_cluster_files().size());
  for (const EmbeddedFile& file : embedded_cluster_files()) {
    const auto cluster = parse_cluster(file.text, std::string(file.name), built_in_cluster_text);
    ASSERT_TRUE(cluster.ok()) << cluster.error().line();
    EXPECT_FALSE(cluster->sources.empty()) << file.name;
    const std::string text = cluster_json(*cluster);
    const auto again = parse_cluster(text, "again", built_in_cluster_text);
    ASSERT_TRUE(again.ok()) << again.error().line();
    EXPECT_EQ(cluster_json(*again), text);
    // The links are the GPU's own.
    const auto& links = cluster->gpu.links;
    EXPECT_EQ(cluster->intra.bandwidth, cluster->intra.kind == LinkKind::pcie ? links.pcie : links.nvlink) << file.name;
  }
}

TEST(ClusterFile, LikeOverridesAndInheritsNoSources) {
  const auto cluster = parse_cluster(R"({"like": "hgx-h100-8", "name": "half", "intra": {"gb_per_s": 225}})", "x",
                                     built_in_cluster_text);
  ASSERT_TRUE(cluster.ok()) << cluster.error().line();
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(cluster->intra.bandwidth), 225);
  EXPECT_TRUE(cluster->intra.nvls);
  EXPECT_TRUE(cluster->sources.empty());
}

TEST(ClusterFile, NamesForgiveAndSuggest) {
  EXPECT_EQ(find_cluster("HGX H100 8")->name, "HGX-H100-8");
  EXPECT_EQ(find_cluster("hgx-h100")->name, "HGX-H100-8");
  EXPECT_THAT(find_cluster("hgx-h10").error().line(), HasSubstr("did you mean"));
}

TEST(ClusterFile, SaysWhatIsWrongInOneLine) {
  const std::string inter = R"("inter": {"kind": "infiniband", "gb_per_s": 50, "latency_us": 2.7, "rails": 8})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {without(kGood, "H100-SXM", "H1000"), "gpu: unknown GPU 'H1000'"},
      {without(kGood, "450", "0"), "intra.gb_per_s: must lie between"},
      {without(kGood, "450", "900"), "intra.gb_per_s: is above the 450 GB/s that H100-SXM has"},
      {without(kGood, "0.5", "0"), "intra.latency_us: must lie between"},
      {without(kGood, "\"gpus_per_node\": 8", "\"gpus_per_node\": 0"), "gpus_per_node: must lie between"},
      {without(kGood, "\"gpus_per_node\": 8", "\"gpus_per_node\": 7.5"), "gpus_per_node: must be a whole number"},
      {without(kGood, inter, R"("notes": [])"), "inter: is missing: GPUs of 2 nodes cannot reach each other"},
      {without(kGood, "infiniband", "pigeons"), "inter.kind: unknown kind 'pigeons'"},
      {without(kGood, "nvlink-switch", "nvlink-mesh"), "intra.nvls: needs a switch"},
      {without(kGood, "nvlink-switch", "rope"), "intra.kind: unknown kind 'rope'"},
      {without(kGood, "H100-SXM", "L40S"), "intra.kind: L40S has no NVLink"},
      {without(kGood, "\"nvls\": true", "\"nvls\": 1"), "intra.nvls: must be true or false"},
      {without(kGood, "\"rails\"", "\"railz\""), "inter.railz: unknown field (did you mean rails?)"},
      {without(kGood, inter, R"("host_bridge": {"gpus": 4, "gb_per_s": 32}, )" + inter), "host_bridge: is for pcie"},
      {R"({"like": "nowhere"})", "like: unknown cluster 'nowhere'"},
      {R"({"like": 3})", "like: must be the name of a cluster"},
      {"{", "bad.json"},
      {"[]", "bad.json"}};
  for (const auto& [text, problem] : cases) {
    const auto cluster = parse_cluster(text, "bad.json", built_in_cluster_text);
    ASSERT_FALSE(cluster.ok()) << problem;
    EXPECT_THAT(cluster.error().line(), HasSubstr(problem));
    EXPECT_EQ(cluster.error().line().find('\n'), std::string::npos) << cluster.error().line();
  }
}

}  // namespace
}  // namespace tilecast
