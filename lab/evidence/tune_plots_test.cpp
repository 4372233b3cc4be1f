// The tuner's plots: what they show, and that docs/plots holds them as they are drawn today:
//   TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evidence --gtest_filter='TunePlots.*'
#include "lab/evidence/tune_plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/file.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kMeasurements = TILECAST_SOURCE_DIR "/data/measurements";

TEST(TunePlots, BarsAreAsLongAsTheStepsTake) {
  const std::string svg = step_plot({{"vllm_default", "prefill", "eager", 20, 20, 20},
                                     {"mine", "prefill", "eager", 10, 10, 10},
                                     {"mine", "prefill", "graph", 7.25, 7, 8}});
  EXPECT_THAT(svg, HasSubstr("vLLM's default"));
  EXPECT_THAT(svg, HasSubstr("20.00 ms"));
  EXPECT_THAT(svg, HasSubstr(">mine<"));
  EXPECT_THAT(svg, HasSubstr("width=\"430\""));  // the longest fills the plot, half the time half of it
  EXPECT_THAT(svg, HasSubstr("width=\"215\""));
  EXPECT_THAT(svg, Not(HasSubstr("7.25")));  // of prefills only the plain launches
}

TEST(TunePlots, StepsAreReadOrRefused) {
  const TestFolder folder;
  const auto read = [&](const std::string& text) { return read_steps(folder.plain("steps.csv", text)); };
  const auto fine = read("variant,step,runtime,ms,lowest_ms,highest_ms,watts\na,decode,graph,2.5,2.25,3,1\n");
  ASSERT_TRUE(fine) << fine.error().line();
  ASSERT_EQ(fine->size(), 1u);
  EXPECT_EQ((*fine)[0].variant, "a");
  EXPECT_EQ((*fine)[0].lowest, 2.25);
  EXPECT_FALSE(read("variant,step\na,decode\n"));
  EXPECT_FALSE(read("variant,step,runtime,ms,lowest_ms,highest_ms\na,decode,graph,-1,2,3\n"));
}

TEST(TunePlots, TheDocumentsAreDrawnFromTheMeasurements) {
  const auto plots = tune_plots(kMeasurements);
  ASSERT_TRUE(plots) << plots.error().line();
  ASSERT_EQ(plots->size(), 3u);
  EXPECT_THAT((*plots)[0].svg, testing::AllOf(HasSubstr("8192 tokens"), HasSubstr("our pick")));
  EXPECT_THAT((*plots)[2].svg, HasSubstr("26.97 ms"));
  for (const NamedPlot& plot : *plots) {
    const std::string path = TILECAST_SOURCE_DIR "/docs/plots/" + plot.file;
    if (std::getenv("TILECAST_UPDATE_DOCS")) std::ofstream(path) << plot.svg;
    const auto stored = read_text_file(path, 1 << 20);
    ASSERT_TRUE(stored) << stored.error().line();
    EXPECT_EQ(*stored == plot.svg, true) << path << ": TILECAST_UPDATE_DOCS=1 draws it anew";
  }
  EXPECT_FALSE(tune_plots("/nowhere"));
}

}  // namespace
}  // namespace tilecast
