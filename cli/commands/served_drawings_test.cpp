// What is drawn for whoever asks from elsewhere is what the command line writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "answers/served.h"
#include "cli/commands/diagnose_command.h"
#include "cli/commands/rows_command.h"
#include "cli/commands/rows_picture.h"
#include "support/base64.h"
#include "support/file.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

std::map<std::string, std::string> files_of_answer(const char* question, Parsed query) {
  query["files"] = true;
  const auto answer = ask_served(question, query, {}, {.paths = false, .drawings = &served_drawings()});
  EXPECT_TRUE(answer) << answer.error().line();
  std::map<std::string, std::string> files;
  if (!answer) return files;
  const Parsed document = Parsed::parse(*answer);
  for (const Parsed& file : document.value("files", Parsed::array())) files[file.at("name")] = file.at("text");
  return files;
}

TEST(ServedDrawings, ADiagnosisAsTheCommandWritesIt) {
  const std::string table = "name,duration_us\nampere_sgemm_128x64_nn,50\nmystery,5\n";
  const auto files = files_of_answer(
      "diagnose", {{"trace", {{"name", "t.csv"}, {"base64", base64_text(table)}}}, {"gpu", "A100-SXM-80GB"}});
  const TestFolder folder;
  DiagnoseOptions options;
  options.query = {.trace = folder.plain("t.csv", table), .gpu = "A100-SXM-80GB"};
  options.svg = folder.file("drawn");
  ASSERT_TRUE(run_diagnose(options));
  EXPECT_EQ(files.at("families.svg"), *read_text_file(folder.file("drawn_families.svg"), 1 << 20));
  EXPECT_EQ(files.at("ceilings.svg"), *read_text_file(folder.file("drawn_ceilings.svg"), 1 << 20));
  EXPECT_THAT(files.at("report.html"), HasSubstr("t.csv"));
  EXPECT_THAT(files.at("report.html"), testing::Not(HasSubstr("/tmp")));
}

TEST(ServedDrawings, ASimulationHasItsRequestsAndATimeline) {
  Parsed query = {{"model", "gpt2"},   {"rate", 20},    {"input", "64"},       {"output", "8"},
                  {"num_prompts", 20}, {"gpu", "L40S"}, {"method", "analytic"}};
  const auto files = files_of_answer("simulate", query);
  const std::string& rows = files.at("requests.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 21) << rows;
  EXPECT_FALSE(Parsed::parse(files.at("timeline.json")).at("traceEvents").empty());
  query["sweep"] = "rate=1,2";
  query.erase("rate");
  EXPECT_TRUE(files_of_answer("simulate", query).empty()) << "of one load alone";
}

TEST(ServedDrawings, AChartOverARangeIsWhatPlotWrites) {
  const std::string query = R"({"family": "gemm", "m": "64..1024*2", "n": 512, "k": 512, "gpu": ["H100-SXM", "L4"]})";
  const TestFolder folder;
  for (const bool png : {false, true}) {
    const std::string path = folder.file(png ? "drawn.png" : "drawn.svg");
    RowsOptions options;
    options.question = "kernel", options.query = query, options.heading = "products", options.plot = path;
    const auto text = run_rows(options);
    ASSERT_TRUE(text.text);
    const auto drawn = served_drawings().chart(*ask_served_rows("kernel", query, {}, {.paths = false}),
                                               {"kernel", "products", "", png});
    ASSERT_TRUE(drawn) << drawn.error().line();
    EXPECT_EQ(*drawn, *read_text_file(path, 1 << 22));
  }
  const std::string one = R"({"family": "gemm", "m": 64, "n": 512, "k": 512, "gpu": "L4"})";
  const auto nothing =
      served_drawings().chart(*ask_served_rows("kernel", one, {}, {.paths = false}), {"kernel", "a product"});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().field, "plot");
}

TEST(ServedDrawings, PlansHaveTheirPictures) {
  auto served = files_of_answer("plan serve", {{"model", "Llama-3.2-1B"},
                                               {"gpus", "L40S"},
                                               {"rate", 4},
                                               {"slo", "ttft=1s,tpot=50ms"},
                                               {"input", "256"},
                                               {"output", "32"},
                                               {"engine", "vllm"},
                                               {"layout", "1"}});
  EXPECT_THAT(served["pareto.svg"], StartsWith("<svg"));
  EXPECT_THAT(served["load.svg"], StartsWith("<svg"));
  EXPECT_THAT(served["plan.html"], HasSubstr("<html"));
  EXPECT_THAT(served["plan-1/launch.sh"], StartsWith("#!"));
  auto trained = files_of_answer(
      "plan train", {{"model", "gpt2"}, {"gpus", "2xH100"}, {"global_batch", 8}, {"seq", 256}, {"method", "analytic"}});
  EXPECT_THAT(trained["scaling.svg"], StartsWith("<svg"));
}

}  // namespace
}  // namespace tilecast
