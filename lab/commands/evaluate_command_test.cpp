// `tilecast-lab evaluate` through the real binary, on a table the test makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/cli_testing.h"
#include "estimate/weights.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kHeader =
    "gpu,source,engine,engine_version,kernel_source,family,dtype,dims,runtime,warmth,latency_us\n";

// Shapes on three GPUs, two sources.
class EvaluateCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string text(kHeader);
    for (const char* gpu : {"A100-SXM-80GB", "H100-SXM", "L40S"})
      for (int m = 1; m <= 40; ++m)
        text += fmt::format("{},{},vllm,1,k,gemm,bf16,m={};n=2048;k=2048,graph,warm,{}\n", gpu, m % 2 ? "one" : "two",
                            m * 16, 10 + m);
    table_ = folder_.plain("rows.csv", text);
  }
  Ran evaluate(const std::string& options) const { return run_tilecast("evaluate --data " + table_ + " " + options); }
  json groups(const std::string& options) const {
    const Ran ran = evaluate(options + " --json");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }
  std::string train(const std::string& options) const {
    const std::string weights = folder_.file("w");
    const Ran ran = run_tilecast("train --data " + table_ + " --trees 3 -o " + weights + " " + options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return weights;
  }
  void refused(const std::string& options, const std::string& says) const {
    const Ran ran = evaluate(options);
    EXPECT_EQ(ran.code, 2) << options;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says));
  }

  TestFolder folder_;
  std::string table_;
};

TEST_F(EvaluateCommandTest, JsonHasOneObjectAGroup) {
  const json list = groups("--by gpu,family --method analytic");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["gpu"], "A100-SXM-80GB");
  EXPECT_EQ(list[0]["family"], "gemm");
  EXPECT_EQ(list[0]["method"], "analytic");
  EXPECT_EQ(list[0]["rows"], 40);
  EXPECT_EQ(list[0]["seen"], false);
  EXPECT_EQ(list[0]["below_bound"], 0.0);
  for (const char* field : {"mean", "median", "p90", "bias", "coverage", "bound_violations"})
    EXPECT_TRUE(list[0][field].is_number()) << field;
}

TEST_F(EvaluateCommandTest, AllMethodsOnTheSameRows) {
  const json list = groups("--by family --method all");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["method"], "tilecast");  // with the shipped weights
  EXPECT_EQ(list[1]["method"], "analytic");
  EXPECT_EQ(list[2]["method"], "roofline");
  EXPECT_EQ(list[0]["rows"], list[2]["rows"]);
  const Ran text = evaluate("--by family,regime --method all");
  EXPECT_THAT(text.out, HasSubstr("tilecast  analytic  roofline"));
  EXPECT_THAT(text.out, HasSubstr("not run: neusight: weights: is missing"));
}

TEST_F(EvaluateCommandTest, WeightsAreJudgedOnWhatTheyHaveNotSeen) {
  const std::string weights = train("--leave-out L40S");
  const json list = groups("--by gpu --weights " + weights);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_LT(list[0]["rows"], 20);  // held-out shapes alone
  EXPECT_EQ(list[0]["seen"], true);
  EXPECT_EQ(list[2]["gpu"], "L40S");
  EXPECT_EQ(list[2]["rows"], 40);
  EXPECT_EQ(list[2]["seen"], false);
  EXPECT_EQ(groups("--by family --weights " + weights)[0]["seen"], "mixed");
  EXPECT_EQ(evaluate("--unseen l40s --weights " + weights).code, 0);
  refused("--unseen L40S,H100-SXM --weights " + weights,
          "rows of H100-SXM (gemm/bf16) (train with --leave-out H100-SXM)");
  refused("--unseen B200 --weights " + weights, "--data holds no row of B200");
  refused("--unseen L40S --leave-one-out gpu", "--unseen: is about weights");
  refused("--leave-one-out gpu --weights " + weights, "--leave-one-out: trains its own weights");
}

// Of the rows that were read, those at shapes that training held out.
TEST_F(EvaluateCommandTest, SaysHowManyRowsItJudged) {
  const Ran judged = evaluate("--weights " + train(""));
  EXPECT_THAT(judged.out, testing::ContainsRegex("all rows of others: [1-9][0-9]? of 120 rows"));
  EXPECT_THAT(evaluate("--method analytic").out, HasSubstr("nothing learned: 120 rows"));
}

TEST_F(EvaluateCommandTest, TrainingUpdatesTheModelsItHasRowsOf) {
  const std::string first = train(""), other = folder_.file("other");
  std::string text(kHeader);
  for (int m = 1; m <= 40; ++m)
    text += fmt::format("H100-SXM,s,pytorch,1,torch,softmax,bf16,rows={};cols=1024,graph,warm,{}\n", 64 * m, 3 + m);
  const std::string rows = folder_.plain("softmax.csv", text);
  const Ran ran = run_tilecast("train --data " + rows + " --trees 3 --update " + first + " -o " + other);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("1 model trained on "));
  EXPECT_THAT(ran.out, HasSubstr(" rows, of 40 read; 1 kept\n"));
  const auto before = load_weights(first), after = load_weights(other);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(after->find("gemm/bf16")->trained_on, before->find("gemm/bf16")->trained_on);
  auto counted = before->sources();
  counted["s"] = after->find("softmax/bf16")->trained_on.at("s");
  EXPECT_EQ(after->sources(), counted);
  // Carried over, the program's own file stays as it is.
  const std::string again = folder_.file("again");
  ASSERT_EQ(run_tilecast("train --data " + rows + " --repack " + other + " -o " + again).code, 0);
  EXPECT_EQ(to_bytes(*load_weights(again)), to_bytes(*after));
  const auto latency = [&](const std::string& weights) {
    const Ran kernel = run_tilecast("kernel gemm --m 64 --n 2048 --k 2048 --gpu H100-SXM --json --weights " + weights);
    EXPECT_EQ(kernel.code, 0) << kernel.err;
    return json::parse(kernel.out)[0]["latency_us"].get<double>();
  };
  EXPECT_EQ(latency(other), latency(first)) << "models of other families are as they were";
  const Ran bad = run_tilecast("train --data " + rows + " --update " + rows + " -o " + other);
  EXPECT_EQ(bad.code, 2);
}

// As its help promises: the tables of a folder, or of the sources of it that are named.
TEST_F(EvaluateCommandTest, ReadsAFolderOfMeasuredTables) {
  for (const char* part : {"aiconfigurator", "neusight/kernels_train", "neusight/kernels_test", "synperf", "aiter"})
    std::filesystem::create_directories(folder_.file(std::string("data/") + part));
  std::string gemm = "gpu,framework,version,kernel_source,gemm_dtype,m,n,k,latency\n";
  for (int m = 1; m <= 10; ++m) gemm += fmt::format("h100_sxm,vllm,1,k,bfloat16,{},2048,2048,0.01\n", m * 16);
  folder_.gzip("data/aiconfigurator/gemm.csv.gz", gemm + "x9_sxm,vllm,1,k,bfloat16,16,2048,2048,0.01\n");
  folder_.gzip(
      "data/aiter/gemm.csv.gz",
      "kind,gpu,cu_num,batch,m,n,k,dtype_w,dtype_out,library,latency_us,err\nbf16,MI300X,304,1,16,2048,2048,bf16,bf16,ck,9,0\n");
  const std::string folder = folder_.file("data");
  const Ran whole = run_tilecast("evaluate --method analytic --by source --data " + folder);
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("left out: 1 rows, unknown GPU 'x9_sxm'"));
  EXPECT_THAT(whole.out, testing::Not(HasSubstr("aiter")));
  const Ran named = run_tilecast("evaluate --method analytic --by source --json --sources aiter --data " + folder);
  ASSERT_EQ(named.code, 0) << named.err;
  const json list = json::parse(named.out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["source"], "aiter");
  EXPECT_EQ(list[0]["rows"], 1);
  EXPECT_THAT(run_tilecast("evaluate --sources nowhere --data " + folder).err, HasSubstr("unknown source 'nowhere'"));
  EXPECT_THAT(run_tilecast("evaluate --data " + folder_.file("") + "/data/aiter").err, HasSubstr("cannot be listed"));
  refused("--sources aiter", "--sources: chooses tables of a folder");
  const Ran trained =
      run_tilecast("train --trees 3 --sources aiconfigurator --data " + folder + " -o " + folder_.file("w"));
  EXPECT_EQ(trained.code, 0) << trained.err;
}

TEST_F(EvaluateCommandTest, LeavesOutGpusArchitecturesAndSources) {
  EXPECT_EQ(groups("--leave-one-out gpu --trees 3 --by gpu")[1]["seen"], false);
  EXPECT_EQ(groups("--leave-one-out architecture --trees 3 --by architecture")[0]["architecture"], "ada");
  const json sources = groups("--leave-one-out source --trees 3 --by source");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0]["seen"], true);  // the other source has the same GPUs
  refused("--leave-one-out engine", "must be gpu, architecture or source");
}

TEST_F(EvaluateCommandTest, SpeedupsBetweenPairsOfGpus) {
  const json list = groups("--pairs --method analytic");
  std::set<std::string> pairs;
  for (const json& entry : list)
    pairs.insert(entry["from"].get<std::string>() + " " + entry["to"].get<std::string>() + " " +
                 entry["family"].get<std::string>());
  EXPECT_TRUE(pairs.contains("A100-SXM-80GB H100-SXM gemm"));
  EXPECT_TRUE(pairs.contains("H100-SXM L40S all"));
  EXPECT_TRUE(pairs.contains("all all all"));
  EXPECT_EQ(list.back()["pairs"], 120);
  EXPECT_EQ(list.back()["clear_pairs"], 0);  // the table has the same times on all GPUs
  EXPECT_TRUE(list.back()["clear_named_right"].is_null());
  EXPECT_THAT(evaluate("--pairs").out, HasSubstr("faster named right"));
}

TEST_F(EvaluateCommandTest, WritesPredictions) {
  const std::string path = folder_.file("p.csv");
  EXPECT_EQ(evaluate("--method analytic --predictions " + path).code, 0);
  const std::string text = folder_.content("p.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 120);
  EXPECT_THAT(text, testing::StartsWith("gpu,source,engine,kernel_source,family,dtype,dims,method,measured_us,"));
  refused("--predictions " + folder_.file("no/p.csv"), "cannot be written");
}

TEST_F(EvaluateCommandTest, TrapsOnlyWhenAskedFor) {
  const std::string trapped = folder_.plain(
      "t.csv", std::string(kHeader) + "L40S,aiconfigurator-power,vllm,1,k,gemm,bf16,m=16;n=64;k=64,graph,warm,9\n");
  refused("--families softmax", "holds no row to judge");
  const Ran both = run_tilecast("evaluate --method analytic --by gpu --json --data " + table_ + " " + trapped);
  EXPECT_EQ(json::parse(both.out)[2]["rows"], 40);
  const Ran alone = run_tilecast("evaluate --data " + trapped);
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--by trap"));
  EXPECT_EQ(json::parse(run_tilecast("evaluate --method analytic --by trap --json --data " + trapped).out).size(), 1u);
}

}  // namespace
}  // namespace tilecast
