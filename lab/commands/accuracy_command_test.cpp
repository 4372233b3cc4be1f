// `tilecast accuracy` through the real binary, on a folder the test makes beside our own measurements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/cli_testing.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(AccuracyCommandTest, WritesTheDocumentAndItsPlots) {
  TestFolder folder;
  for (const char* part : {"aiconfigurator", "neusight/kernels_train", "neusight/kernels_test", "synperf"})
    std::filesystem::create_directories(folder.file(part));
  std::string table = "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";
  for (const char* gpu : {"H100-SXM", "L40S"})
    for (int rows = 1; rows <= 30; ++rows)
      table += fmt::format("{},mine,vllm,1,k,softmax,bf16,rows={};cols=4096,graph,warm,{}\n", gpu, rows * 64, 5 + rows);
  folder.gzip("aiconfigurator/softmax.csv.gz", table);
  const std::string command = "accuracy --data " + folder.file("") +
                              " --measurements " TILECAST_SOURCE_DIR
                              "/data/measurements --families softmax --sample 20 --trees 3 -o ";
  const Ran ran = run_tilecast(command + folder.file("accuracy.md"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("pages beside it and 3 plots"));
  std::string text = folder.content("accuracy.md");
  for (const char* page : {"analytic", "gpu-left-out", "plans"}) text += folder.content(std::string("accuracy/") + page + ".md");
  for (const char* words :
       {"up to 20 of every table", "| mine | softmax | bf16 | L40S | 20 |", "## Learned, GPU left out",
        "## Planned demands against hardware counters", "by GPU and family, GPU left out](plots/errors.svg)"})
    EXPECT_THAT(text, HasSubstr(words));
  for (const char* plot : {"errors", "forecasts", "residuals"})
    EXPECT_THAT(folder.content(std::string("plots/") + plot + ".svg"), testing::StartsWith("<svg ")) << plot;
  EXPECT_THAT(run_tilecast(command + folder.file("no/such/accuracy.md")).err, HasSubstr("cannot be made"));
  EXPECT_THAT(run_tilecast("accuracy --data /nonexistent -o x.md").err, HasSubstr("/nonexistent"));
}

}  // namespace
}  // namespace tilecast
