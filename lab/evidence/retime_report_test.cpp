#include "lab/evidence/retime_report.h"

#include <gtest/gtest.h>

#include "estimate/shipped_weights.h"
#include "support/statistics.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

// Floors of docs/accuracy/retime.md, on every pair of our recordings.
TEST(RetimeReport, KernelsFromAnotherBatchOrLengthAreWithinEightPercent) {
  const auto pairs =
      judge_transfers(TILECAST_SOURCE_DIR "/data/measurements/traces/h200_programs", "H200-SXM", shipped_models());
  ASSERT_TRUE(pairs) << pairs.error().line();
  EXPECT_EQ(pairs->size(), 48u);
  std::vector<double> shapes, sums;
  double wrong = 0, time = 0;
  for (const TransferredPair& pair : *pairs) {
    sums.push_back(std::abs(pair.transfer.forecast / pair.transfer.recorded - 1));
    for (const TransferredWork& work : pair.transfer.work) {
      shapes.push_back(std::abs(work.error()));
      wrong += std::abs(in_seconds(work.forecast - work.recorded)), time += in_seconds(work.recorded);
    }
  }
  EXPECT_LT(median(shapes), 0.08);
  EXPECT_LT(wrong / time, 0.08);
  EXPECT_LT(median(sums), 0.08);
  const std::string report = transfer_report(*pairs);
  EXPECT_NE(report.find("48 pairs"), std::string::npos);
  EXPECT_NE(report.find("| gpt2-training-eager | batch4_length1024_layers4 | batch8_length2048_layers4 |"),
            std::string::npos)
      << report;
}

TEST(RetimeReport, WhatIsNoFolderOrNoTraceIsSaid) {
  EXPECT_FALSE(judge_transfers("/nowhere/at/all", "H200-SXM", shipped_models()));
  const TestFolder folder;
  folder.plain("a-batch1.json", "{\"traceEvents\": [");
  EXPECT_FALSE(judge_transfers(folder.file(""), "H200-SXM", shipped_models()));
  EXPECT_FALSE(judge_transfers(folder.file(""), "NoCard", shipped_models()));
}

}  // namespace
}  // namespace tilecast
