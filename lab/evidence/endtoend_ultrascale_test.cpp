// nanotron's scaling runs: the reader on rows made here, and floors on the shared rows where they are there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "estimate/shipped_weights.h"
#include "lab/evidence/endtoend.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

constexpr const char* kHead =
    "gpu,nodes,model_label,layers,hidden_size,num_heads,num_kv_heads,intermediate_size,vocab_size,tied_embeddings,"
    "seq_len,micro_batch,grad_accum,dp,pp,tp,zero_stage,status,tokens_per_s_per_gpu,batch_consistent,peak_memory_gb\n";
std::string row(const char* layout, const char* rest) {
  return std::string("H100 SXM 80GB,2,1B,16,2048,32,32,8192,131072,1,4096,") + layout + "," + rest + "\n";
}

TEST(UltrascaleCases, AreNanotronsRuns) {
  TestFolder folder;
  const std::string path =
      folder.plain("u.csv", kHead + row("1,64,4,2,2,1", "ok,20000,1,11.3") + row("1,64,4,2,2,0", "crashed_or_oom,,1,") +
                                row("1,3,4,2,2,0", "ok,1,0,1") + row("1,64,0,2,2,0", "ok,1,1,1"));
  const auto cases = ultrascale_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  ASSERT_EQ(cases->cases.size(), 2u);
  const EndToEndCase& one = cases->cases.front();
  EXPECT_EQ(one.spread->layout.stage_layers, (std::vector<int>{11, 5}));
  EXPECT_EQ(one.spread->layout.sharding, Sharding::optimizer);
  EXPECT_TRUE(one.spread->layout.sequence_parallel);
  EXPECT_FALSE(one.spread->layout.gather_overlap);
  EXPECT_EQ(one.spread->cluster.nodes, 2);
  EXPECT_EQ(one.spread->cluster.inter->kind, "efa");  // the playbook's own fabric
  EXPECT_EQ(one.runs.front().workload.sequences(), 256);
  ASSERT_EQ(one.figures.size(), 2u);
  EXPECT_EQ(one.figures[0].measured, 20000.0 * 16);
  EXPECT_EQ(cases->cases[1].figures.front().name, "failed");
  EXPECT_EQ(cases->left_out.at("micro-batches do not make the global batch"), 1);
  EXPECT_EQ(cases->left_out.at("tp, pp and dp must be one or more"), 1);
  EXPECT_TRUE(judge_cases(cases->cases, Method::roofline, nullptr));
}

// Every seventh row: those that the choices were made on, and the largest model's, which judges them.
TEST(UltrascaleRows, ArePredicted) {
  const std::string path = TILECAST_SOURCE_DIR "/../shared/data/ultrascale/training.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/ultrascale";
  auto cases = ultrascale_cases(path);
  ASSERT_TRUE(cases) << cases.error().line();
  EXPECT_GT(cases->cases.size(), 1800u);
  std::vector<EndToEndCase> some;
  for (std::size_t i = 0; i < cases->cases.size(); i += 7) some.push_back(cases->cases[i]);
  LeftOutRows without;
  const auto judged = judge_cases(some, Method::tilecast, &shipped_models(), &without);
  ASSERT_TRUE(judged) << judged.error().line();
  const auto median = [&](const char* quantity) {
    return summary_of_errors(ratios_of(*judged, [&](const EndToEndResult& r) { return r.quantity == quantity; }))
        .median;
  };
  EXPECT_LE(median("throughput"), 0.1);
  EXPECT_LE(median("memory"), 0.12);
}

}  // namespace
}  // namespace tilecast
