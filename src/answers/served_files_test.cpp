// Questions of strangers: whatever argument they name, nothing of this machine is read, written or run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "answers/answer_files.h"
#include "answers/ask.h"
#include "answers/question_forms.h"
#include "answers/served.h"
#include "support/base64.h"
#include "support/file.h"
#include "support/gzip_size.h"
#include "support/test_files.h"
#include "test_paths.h"
#include "tilecast/gpu.h"
#include "tilecast/watch.h"

namespace tilecast {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr ServedRules kStranger{.paths = false};

// Something that its reader would be glad of, for each kind of thing that an argument may name.
struct Traps {
  TestFolder folder;
  std::string gpu, model, trace, prices, counts;
  Traps() {
    gpu = folder.plain("card.json", *gpu_description({.name = "H100-SXM"}));
    model = folder.plain("config.json", R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12,
                                            "n_head": 12, "vocab_size": 50257, "n_positions": 1024})");
    trace = folder.plain("trace.csv", "name,duration_us\nkernel,5\n");
    prices = folder.plain("prices.csv", "gpu,usd_per_hour\nH100-SXM,3\n");
    counts = folder.plain("counts.txt", "1 2 3 4 5 6 7 8\n");
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> all;
    for (const std::string& path : {gpu, model, trace, prices, counts}) {
      all.push_back(path);
      all.push_back(std::filesystem::relative(path).string());
      all.push_back("8x" + path);
      all.push_back(path + ":2");
      all.push_back("x@" + path);
      all.push_back("counts:" + path);
      all.push_back("file://" + path);
      all.push_back("{/.." + path);
    }
    for (const char* text :
         {"/etc/passwd", "../x", "../../etc/passwd", "-", "8x-", "-:2", "/dev/stdin", "/proc/self/environ", ".", "..",
          "/", "~/x", "a/../../b", "org/../Llama-3.1-8B", "/Llama-3.1-8B"})
      all.emplace_back(text);
    all.push_back(folder.file(""));
    return all;
  }
};

// Arguments that a question needs, so that nothing but the one under test is in the way.
Parsed others_of(const QuestionForm& form) {
  Parsed query = Parsed::object();
  if (form.name == "kernel") query = {{"family", "gemm"}, {"m", 64}, {"n", 64}, {"k", 64}};
  for (const Argument& about : form.arguments) {
    if (about.touches == Touches::gpu && about.name == "gpu") query["gpu"] = "H100-SXM";
    if (about.required && about.touches == Touches::nothing) query[about.name] = about.example;
    if (about.required && about.touches == Touches::model) query[about.name] = "Llama-3.1-8B";
  }
  return query;
}

TEST(ServedFiles, NoArgumentOfAnyQuestionReadsWritesOrRuns) {
  const Traps traps;
  int asked = 0;
  for (const QuestionForm& form : question_forms())
    for (const Argument& about : form.arguments) {
      if (about.touches == Touches::nothing) continue;
      for (const std::string& text : traps.paths()) {
        // Only names of that form stand for counts, and only what is no list of prices for a table.
        if (about.touches == Touches::counts && !text.starts_with("counts:")) continue;
        Parsed query = others_of(form);
        query[about.name] = text;
        const auto answer = ask_served(form.name, query, {}, kStranger);
        ASSERT_FALSE(answer) << form.name << " " << about.name << " " << text;
        // Two dots are no path to a reader of names: it knows none of that name.
        if (text.find('/') != std::string::npos) {
          EXPECT_EQ(answer.error().field, about.name) << form.name << " " << text << ": " << answer.error().line();
        }
        EXPECT_THAT(answer.error().problem, Not(HasSubstr("root:"))) << text;
        ++asked;
      }
    }
  EXPECT_GT(asked, 1000);
}

// A new argument that takes a file must say so: its help does.
TEST(ServedFiles, ArgumentsThatSpeakOfFilesDeclareIt) {
  for (const QuestionForm& form : question_forms())
    for (const Argument& about : form.arguments) {
      const bool speaks =
          about.help.find("file") != std::string::npos || about.help.find("FILE") != std::string::npos ||
          about.help.find("command") != std::string::npos || about.help.find("table") != std::string::npos;
      const bool weights = about.name == "weights";
      if (speaks || weights) {
        EXPECT_NE(about.touches, Touches::nothing) << form.name << " " << about.name << ": " << about.help;
      }
    }
}

TEST(ServedFiles, CommandsAndOutputsAreRefusedByName) {
  const Parsed gemm = {{"gpu", "H100"}, {"m", 1}, {"n", 64}, {"k", 64}, {"measure", "true"}};
  EXPECT_EQ(ask_served("tune gemm", gemm, {}, kStranger).error().field, "measure");
  EXPECT_EQ(ask_served("calibrate", Parsed{{"gpu", "H100"}, {"out", "x"}}, {}, kStranger).error().field, "out");
  EXPECT_EQ(ask_served("retime", Parsed{{"gpu", "H100"}, {"output", "x"}}, {}, kStranger).error().field, "output");
  EXPECT_EQ(ask_served("gpus", Parsed{{"x", 1}}, {}, kStranger).error().field, "x");
}

Parsed file_of(const std::string& name, const std::string& bytes) {
  return {{"name", name}, {"base64", base64_text(bytes)}};
}

TEST(ServedFiles, FilesByValueAreReadAndNeverNamed) {
  const Parsed trace = file_of("../../trace.csv", "name,duration_us\nkernel,5\n");
  const auto report = ask_served("diagnose", Parsed{{"trace", trace}, {"gpu", "H100"}}, {}, kStranger);
  ASSERT_TRUE(report) << report.error().line();
  EXPECT_THAT(*report, Not(HasSubstr(std::filesystem::temp_directory_path().string() + "/")));
  const auto broken =
      ask_served("diagnose", Parsed{{"trace", file_of("t.csv", "nonsense")}, {"gpu", "H100"}}, {}, kStranger);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().line(), Not(HasSubstr(std::filesystem::temp_directory_path().string() + "/")));

  const Parsed card = file_of("card.json", *gpu_description({.name = "H100-SXM"}));
  const Parsed gemm = {{"family", "gemm"}, {"m", 64}, {"n", 64}, {"k", 64}, {"gpu", card}};
  EXPECT_TRUE(ask_served("kernel", gemm, {}, kStranger));
  const Parsed plan = {{"model", "Llama-3.1-8B"},
                       {"gpus", "8xH100-SXM"},
                       {"global_batch", 64},
                       {"seq", 2048},
                       {"prices", file_of("p.csv", "gpu,usd_per_hour\nH100-SXM,3\n")}};
  EXPECT_TRUE(ask_served("plan train", plan, {}, kStranger));
}

TEST(ServedFiles, WhatTheCommandLineWouldWriteComesInTheAnswer) {
  const Parsed tune = {{"gpu", "H200"}, {"experts", 8},   {"hidden", 1024}, {"inter", 512},
                       {"topk", 2},     {"tokens", "64"}, {"files", true}};
  const auto tuned = ask_served("tune fused-moe", tune, {}, kStranger);
  ASSERT_TRUE(tuned) << tuned.error().line();
  const Parsed files = Parsed::parse(*tuned).at("files");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_THAT(files[0].at("text").get<std::string>(), HasSubstr("BLOCK_SIZE_M"));
  EXPECT_FALSE(ask_served("kernel", Parsed{{"files", "yes"}}, {}, kStranger));
  EXPECT_EQ(ask_served("kernel", Parsed{{"files", true}}, {}, kStranger).error().field, "files") << "it writes none";
  EXPECT_EQ(with_files("{}\n", {{"a", "text/plain", "b"}}),
            "{\n  \"files\": [{\"name\":\"a\",\"media_type\":\"text/plain\",\"text\":\"b\"}]\n}\n");
}

TEST(ServedFiles, NoQuestionAsksForThousands) {
  Parsed query = {{"family", "gemm"}, {"m", 64}, {"n", 64}, {"k", 64}, {"gpu", std::vector<std::string>(1001, "H100")}};
  EXPECT_EQ(ask_served("kernel", query, {}, kStranger).error().field, "gpu");
}

TEST(ServedFiles, ArchivesAreMeasuredBeforeTheyAreRead) {
  EXPECT_FALSE(unpacks_to_more("plain", 1));
  // "hi", as gzip writes it; twice over is one archive of four bytes.
  const std::string hi("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\xc8\x04\x00\xac\x2a\x93\xd8\x02\x00\x00\x00", 22);
  EXPECT_TRUE(unpacks_to_more(hi, 1));
  EXPECT_FALSE(unpacks_to_more(hi, 2));
  EXPECT_TRUE(unpacks_to_more(hi + hi, 3));
  EXPECT_FALSE(unpacks_to_more(hi.substr(0, 15), 2));  // broken: its reader says so
}

StepForecast forecast_step(Parsed query) {
  query.erase("files");
  const auto step = forecast(*step_query(query.dump()));
  EXPECT_TRUE(step) << step.error().line();
  return *step;
}

// A list of answers: each with the trace of its own step.
TEST(ServedFiles, EveryStepHasItsTrace) {
  const Parsed query = {{"model", "GPT-2"}, {"gpu", {"L4", "H100-SXM"}}, {"seq", 64}, {"files", true}};
  const auto answer = ask_served("predict", query, {}, kStranger);
  ASSERT_TRUE(answer) << answer.error().line();
  const Parsed steps = Parsed::parse(*answer);
  ASSERT_EQ(steps.size(), 2u);
  for (const Parsed& step : steps) {
    ASSERT_EQ(step.at("files").size(), 1u);
    const Parsed trace = Parsed::parse(step["files"][0].at("text").get<std::string>());
    double end_us = 0;
    for (const Parsed& event : trace.at("traceEvents"))
      if (event.value("ph", "") == "X")
        end_us = std::max(end_us, event["ts"].get<double>() + event["dur"].get<double>());
    EXPECT_NEAR(end_us / (1e3 * step.at("gpu_ms").get<double>()), 1, 1e-3);
  }
  Parsed without = query;
  without.erase("files");
  Parsed bare = steps;
  for (Parsed& step : bare) step.erase("files");
  EXPECT_EQ(bare, Parsed::parse(*ask_served("predict", without, {}, kStranger))) << "nothing else changes";
}

// What --export-chakra writes, in the answer.
TEST(ServedFiles, TracesOfEveryRankForAstraSim) {
  Parsed query = {{"model", "GPT-2"}, {"mode", "train"},   {"batch", 4},        {"seq", 64},           {"tp", 2},
                  {"dp", 2},          {"gpu", "H100-SXM"}, {"files", "chakra"}, {"method", "analytic"}};
  const auto answer = ask_served("predict", query, {}, kStranger);
  ASSERT_TRUE(answer) << answer.error().line();
  const auto steps = forecast_step(query);
  const TestFolder folder;
  ASSERT_TRUE(write_chakra(*chakra_traces(steps), folder.file("written"), "step"));
  std::size_t written = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("written")))
    written += entry.is_regular_file();
  const Parsed files = Parsed::parse(*answer).at(0).at("files");
  EXPECT_EQ(files.size(), written);
  for (const Parsed& file : files) {
    const auto text = read_text_file(folder.file("written/" + file.at("name").get<std::string>()), 1 << 24);
    ASSERT_TRUE(text) << file.at("name");
    const bool binary = file.contains("base64");
    EXPECT_EQ(binary, file.at("name").get<std::string>().ends_with(".et"));
    EXPECT_EQ(binary ? *base64_bytes(file["base64"].get<std::string>()) : file["text"].get<std::string>(), *text);
  }
  const auto field = [&](const char* question, const Parsed& asked) {
    const auto refused = ask_served(question, asked, {}, kStranger);
    return refused ? "" : refused.error().field;
  };
  query["batch"] = "4,8";
  EXPECT_EQ(field("predict", query), "files") << "of one step";
  query["batch"] = 4, query["tp"] = 1, query["dp"] = 1;
  EXPECT_FALSE(field("predict", query).empty()) << "one GPU exchanges nothing";
  EXPECT_EQ(field("simulate", {{"files", "chakra"}}), "files");
}

Parsed measured_rows() {
  const auto rows = read_text_file(TILECAST_SOURCE_DIR "/data/measurements/h200_quick.csv.gz", 1 << 20);
  EXPECT_TRUE(rows);
  return {{"name", "rows.csv.gz"}, {"base64", base64_text(*rows)}};
}

TEST(ServedFiles, ACalibratedCardNamesItsRowsAsTheyWereSent) {
  const auto answer =
      ask_served("calibrate", Parsed{{"gpu", "H200-SXM"}, {"data", measured_rows()}, {"files", true}}, {}, kStranger);
  ASSERT_TRUE(answer) << answer.error().line();
  EXPECT_THAT(*answer, Not(HasSubstr(std::filesystem::temp_directory_path().string() + "/")));
  EXPECT_THAT(Parsed::parse(*answer).at("files").at(0).at("text").get<std::string>(), HasSubstr("\"rows.csv.gz\""));
}

// Each hears of shares and ends at the first of them.
TEST(ServedFiles, EveryLongQuestionEndsWhenToldTo) {
  const auto trace = read_text_file(TILECAST_SOURCE_DIR "/data/measurements/traces/h200_eager.json.gz", 1 << 22);
  ASSERT_TRUE(trace);
  const Parsed file = {{"name", "t.json.gz"}, {"base64", base64_text(*trace)}};
  const Parsed table = {{"name", "t.csv"}, {"base64", base64_text("name,duration_us\nkernel,5\n")}};
  const std::vector<std::pair<const char*, Parsed>> questions = {
      {"diagnose", {{"trace", file}}},
      {"diagnose", {{"trace", table}, {"gpu", "H100-SXM"}}},
      {"retime", {{"trace", file}, {"gpu", "B200"}}},
      {"tune fused-moe", {{"gpu", "H200"}, {"experts", 8}, {"hidden", 1024}, {"inter", 512}, {"topk", 2}}},
      {"tune gemm", {{"gpu", "H200"}, {"m", 64}, {"n", 64}, {"k", 64}}},
      {"calibrate", {{"gpu", "H200-SXM"}, {"data", measured_rows()}}}};
  for (const auto& [question, query] : questions) {
    std::stop_source stop;
    double last = -1;
    int heard = 0;
    const auto answer = ask_served(question, query,
                                   {[&](double share) {
                                      EXPECT_GE(share, last);
                                      EXPECT_LE(share, 1);
                                      last = share;
                                      if (++heard == 1) stop.request_stop();
                                    },
                                    stop.get_token()},
                                   kStranger);
    ASSERT_FALSE(answer) << question;
    EXPECT_TRUE(is_stopped(answer.error())) << question << ": " << answer.error().line();
    EXPECT_EQ(heard, 1) << question << " went on";
  }
}

TEST(ServedFiles, SharesOfATraceAscendToItsEnd) {
  const auto trace = read_text_file(TILECAST_SOURCE_DIR "/data/measurements/traces/h200_eager.json.gz", 1 << 22);
  ASSERT_TRUE(trace);
  std::vector<double> shares;
  const Parsed query = {
      {"trace", {{"name", "t.json.gz"}, {"base64", base64_text(*trace)}}}, {"gpu", "B200"}, {"files", true}};
  const auto answer = ask_served("retime", query, {[&](double share) { shares.push_back(share); }, {}}, kStranger);
  ASSERT_TRUE(answer) << answer.error().line();
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0);
  EXPECT_GT(shares.back(), 0.6) << "it is written at the end";
}

TEST(ServedFiles, AnEndedQuestionSaysSo) {
  std::stop_source stop;
  stop.request_stop();
  const Parsed query = {{"model", "Llama-3.1-8B"}, {"gpu", "H100-SXM"}, {"rate", 5}, {"num_prompts", 2000}};
  const auto answer = ask_served("simulate", query, {{}, stop.get_token()}, kStranger);
  ASSERT_FALSE(answer);
  EXPECT_TRUE(is_stopped(answer.error())) << answer.error().line();
}

}  // namespace
}  // namespace tilecast
