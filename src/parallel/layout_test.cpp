#include "parallel/layout.h"

#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

ModelSpec model(const char* name) {
  auto spec = find_model(name);
  EXPECT_TRUE(spec) << name;
  return *spec;
}

std::string refusal(RankLayout layout, const char* name, Count sequence = 0) {
  const auto fine = check(layout, model(name), sequence);
  return fine ? "fine" : fine.error().line();
}

TEST(RankLayout, SaysWhyTensorParallelismDoesNotDivide) {
  RankLayout l;
  l.tp = 6;  // Llama-3.1-8B: 32 heads, 8 key heads
  const std::string line = refusal(l, "Llama-3.1-8B");
  EXPECT_NE(line.find("6 does not divide the 32 attention heads"), std::string::npos) << line;
  EXPECT_NE(line.find("nearest: tp 4 or 8"), std::string::npos) << line;
  l.tp = 16;  // more ranks than key heads: each head has a copy
  EXPECT_EQ(refusal(l, "Llama-3.1-8B"), "fine");
}

TEST(RankLayout, SaysWhyExpertsDoNotSpread) {
  RankLayout l;
  l.dp = 512, l.ep = 256;
  const std::string many = refusal(l, "Qwen3-30B-A3B");  // 128 experts
  EXPECT_NE(many.find("256 ranks are more than the 128 experts"), std::string::npos) << many;
  EXPECT_NE(many.find("nearest: ep 128"), std::string::npos) << many;
  l.ep = 48;
  EXPECT_NE(refusal(l, "Qwen3-30B-A3B").find("nearest: ep 32 or 64"), std::string::npos);
  l.dp = 8, l.ep = 16;
  EXPECT_NE(refusal(l, "Qwen3-30B-A3B").find("the 8 ranks of a stage"), std::string::npos);
  l.ep = 8;
  EXPECT_EQ(refusal(l, "Qwen3-30B-A3B"), "fine");
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("has no experts"), std::string::npos);
}

TEST(RankLayout, SaysWhyAPipelineIsTooDeep) {
  RankLayout l;
  l.pp = 48;
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("48 stages are more than the 32 layers"), std::string::npos);
  l.pp = 3, l.stage_layers = {10, 11, 12};
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("3 numbers that sum to 32"), std::string::npos);
  l.stage_layers = {10, 12, 10};
  EXPECT_EQ(refusal(l, "Llama-3.1-8B"), "fine");
}

TEST(RankLayout, SaysWhyContextsDoNotDivide) {
  RankLayout l;
  l.cp = 3;
  const std::string line = refusal(l, "Llama-3.1-8B", 8192);
  EXPECT_NE(line.find("that 6 divides, not 8192"), std::string::npos) << line;
  EXPECT_NE(line.find("nearest: cp 2 or 4"), std::string::npos) << line;
  l.cp = 4;
  EXPECT_EQ(refusal(l, "Llama-3.1-8B", 8192), "fine");
}

TEST(RankLayout, RefusesNonsense) {
  RankLayout l;
  l.tp = 0;
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("tp: must lie between 1"), std::string::npos);
  l.tp = 1, l.pp = l.chunks = 65536;  // more stages than an int has
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("chunks: times pp"), std::string::npos);
  l.pp = l.chunks = 1, l.dp = 8, l.ep = 65536, l.expert_tp = 65536;
  EXPECT_NE(refusal(l, "Qwen3-30B-A3B").find("more than the 128 experts"), std::string::npos);
  l = {};
  l.sequence_parallel = true;
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("sequence-parallel"), std::string::npos);
  l.sequence_parallel = false, l.dp = 8, l.shard_group = 3;
  EXPECT_NE(refusal(l, "Llama-3.1-8B").find("nearest: 2 or 4"), std::string::npos);
}

TEST(RankLayout, NeedsGpusThatAreThereAndJoined) {
  RankLayout l;
  l.tp = 8, l.dp = 4;
  Cluster cluster = *find_cluster("HGX-H100-8");
  cluster.nodes = 2;
  const auto few = check(l, cluster);
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().line().find("32 (tp x cp x dp x pp) are more than the 16 GPUs"), std::string::npos);
  EXPECT_NE(few.error().line().find("at most dp 2"), std::string::npos);
  cluster.nodes = 4, cluster.inter.reset();
  const auto apart = check(l, cluster);
  ASSERT_FALSE(apart);
  EXPECT_NE(apart.error().line().find("which nothing joins"), std::string::npos);
}

TEST(RankLayout, StagesShareLayersEvenlyAndTheLastHasFewest) {
  RankLayout l;
  l.pp = 4;
  EXPECT_EQ(layers_of_stages(l, 30), (std::vector<int>{8, 8, 7, 7}));
  l.chunks = 2;
  EXPECT_EQ(layers_of_stages(l, 16), std::vector<int>(8, 2));
}

TEST(RankLayout, GroupsLieAcrossNodesAsMegatronNumbersRanks) {
  RankLayout l;
  l.tp = 2, l.cp = 2, l.dp = 8, l.pp = 2;  // 64 ranks on nodes of eight
  EXPECT_EQ(group_of(l, Axis::tensor, 8).ranks, 2);
  EXPECT_EQ(group_of(l, Axis::tensor, 8).local, 0);  // neighbours
  EXPECT_EQ(group_of(l, Axis::context, 8).local, 2);
  EXPECT_EQ(group_of(l, Axis::data, 8).ranks, 16);  // context ranks hold the same weights
  EXPECT_EQ(group_of(l, Axis::data, 8).local, 4);
  EXPECT_EQ(group_of(l, Axis::pipeline, 8).local, 1);
  l.ep = 4;
  EXPECT_EQ(l.expert_replicas(), 8);
  EXPECT_EQ(group_of(l, Axis::expert_data, 8).ranks, 8);
  EXPECT_EQ(group_of(l, Axis::expert_data, 8).local, 2);
}

}  // namespace
}  // namespace tilecast
