// The comparison with NeuSight's published predictions, on tables the test makes.
#include "lab/papers/papers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/test_files.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

// Forecasts 2 ms, whatever is asked.
class Fixed final : public Forecaster {
 public:
  Method method() const override { return Method::neusight; }
  Outcome forecast(const Measurement&, const Gpu&) const override {
    Outcome outcome;
    outcome.forecast = milliseconds(2);
    return outcome;
  }
  Count rows_seen(const Measurement&) const override { return 0; }
};

constexpr std::string_view kHead =
    "latency_ms,tile1,tile2,grid_x,grid_y,grid_z,block_x,block_y,block_z,kernel,n_kernels\n";

void write_tables(const TestFolder& folder) {
  std::filesystem::create_directories(folder.file("neusight/kernels_test"));
  for (const std::string_view op : neusight_operators()) {
    const bool product = op == "linear" || op == "bmm";
    std::string text = std::string("device,op,split,torch,") + (product ? "B,M,N,K," : "B,H,") + std::string(kHead);
    // Measured 4 ms and predicted 1 ms; another shape without a prediction; AMD, which is not compared.
    if (op == "linear")
      text +=
          "Tesla T4,linear,test,p2.1.0,1,64,32,16,4,64,32,1,1,1,1,1,1,k,1\n"
          "Tesla T4,linear,test,p2.1.0,1,64,32,17,4,64,32,1,1,1,1,1,1,k,1\n"
          "AMD Instinct MI100,linear,test,p2.1.0,1,64,32,16,4,64,32,1,1,1,1,1,1,k,1\n";
    if (op == "add") text += "Tesla P4,add,test,p2.1.0,20,30,2,512,0,1,1,1,1,1,1,k,1\n";
    folder.plain("neusight/kernels_test/" + std::string(op) + ".csv.gz", text);
  }
  folder.plain("neusight/kernels_test/_neusight_pred_subset.csv.gz",
               "device,op,d0,d1,d2,d3,meas_ms,neusight_ms\n"
               "Tesla_T4,linear,1,64,32,16,4,1\n"
               "AMD_Instinct_MI100,linear,1,64,32,16,4,1\n"
               "Tesla_P4,add,20,30,,,2,3\n");
}

TEST(Papers, ComparesWithPublishedPredictions) {
  TestFolder folder;
  write_tables(folder);
  const auto agreements = compare_published(folder.file(""), Fixed());
  ASSERT_TRUE(agreements) << agreements.error().line();
  ASSERT_EQ(agreements->size(), 3u);
  const PublishedAgreement &add = (*agreements)[0], &linear = (*agreements)[1], &all = (*agreements)[2];
  EXPECT_EQ(add.family, "elementwise");
  EXPECT_NEAR(add.ours, 0, 1e-12);
  EXPECT_NEAR(add.theirs, 0.5, 1e-12);
  EXPECT_NEAR(add.apart, std::log(1.5), 1e-12);
  EXPECT_EQ(linear.rows, 1);
  EXPECT_NEAR(linear.ours, 0.5, 1e-12);
  EXPECT_NEAR(linear.theirs, 0.75, 1e-12);
  EXPECT_NEAR(linear.apart, std::log(2), 1e-12);
  EXPECT_EQ(all.rows, 2);
  EXPECT_NEAR(all.theirs, 0.625, 1e-12);
  EXPECT_THAT(published_table(*agreements), HasSubstr("| gemm | 1 | 50.0 % | 75.0 % | 0.693 | 0 |"));
}

TEST(Papers, NamesWhatIsMissing) {
  TestFolder folder;
  EXPECT_THAT(papers_report(folder.file(""), {}, {}).error().line(), HasSubstr("neusight/kernels_train/linear.csv.gz"));
  PapersOptions options;
  options.only = "habitat";
  EXPECT_THAT(papers_report(folder.file(""), options, {}).error().line(), HasSubstr("not 'habitat'"));
}

}  // namespace
}  // namespace tilecast
