#include "cli/manual/complete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/manual/man_page.h"

namespace tilecast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CommandNode program() {
  CommandNode predict{"predict", "predict", "forecast a step", "Example:\n  tilecast predict X", {}, {}};
  predict.options = {
      {{"MODEL"}, "TEXT", "the model", "", {}, Naming::model, false, true, true},
      {{"--gpu"}, "TEXT", "the GPU", "", {}, Naming::gpu, true, false, true},
      {{"--mode"}, "TEXT", "what it does", "", {"prefill", "decode"}, Naming::nothing, false, false, false},
      {{"-v", "--verbose"}, "", "say more", "", {}, Naming::nothing, false, false, false},
      {{"--tp"}, "COUNT", ".ranks that share\\all", "Many GPUs", {}, Naming::nothing, false, false, false}};
  CommandNode serve{"serve", "plan serve", "a plan", "", {}, {}};
  CommandNode plan{"plan", "plan", "plans", "", {}, {serve}};
  return {"tilecast",     "", "forecasts", "", {{{"--help"}, "", "help", "", {}, Naming::nothing, false, false, false}},
          {predict, plan}};
}

std::vector<std::string> words(const std::vector<std::string>& before, const std::string& current) {
  std::vector<std::string> all;
  for (const Completion& one : completions(program(), before, current)) all.push_back(one.word);
  return all;
}

TEST(Completion, CommandsThenTheirParts) {
  EXPECT_THAT(words({}, ""), ElementsAre("predict", "plan"));
  EXPECT_THAT(words({}, "pl"), ElementsAre("plan"));
  EXPECT_THAT(words({"plan"}, ""), ElementsAre("serve"));
  EXPECT_THAT(words({"predict"}, "--"), ElementsAre("--gpu", "--mode", "--verbose", "--tp"));
  EXPECT_THAT(words({"predict"}, "--m"), ElementsAre("--mode"));
}

TEST(Completion, ValuesOfWhatStandsBefore) {
  EXPECT_THAT(words({"predict", "--mode"}, ""), ElementsAre("prefill", "decode"));
  EXPECT_THAT(words({"predict", "--mode"}, "d"), ElementsAre("decode"));
  EXPECT_THAT(words({"predict", "--mode", "="}, "d"), ElementsAre("decode"));
  EXPECT_THAT(words({"predict", "--mode"}, "="), ElementsAre("prefill", "decode"));
  EXPECT_THAT(words({"predict"}, "--mode=p"), ElementsAre("--mode=prefill"));
  EXPECT_THAT(words({"predict", "--gpu"}, "H200-"), Contains("H200-SXM"));
  EXPECT_THAT(words({"predict", "--gpu"}, "H100-SXM,B2"), Contains("H100-SXM,B200"));
  EXPECT_THAT(words({"predict", "--gpu"}, "x"), ElementsAre(kFiles));
  EXPECT_THAT(words({"predict", "--tp"}, ""), ElementsAre());
}

TEST(Completion, PositionalsInTheirOrder) {
  EXPECT_THAT(words({"predict"}, "Llama-3.1-8"), Contains("Llama-3.1-8B"));
  EXPECT_THAT(words({"predict", "--verbose"}, "Llama-3.1-8"), Contains("Llama-3.1-8B"));
  EXPECT_THAT(words({"predict", "GPT-2"}, "Llama"), Not(Contains("Llama-3.1-8B")));
}

TEST(Completion, ScriptsOfThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(*completion_script(shell), HasSubstr("completion words"));
  EXPECT_EQ(completion_script("csh").error().field, "shell");
}

TEST(ManPages, OneForEachCommandThatHoldsItsOptions) {
  const auto pages = man_pages(program(), "2026-11-16");
  std::vector<std::string> names;
  for (const ManPage& page : pages) names.push_back(page.name);
  EXPECT_THAT(names, ElementsAre("tilecast.1", "tilecast-predict.1", "tilecast-plan.1", "tilecast-plan-serve.1"));
  const std::string& page = pages[1].text;
  EXPECT_TRUE(page.starts_with(".TH \"TILECAST\\-PREDICT\" 1 \"2026-11-16\" \"tilecast ")) << page;
  EXPECT_THAT(page, HasSubstr(".SH NAME\ntilecast\\-predict \\- forecast a step\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-mode\\fR \\fIprefill|\\:decode\\fR"));
  EXPECT_THAT(page, HasSubstr(".SS Many GPUs\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.ranks that share\\eall\n"));  // no request, no escape
}

}  // namespace
}  // namespace tilecast
