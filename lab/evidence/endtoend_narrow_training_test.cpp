// Training steps in narrow formats, with recomputation and adapters, beside what was measured of them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "constants/training.h"
#include "engine/narrow.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/gemm.h"
#include "lab/evidence/endtoend.h"
#include "support/csv.h"
#include "support/statistics.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

double median_error(const std::vector<EndToEndResult>& results, const ResultFilter& wanted) {
  std::vector<double> errors;
  for (const EndToEndResult& r : results)
    if (wanted(r)) errors.push_back(r.error());
  return errors.empty() ? 1 : upper_median(errors);
}

// What our own steps are held to; the sizes that nothing was chosen on are the judge.
TEST(OwnTraining, MediansOfStepsAndMemory) {
  const auto read = h200_training_cases(TILECAST_SOURCE_DIR "/data/measurements/h200_training_steps.csv.gz");
  ASSERT_TRUE(read) << read.error().line();
  EXPECT_GE(read->rows, 56);
  const auto results = judge_cases(read->cases, Method::tilecast, &shipped_models());
  ASSERT_TRUE(results) << results.error().line();
  for (const char* half : {"chosen on", "judged"})
    for (const char* quantity : {"step", "memory"})
      EXPECT_LT(
          median_error(*results,
                       [&](const EndToEndResult& r) { return r.quantity == quantity && has(r.label.detail, half); }),
          0.08)
          << half << " " << quantity;
  for (const char* what : {"fp8_tensor", "fp8_row", "adapters"})
    EXPECT_LT(
        median_error(*results, [&](const EndToEndResult& r) { return r.quantity == "step" && r.label.mode == what; }),
        0.08)
        << what;
}

// Factors of a recipe's products were read off three models; the fourth is the judge.
TEST(OwnTraining, MediansOfProducts) {
  auto csv = CsvReader::open(TILECAST_SOURCE_DIR "/data/measurements/h200_fp8_products.csv.gz");
  ASSERT_TRUE(csv) << csv.error().line();
  const auto text = [&](const char* column) { return std::string((*csv)[*csv->column(column)]); };
  const auto number = [&](const char* column) { return to_double(text(column)).value_or(0); };
  const NarrowRecipe& block = *narrow_recipe(TrainPrecision::fp8_block);
  const auto longer = [&] {
    const std::string variant = text("variant"), product = text("product");
    if (variant == "tensor_slow") return constants::kSlowAccumulation.value;
    if (variant != "block") return 1.0;
    return product == "forward"      ? block.forward_longer
           : product == "input_grad" ? block.input_longer
                                     : block.weight_longer;
  };
  const Gpu gpu = *find_gpu("H200-SXM");
  std::map<std::string, std::vector<double>> errors;
  for (auto more = csv->next(); more && *more; more = csv->next()) {
    const std::string variant = text("variant");
    if (text("regime") != "window" || variant == "row_slow") continue;  // scaled after the product in training
    Gemm g;
    g.m = count_in(text("m")), g.n = count_in(text("n")), g.k = count_in(text("k"));
    Context context;
    context.engine = Launcher::pytorch, context.warmth = Warmth::warm;
    const Kernel kernel{g, *format_from(variant == "bf16" ? "bf16" : "fp8_static")};
    const auto priced = price(kernel, gpu, context, Method::tilecast, &shipped_models());
    ASSERT_TRUE(priced) << priced.error().line();
    const double error = std::abs(in_microseconds(priced->estimate.latency) * longer() / number("time_us") - 1);
    errors[variant].push_back(error);
    errors[text("model") == "70b" ? "judged" : "chosen on"].push_back(error);
  }
  EXPECT_EQ(errors.size(), 7u);
  for (auto& [what, of] : errors) EXPECT_LT(upper_median(of), 0.08) << what;
}

constexpr std::string_view kHead =
    "submitter,system,gpu,num_gpus,gpus_per_node,benchmark,global_batch,seq_len,tp,pp,cp,dp,virtual_pp,micro_batch,"
    "precision,run,step_time_s,status\n";
std::string row(const std::string& gpu, const std::string& benchmark, const std::string& layout,
                const std::string& precision, const std::string& step = "1.5") {
  return "Who,box," + gpu + ",8,8," + benchmark + ",16,8192," + layout + ",2," + precision + ",1," + step +
         ",success\n";
}

TEST(MlperfCases, RepetitionsAreOneCaseAndWhatIsNotSaidIsCounted) {
  TestFolder folder;
  const std::string path = folder.plain(
      "m.csv", std::string(kHead) + row("B200", "llama31_8b", "1,1,1,8,null", "nvfp4", "0.4") +
                   row("B200", "llama31_8b", "1,1,1,8,null", "nvfp4", "0.5") +
                   row("B200", "llama31_8b", "1,1,1,8,null", "nvfp4", "0.9") +
                   row("H200 SXM", "llama2_70b_lora", "1,1,2,4,", "fp8 delayed") +
                   row("B200", "flux1", "1,1,1,8,", "fp8 mxfp8") + row("B200", "llama31_8b", ",,,,", "nvfp4") +
                   row("B200", "llama31_8b", "1,1,1,8,", "") + row("B200", "llama31_8b", "1,1,1,8,", "fp7") +
                   row("B200", "llama31_8b", "2,1,1,8,", "nvfp4") + row("X1", "llama31_8b", "1,1,1,8,", "nvfp4"));
  const auto read = mlperf_cases(path);
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->cases.size(), 2u);
  EXPECT_EQ(read->rows, 4);
  const EndToEndCase& eight = read->cases[read->cases[0].label.model == "llama31_8b" ? 0 : 1];
  EXPECT_DOUBLE_EQ(eight.figures[0].measured, 0.5);
  EXPECT_EQ(eight.runs[0].training.options.precision, TrainPrecision::nvfp4);
  const EndToEndCase& lora = read->cases[read->cases[0].label.model == "llama31_8b" ? 1 : 0];
  EXPECT_TRUE(std::get<ModelSpec>(lora.runs[0].model).adapters);
  EXPECT_EQ(lora.spread->layout.cp, 2);
  EXPECT_EQ(read->left_out.at("another share of Flux than the shipped graph's"), 1);
  EXPECT_EQ(read->left_out.at("the layout is not said"), 1);
  EXPECT_EQ(read->left_out.at("the precision is not said"), 1);
  EXPECT_EQ(read->left_out.at("unknown precision 'fp7'"), 1);
  EXPECT_EQ(read->left_out.at("the layout is not one of its GPUs"), 1);
  EXPECT_EQ(read->left_out.at("unknown GPU 'X1'"), 1);
}

TEST(MlperfCases, SurviveNonsense) {
  TestFolder folder;
  for (const char* layout : {"0,0,0,0,", "99999999999,1,1,1,", "x,y,z,w,v", "-1,1,1,8,", "1e300,1,1,1,1e300"}) {
    const auto read =
        mlperf_cases(folder.plain("m.csv", std::string(kHead) + row("B200", "llama31_8b", layout, "nvfp4")));
    ASSERT_TRUE(read) << read.error().line();
    EXPECT_TRUE(read->cases.empty()) << layout;
  }
}

// Submitters' steps by benchmark and card; the shared data are not part of the repository.
TEST(MlperfCases, MedianOfSteps) {
  const std::string path = TILECAST_SOURCE_DIR "/../shared/data/mlperf_training/v5.1.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs ../shared/data/mlperf_training";
  const auto read = mlperf_cases(path);
  ASSERT_TRUE(read) << read.error().line();
  LeftOutRows without;
  const auto results = judge_cases(read->cases, Method::tilecast, &shipped_models(), &without);
  ASSERT_TRUE(results) << results.error().line();
  EXPECT_TRUE(without.empty());
  for (const char* half : {"chosen on", "judged"})
    EXPECT_LT(median_error(*results, [&](const EndToEndResult& r) { return has(r.label.detail, half); }), 0.15) << half;
}

}  // namespace
}  // namespace tilecast
