#include "answers/served.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/ask.h"
#include "answers/question_forms.h"
#include "support/base64.h"
#include "support/given_file.h"
#include "support/input.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using Query = nlohmann::json;

const char* const kTrace = R"({"deviceProperties": [{"name": "NVIDIA H200"}], "traceEvents": [
 {"ph":"X","cat":"kernel","name":"nvjet_sm90_tst_192x128","ts":10,"dur":80,"args":{"correlation":1}}]})";

std::string line_of(const Result<std::string>& answer) { return answer ? "answered" : answer.error().line(); }

TEST(Served, FilesComeByValue) {
  const Query query{{"trace", {{"name", "my trace.json"}, {"base64", base64_text(kTrace)}}}};
  const auto answer = ask_served("diagnose", query);
  ASSERT_TRUE(answer.ok()) << answer.error().line();
  const Query report = Query::parse(*answer);
  EXPECT_EQ(report["trace"], "my_trace.json");  // without a folder of this machine
  EXPECT_EQ(report["gpu"], "H200-SXM");
}

TEST(Served, ErrorsNameAFileAsItWasSent) {
  const Query query{{"trace", {{"name", "../../x/t.json"}, {"base64", base64_text("{")}}}};
  const std::string line = line_of(ask_served("diagnose", query));
  EXPECT_THAT(line, HasSubstr("t.json"));
  EXPECT_THAT(line, testing::Not(HasSubstr("/")));
}

TEST(Served, AModelByValueIsTheModel) {
  const Query config{{"architectures", {"LlamaForCausalLM"}},
                     {"model_type", "llama"},
                     {"hidden_size", 64},
                     {"intermediate_size", 128},
                     {"num_hidden_layers", 2},
                     {"num_attention_heads", 4},
                     {"num_key_value_heads", 4},
                     {"vocab_size", 100},
                     {"max_position_embeddings", 512}};
  Query query{{"gpu", "L4"}, {"seq", 64}, {"model", config}};
  const auto described = ask_served("predict", query);
  ASSERT_TRUE(described.ok()) << described.error().line();
  query["model"] = {{"name", "config.json"}, {"base64", base64_text(config.dump())}};
  const auto sent = ask_served("predict", query);
  ASSERT_TRUE(sent.ok()) << sent.error().line();
  EXPECT_EQ(Query::parse(*sent).front()["latency_us"], Query::parse(*described).front()["latency_us"]);
}

TEST(Served, WhatIsNoFileIsRefused) {
  for (const Query& file : {Query{{"name", "t.json"}, {"base64", "!!!!"}}, Query{{"name", "t.json"}, {"base64", 5}},
                            Query{{"name", 5}, {"base64", ""}}})
    EXPECT_THAT(line_of(ask_served("diagnose", Query{{"trace", file}})), HasSubstr("trace"));
}

TEST(Served, NothingIsWrittenAndNoCommandStarted) {
  const Query trace{{"name", "t.json"}, {"base64", base64_text(kTrace)}};
  EXPECT_THAT(line_of(ask_served("retime", Query{{"trace", trace}, {"gpu", "B200"}, {"output", "/tmp/x.json"}})),
              HasSubstr("output: would write a file"));
  EXPECT_THAT(line_of(ask_served("calibrate", Query{{"gpu", "L4"}, {"out", "/tmp/x.json"}})),
              HasSubstr("out: would write a file"));
  for (const char* question : {"tune gemm", "tune-gemm", "TuneGemm"})  // however it is spelled
    EXPECT_THAT(
        line_of(ask_served(question, Query{{"gpu", "L4"}, {"m", 8}, {"n", 8}, {"k", 8}, {"measure", "touch /tmp/x"}})),
        HasSubstr("measure: would start a command"));
  EXPECT_THAT(line_of(ask_served("Retime", Query{{"trace", trace}, {"gpu", "B200"}, {"output", "/tmp/x.json"}})),
              HasSubstr("output: would write a file"));
}

TEST(Served, AnyOtherQuestionIsAnsweredAsByAsk) {
  const char* const query = R"({"family": "gemm", "m": 64, "n": 64, "k": 64, "gpu": ["L4", "B200"]})";
  EXPECT_EQ(*ask_served("kernel", std::string_view(query)), *ask("kernel", query));
  EXPECT_EQ(line_of(ask_served("kernel", std::string_view("[]"))), line_of(ask("kernel", "[]")));
}

TEST(Served, ACancelledPlanEnds) {
  std::stop_source stop;
  double heard = 0;
  const auto answer = ask_served(
      "simulate",
      std::string_view(
          R"({"model": "Llama-3.2-1B", "gpu": "L4", "rate": 50, "num_prompts": 2000, "input": 16, "output": 4})"),
      {[&](double share) {
         heard = share;
         stop.request_stop();
       },
       stop.get_token()});
  EXPECT_GT(heard, 0);
  EXPECT_EQ(line_of(answer), "was cancelled (ask again)");
}

// Arguments whose help speaks of files are among those that faces treat as such, or take other texts too.
TEST(QuestionForms, FilesAreKnownAsSuch) {
  for (const QuestionForm& form : question_forms())
    for (const Argument& about : form.arguments) {
      if (about.help.find(" file") == std::string::npos || about.name == "routing") continue;
      EXPECT_NE(naming_of(form.name, about.name), Naming::nothing) << form.name << " " << about.name;
    }
}

// In a process of its own: it holds from then on.
TEST(ServedRestricted, PathsOfTheMachineAreNotRead) {
  EXPECT_EXIT(
      {
        restrict_inputs({"/usr/share"});
        bool fine = true;
        for (const char* query : {R"({"trace": "/etc/passwd"})", R"({"trace": "/usr/share/../../etc/passwd"})",
                                  R"({"trace": "-"})", R"({"trace": ["/etc/passwd"]})"})
          fine &= line_of(ask_served("diagnose", std::string_view(query))) != "answered" &&
                  line_of(ask_served("diagnose", std::string_view(query))).find("may not be read") != std::string::npos;
        for (const char* query :
             {R"({"model": "/etc/passwd", "gpu": "L4", "seq": 8})",
              R"({"model": "GPT-2", "gpu": "/etc/passwd", "seq": 8})",
              R"({"model": "GPT-2", "gpu": "L4", "seq": 8, "weights": "/etc/passwd"})",
              R"({"model": "Qwen3-30B-A3B", "gpu": "H100-SXM", "seq": 8, "routing": "counts:/etc/passwd"})"})
          fine &= line_of(ask_served("predict", std::string_view(query))).find("ead here") != std::string::npos;
        fine &=
            is_allowed_input("/usr/share/x") && !is_allowed_input("/usr/shared/x") && !is_allowed_input("/usr/share");
        fine &= ask_served("diagnose", Query{{"trace", {{"name", "t.json"}, {"base64", base64_text(kTrace)}}}}).ok();
        fine &= ask_served("predict", std::string_view(R"({"model": "GPT-2", "gpu": "L4", "seq": 8})")).ok();
        std::exit(fine ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tilecast
