// `tilecast kernel FAMILY`: every family's example, as text and as JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/cli_testing.h"
#include "kernel/kernel.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string example_of(const Family& family) {
  return "kernel " + std::string(family.info.name) + " " + std::string(family.info.example);
}

Json forecasts(const std::string& arguments) {
  const Ran ran = run_tilecast(arguments + " --json");
  EXPECT_EQ(ran.code, 0) << arguments << ": " << ran.err;
  EXPECT_EQ(ran.err, "") << arguments;
  return ran.code == 0 ? Json::parse(ran.out) : Json::array();
}

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST(KernelCommand, EveryExamplePrintsATable) {
  for (const Family& family : families()) {
    const Ran ran = run_tilecast(example_of(family) + " --gpu A100-SXM-80GB,H100-SXM,B200 --explain");
    SCOPED_TRACE(family.info.name);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, testing::StartsWith(std::string(family.info.name) + " "));
    EXPECT_THAT(ran.out, HasSubstr("\n\nGPU "));
    for (const char* gpu : {"\nA100-SXM-80GB  ", "\nH100-SXM  ", "\nB200  "}) EXPECT_THAT(ran.out, HasSubstr(gpu));
    for (const char* part : {"  plan  ", "  schedule  ", "unavoidable", "as forecast", "limited by"})
      EXPECT_THAT(ran.out, HasSubstr(part));
    EXPECT_THAT(ran.out, testing::Not(testing::AnyOf(HasSubstr("nan "), HasSubstr("inf "),
                                                     testing::ContainsRegex("[0-9]e-[0-9]"))));
  }
}

// The fields docs/json.md promises; a new one is fine there first.
TEST(KernelCommand, JsonHasTheDocumentedFields) {
  for (const Family& family : families()) {
    SCOPED_TRACE(family.info.name);
    const Json list = forecasts(example_of(family) + " --gpu H100-SXM,B200");
    ASSERT_EQ(list.size(), 2u);
    for (const Json& f : list) {
      EXPECT_EQ(keys_of(f),
                (std::set<std::string>{"gpu", "sms", "kernel", "method", "latency_us", "interval_us", "bound_us",
                                       "limited_by", "efficiency", "seen", "ceiling_us", "breakdown", "notes"}));
      EXPECT_EQ(f["kernel"]["family"], family.info.name);
      EXPECT_EQ(f["method"], "tilecast");
      EXPECT_TRUE(f["seen"].is_string());
      ASSERT_FALSE(f["breakdown"].empty());
      for (const Json& launch : f["breakdown"]) {
        EXPECT_EQ(keys_of(launch), (std::set<std::string>{"name", "latency_us", "bound_us", "limited_by", "plan",
                                                          "schedule", "demand", "peak_us", "forecast_us", "roofline"}));
        EXPECT_LE(launch["schedule"]["sms_used"], f["sms"]);
        if (launch["roofline"].is_null()) continue;
        EXPECT_LE(launch["roofline"]["reached_ops_per_s"], launch["roofline"]["peak_ops_per_s"]);
        EXPECT_GT(launch["roofline"]["ops_per_byte"], 0);
      }
    }
  }
}

TEST(KernelCommand, PartsSumToTheWholeAndNothingBeatsTheBound) {
  for (const Family& family : families()) {
    SCOPED_TRACE(family.info.name);
    for (const Json& f : forecasts(example_of(family) + " --gpu H100-SXM,B200 --runtime eager")) {
      double latency = 0, bound = 0;
      for (const Json& launch : f["breakdown"]) {
        latency += launch["latency_us"].get<double>();
        bound += launch["bound_us"].get<double>();
        EXPECT_GE(launch["latency_us"], launch["bound_us"]);
      }
      EXPECT_NEAR(f["latency_us"].get<double>(), latency, 1e-9 * latency);
      EXPECT_NEAR(f["bound_us"].get<double>(), bound, 1e-9 * bound);
      EXPECT_GE(f["latency_us"], f["ceiling_us"]);
      EXPECT_GE(f["ceiling_us"], f["bound_us"]);
      EXPECT_LE(f["interval_us"][0], f["latency_us"]);
      EXPECT_GE(f["interval_us"][1], f["latency_us"]);
      EXPECT_NEAR(f["efficiency"].get<double>(), bound / latency, 1e-9);
    }
  }
}

TEST(KernelCommand, JsonDimsForecastTheSameAgain) {
  for (const Family& family : families()) {
    SCOPED_TRACE(family.info.name);
    const Json first = forecasts(example_of(family) + " --gpu H100-SXM");
    ASSERT_EQ(first.size(), 1u);
    std::string arguments = "kernel --dtype " + first[0]["kernel"]["dtype"].get<std::string>() + " --gpu H100-SXM " +
                            std::string(family.info.name);
    for (const auto& [name, value] : first[0]["kernel"]["dims"].items())
      arguments += " --" + name + "=" + value.get<std::string>();
    EXPECT_EQ(forecasts(arguments), first);
  }
}

TEST(KernelCommand, FormatsAreAList) {
  const std::string asked = "kernel gemm --m 512 --n 4096 --k 4096 --gpu H100-SXM,B200 --dtype bf16,fp8";
  const Ran run = run_tilecast(asked + " --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const json rows = json::parse(run.out);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["gpu"], i < 2 ? "H100-SXM" : "B200");
    EXPECT_EQ(rows[i]["kernel"]["dtype"], i % 2 == 0 ? "bf16" : "fp8");
  }
  EXPECT_NE(run_tilecast(asked).out.find("GPU       dtype  forecast"), std::string::npos);
  const Ran csv = run_tilecast(asked + " --csv");
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 5);
}

TEST(KernelCommand, AHyphenStandsForAnUnderscore) {
  for (const Family& family : families()) {
    std::string hyphened(family.info.name);
    std::replace(hyphened.begin(), hyphened.end(), '_', '-');
    const std::string rest = " " + std::string(family.info.example) + " --gpu H100-SXM";
    EXPECT_EQ(forecasts("kernel " + hyphened + rest), forecasts(example_of(family) + " --gpu H100-SXM"));
  }
  EXPECT_EQ(forecasts("kernel attention_prefill --q_len 512 --heads 8 --gpu H100-SXM"),
            forecasts("kernel attention_prefill --q-len 512 --heads 8 --gpu H100-SXM"));
}

TEST(KernelCommand, OptionsStandBeforeOrAfterTheFamily) {
  EXPECT_EQ(forecasts("kernel --gpu H100-SXM --dtype fp16 gemm --m 128 --n 128 --k 128"),
            forecasts("kernel gemm --m 128 --n 128 --k 128 --gpu H100-SXM --dtype fp16"));
}

TEST(KernelCommand, NoFamilyHidesAnOptionOfTheCommand) {
  const std::set<std::string> taken = {"gpu", "dtype",         "method",  "runtime", "warmth",
                                       "run", "weight-copies", "explain", "json"};
  for (const Family& family : families())
    for (const FieldInfo& field : family.fields)
      EXPECT_FALSE(taken.contains(field.name)) << family.info.name << field.name;
}

TEST(KernelCommand, YesNoFieldsCanBeTurnedOff) {
  const std::string moe = "kernel moe --tokens 512 --hidden 2048 --inter 768 --experts 64 --topk 4 --gpu H100-SXM";
  const Json gated = forecasts(moe), plain = forecasts(moe + " --gated=no");
  EXPECT_GT(gated[0]["bound_us"], plain[0]["bound_us"]);
  EXPECT_EQ(forecasts(moe + " --gated"), gated);
}

TEST(KernelCommand, TheRooflineIsAMethod) {
  const Json f = forecasts("kernel gemm --m 8192 --n 8192 --k 8192 --gpu A100-SXM-80GB --method roofline");
  // 2 * 8192^3 operations at 312 T/s.
  EXPECT_EQ(f[0]["method"], "roofline");
  EXPECT_NEAR(f[0]["latency_us"].get<double>(), 2 * 8192.0 * 8192 * 8192 / 312e6, 10);
  EXPECT_EQ(f[0]["interval_us"][0], f[0]["interval_us"][1]);
}

TEST(KernelCommand, RuntimeAndWarmthMatter) {
  const std::string gemm = "kernel gemm --m 8 --n 4096 --k 4096 --gpu H100-SXM";
  const auto latency = [&](const std::string& more) { return forecasts(gemm + more)[0]["latency_us"].get<double>(); };
  EXPECT_GT(latency(" --runtime eager"), latency(""));
  EXPECT_LT(latency(" --warmth warm"), latency(" --warmth cold"));
  EXPECT_LT(latency(" --warmth warm"), latency(" --warmth warm --weight-copies 6"));
}

// Terms that overlap are no sum, and a reader has to be told.
TEST(KernelCommand, ExplanationsSayWhatTheirTimesAre) {
  const std::string softmax = "kernel softmax --rows 4096 --cols 4096 --gpu H100-SXM --explain";
  EXPECT_THAT(run_tilecast(softmax).out, HasSubstr("overlap and do not add up to the forecast"));
  EXPECT_THAT(run_tilecast(softmax + " --method roofline").out, HasSubstr("the longest of them is the forecast"));
}

}  // namespace
}  // namespace tilecast
