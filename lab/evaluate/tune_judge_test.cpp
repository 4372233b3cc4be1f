// The tuner over our H200 sweeps: floors of its accuracy, and the tables of docs/tune.md, which are generated:
//   TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evaluate --gtest_filter='TuneDoc.*'
#include "lab/evaluate/tune_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gpu/registry.h"
#include "lab/evaluate/slow_rows.h"
#include "support/file.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kMeasurements = TILECAST_SOURCE_DIR "/data/measurements";
const std::string kSynperf = TILECAST_SOURCE_DIR "/../shared/data/synperf";

struct Means {
  std::vector<double> vllm, sglang, first, five;
};

Means judged(const std::vector<TunedShape>& shapes, bool fitted) {
  Means means;
  const auto gpu = find_gpu("H200-SXM");
  for (const TunedShape& shape : shapes) {
    if (fitted_to(shape.layer) != fitted) continue;
    const auto outcome = judge_shape(shape, *gpu);
    if (!outcome) {
      ADD_FAILURE() << outcome.error().line();
      continue;
    }
    EXPECT_GE(outcome->first, outcome->best_of_five);
    means.vllm.push_back(outcome->vllm);
    means.sglang.push_back(outcome->sglang);
    means.first.push_back(outcome->first);
    means.five.push_back(outcome->best_of_five);
  }
  return means;
}

TEST(TuneJudge, FusedMoeOnH200) {
  const auto shapes =
      read_moe_sweep(kMeasurements + "/h200_fused_moe.csv.gz", kMeasurements + "/h200_fused_moe_again.csv.gz");
  ASSERT_TRUE(shapes) << shapes.error().line();
  ASSERT_EQ(shapes->size(), 64u);
  const Means held = judged(*shapes, false), fitted = judged(*shapes, true);
  ASSERT_EQ(held.first.size(), 32u);
  ASSERT_EQ(fitted.first.size(), 32u);
  // What was measured, plus a little slack.
  EXPECT_LT(geometric_mean(held.first), 1.018);
  EXPECT_LT(geometric_mean(held.five), 1.008);
  EXPECT_LT(*std::max_element(held.first.begin(), held.first.end()), 1.06);
  EXPECT_LT(*std::max_element(held.five.begin(), held.five.end()), 1.03);
  EXPECT_LT(geometric_mean(fitted.first), 1.022);
  // Faster than the defaults.
  EXPECT_GT(geometric_mean(held.vllm) / geometric_mean(held.first), 1.05);
  EXPECT_GT(geometric_mean(held.sglang) / geometric_mean(held.first), 1.4);
}

TEST(TuneJudge, ProductsOnH200) {
  const auto shapes =
      read_gemm_sweep(kMeasurements + "/h200_gemm_tiles.csv.gz", kMeasurements + "/h200_gemm_tiles_again.csv.gz");
  ASSERT_TRUE(shapes) << shapes.error().line();
  const Means means = judged(*shapes, false);  // nothing was fitted to products
  ASSERT_EQ(means.first.size(), 24u);
  EXPECT_LT(geometric_mean(means.first), 1.04);
  EXPECT_LT(geometric_mean(means.five), 1.015);
}

// The defaults' rows of data/measurements/README.md, made by tools/tune/summary.py.
TEST(TuneJudge, AgreesWithTheSummaryOfTheSweep) {
  const auto shapes =
      read_moe_sweep(kMeasurements + "/h200_fused_moe.csv.gz", kMeasurements + "/h200_fused_moe_again.csv.gz");
  ASSERT_TRUE(shapes);
  Means all = judged(*shapes, true);
  const Means held = judged(*shapes, false);
  all.vllm.insert(all.vllm.end(), held.vllm.begin(), held.vllm.end());
  all.sglang.insert(all.sglang.end(), held.sglang.begin(), held.sglang.end());
  EXPECT_NEAR(geometric_mean(all.vllm), 1.080, 0.0006);
  EXPECT_NEAR(geometric_mean(all.sglang), 1.453, 0.0006);
  EXPECT_NEAR(*std::max_element(all.sglang.begin(), all.sglang.end()), 2.19, 0.006);
}

TEST(TuneJudge, MissingColumnsAreNamed) {
  const TestFolder folder;
  const std::string path = folder.plain("tune_judge.csv", "layer,tokens,hidden\nx,1,2\n");
  const auto shapes = read_moe_sweep(path, path);
  ASSERT_FALSE(shapes);
  EXPECT_THAT(shapes.error().line(), testing::HasSubstr("tune_judge.csv:2: inter: must be there"));
}

TEST(TuneJudge, NearBestCountsWhatIsInside) {
  const TestFolder folder;
  const std::string path = folder.file("tune_near_best.csv");
  const auto gpu = find_gpu("H800-SXM");
  Moe shape;
  shape.tokens = 64, shape.experts = 8, shape.topk = 2, shape.hidden = 4096, shape.inter = 1024;
  shape.pass = MoePass::up;
  const Format format = *format_from("bf16");
  const auto ranked = rank_fused_moe(shape, format, *gpu, triton_configs(format, *gpu), false);
  ASSERT_TRUE(ranked);
  const auto five = distinct_best(*ranked, 5);
  const auto write = [&](const TritonConfig& config) {
    std::ofstream(path)
        << "weight_type,M,E,topk,H,N,BLOCK_SIZE_M,BLOCK_SIZE_N,BLOCK_SIZE_K,GROUP_SIZE_M,num_warps,num_stages\n"
        << "w13,64,8,2,4096,1024," << text_of(config) << "\n";
    return *judge_near_best(path, *gpu);
  };
  const NearBest first = write(five[0].config), fifth = write(five[4].config), none = write({16, 16, 16, 1, 1, 1});
  EXPECT_EQ(first.first_inside + first.five_inside, 2);
  EXPECT_EQ(fifth.first_inside, 0);
  EXPECT_EQ(fifth.five_inside, 1);
  EXPECT_EQ(none.five_inside, 0);
  EXPECT_EQ(none.listed_share, 0);
}

TEST(TuneFlags, RankCorrelation) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 400}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 x 5).
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(22.5), 1e-12);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0);
}

TEST(TuneFlags, RowsAgainstCeilingsAndBestTimes) {
  const TestFolder files;
  const std::string folder = files.file("");
  std::filesystem::create_directories(folder + "moe_configs");
  std::ofstream(folder + "sweep.csv") << "weight_type,M,E,topk,H,N,avg_duration,hardware\n"
                                         "w13,64,8,2,1024,512,100,NVIDIA A40\nw13,96,8,2,1024,512,1000,NVIDIA A40\n";
  std::ofstream(folder + "moe_configs/moe_dse_A40_99.csv.gz")
      << "M,E,topk,H,N,avg_duration\n64,8,2,1024,512,50\n64,8,2,1024,512,40\n";
  const auto found = flagged_rows(folder + "sweep.csv", folder + "moe_configs");
  ASSERT_TRUE(found) << found.error().line();
  const std::vector<FlaggedRow>& rows = found->at("A40");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0].gain(), 2.5);
  EXPECT_EQ(rows[1].best_us, 0);
  // 64 x 2 rows by 1024 columns, 1024 deep: 2 x 128 x 1024 x 1024 operations at 84 SMs x 1024 x 1740 MHz.
  EXPECT_NEAR(rows[0].theory_us, 2.0 * 128 * 1024 * 1024 / (84 * 1024 * 1740.0), 1e-9);
  for (const Ceiling c : {Ceiling::learned, Ceiling::tuner}) {
    EXPECT_GT(rows[1].over(c), rows[0].over(c));
    EXPECT_GT(rows[1].gap(c), rows[0].gap(c));
    EXPECT_GT(rows[1].over(c), 10);
  }
}

const std::string kPath = TILECAST_SOURCE_DIR "/docs/tune.md";
constexpr std::string_view kMark = "<!-- below: generated by lab/evaluate/tune_judge_test.cpp -->\n";

TEST(TuneDoc, TablesAreTheJudges) {
  const auto doc = read_text_file(kPath, 1 << 20);
  ASSERT_TRUE(doc) << doc.error().line();
  const auto mark = doc->find(kMark);
  ASSERT_NE(mark, std::string::npos);
  auto tables = tune_tables_h200(kMeasurements);
  ASSERT_TRUE(tables) << tables.error().line();
  if (std::getenv("TILECAST_UPDATE_DOCS")) {
    const auto lists = tune_table_synperf(kSynperf + "/moe_configs");
    const auto flags = flag_tables(kSynperf);
    ASSERT_TRUE(lists) << lists.error().line();
    ASSERT_TRUE(flags) << flags.error().line();
    std::ofstream(kPath) << doc->substr(0, mark) + std::string(kMark) + "\n" + *tables + *lists + *flags;
  }
  EXPECT_THAT(*read_text_file(kPath, 1 << 20), testing::HasSubstr(*tables)) << "TILECAST_UPDATE_DOCS=1 rewrites it";
}

}  // namespace
}  // namespace tilecast
