#include "lab/evidence/convolutions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "estimate/shipped_weights.h"
#include "lab/evidence/norms.h"
#include "support/file.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kMeasurements = TILECAST_SOURCE_DIR "/data/measurements/";
const std::string kConvolutionsPage = TILECAST_SOURCE_DIR "/docs/accuracy/convolutions.md";
using JudgedTable = Result<std::vector<JudgedConvolution>>;

const JudgedTable& judged_shapes() {
  static const JudgedTable rows =
      judge_convolutions(kMeasurements + "h200_convolutions.csv.gz", "H200-SXM", shipped_models());
  return rows;
}
const JudgedTable& judged_layers() {
  static const JudgedTable rows =
      judge_convolutions(kMeasurements + "h200_convolution_layers.csv.gz", "H200-SXM", shipped_models());
  return rows;
}
const JudgedTable& judged_norms() {
  static const JudgedTable rows = judge_norms(kMeasurements + "h200_norms.csv.gz", "H200-SXM", shipped_models());
  return rows;
}

// Floors of what the page says, a little above its figures, on the half that nothing was chosen by.
TEST(Convolutions, AreForecastAsWellAsThePageSays) {
  for (const JudgedTable* table : {&judged_shapes(), &judged_layers()}) {
    ASSERT_TRUE(*table) << table->error().line();
    const ConvolutionErrors all = convolution_errors(**table, {"judge", "", ""});
    EXPECT_GE(all.count, 500);
    EXPECT_LE(all.median, 0.25);
    const ConvolutionErrors grouped = convolution_errors(**table, {"judge", "grouped", "forward"});
    EXPECT_GE(grouped.count, 20);
    EXPECT_LE(grouped.median, 0.3);
  }
}

TEST(Convolutions, NormsAreForecastAsWellAsThePageSays) {
  ASSERT_TRUE(judged_norms()) << judged_norms().error().line();
  for (const char* direction : {"forward", "backward"}) {
    const ConvolutionErrors e = convolution_errors(*judged_norms(), {"judge", "batch", direction});
    EXPECT_GE(e.count, 20) << direction;
    EXPECT_LE(e.median, 0.32) << direction;
    EXPECT_LE(std::abs(e.bias), 0.1) << direction;
  }
}

TEST(Convolutions, ErrorsAreOfWhatIsAskedFor) {
  const JudgedConvolution a{"a", "choose", "2d", "float16", "forward", 10, 12},
      b{"b", "judge", "2d", "float16", "data", 10, 5}, c{"c", "choose", "1d", "float16", "data", 20, 18};
  const ConvolutionErrors all = convolution_errors({a, b, c}, {});
  EXPECT_EQ(all.count, 3);
  EXPECT_NEAR(all.mean, (0.2 + 0.5 + 0.1) / 3, 1e-12);
  EXPECT_NEAR(all.median, 0.2, 1e-12);
  EXPECT_NEAR(all.bias, 35.0 / 40 - 1, 1e-12);
  EXPECT_NEAR(convolution_errors({a, b, c}, {"choose", "", "data"}).mean, 0.1, 1e-12);
  EXPECT_EQ(convolution_errors({a, b, c}, {"judge", "1d", ""}).count, 0);
}

TEST(Convolutions, TheirPageIsFresh) {
  for (const JudgedTable* table : {&judged_shapes(), &judged_layers(), &judged_norms()})
    ASSERT_TRUE(*table) << table->error().line();
  const std::string page =
      convolutions_report({{"Convolutions such as networks have", *judged_layers()},
                           {"Convolutions of any shape", *judged_shapes()},
                           {"Norms by PyTorch's own kernels, 16 bits, channels first", *judged_norms()}});
  if (std::getenv("TILECAST_UPDATE_DOCS")) {
    ASSERT_TRUE(write_text_file(kConvolutionsPage, page));
  }
  const auto there = read_text_file(kConvolutionsPage, 1 << 20);
  ASSERT_TRUE(there) << there.error().line();
  EXPECT_EQ(*there, page)
      << "TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evidence --gtest_filter='Convolutions.*'";
}

TEST(Convolutions, MissingTablesAreSaid) {
  EXPECT_FALSE(judge_convolutions("/nowhere.csv", "H200-SXM", shipped_models()));
  EXPECT_FALSE(judge_convolutions(kMeasurements + "h200_convolutions.csv.gz", "NoCard", shipped_models()));
}

}  // namespace
}  // namespace tilecast
