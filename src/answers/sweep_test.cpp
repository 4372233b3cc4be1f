// Questions asked over ranges: what is asked, how the answers are listed, and the rows that are made of them.
#include "answers/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/ask.h"

namespace tilecast {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

json answer(std::string_view question, const json& query) {
  const auto text = ask(question, query.dump());
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().line());
  return text.ok() ? json::parse(*text) : json();
}

const json kGemm = {{"family", "gemm"}, {"n", 4096}, {"k", 4096}, {"gpu", {"H100-SXM", "B200"}}};

json gemm(const json& m) {
  json query = kGemm;
  query["m"] = m;
  return query;
}

TEST(QuerySweep, AsksOncePerValueAndSaysWhich) {
  const json swept = answer("kernel", gemm("1,8..32*2"));
  ASSERT_EQ(swept.size(), 8u);  // four values on two cards
  std::vector<int> asked;
  for (const json& one : swept) asked.push_back(one["arguments"]["m"]);
  EXPECT_THAT(asked, ElementsAre(1, 1, 8, 8, 16, 16, 32, 32));
  // Each is what asking for it alone says.
  for (std::size_t i = 0; i < swept.size(); ++i) {
    json alone = answer("kernel", gemm(asked[i]))[i % 2];
    json one = swept[i];
    one.erase("arguments");
    EXPECT_EQ(one, alone);
  }
}

TEST(QuerySweep, ListsAndTextsAreTheSame) {
  EXPECT_EQ(answer("kernel", gemm(json::array({1, 8}))), answer("kernel", gemm("1,8")));
  EXPECT_EQ(answer("kernel", gemm(json::array({"1", "2..3"}))), answer("kernel", gemm("1..3")));
}

TEST(QuerySweep, OneValueIsNoSweep) {
  EXPECT_EQ(answer("kernel", gemm("8..8")), answer("kernel", gemm(8)));
  EXPECT_EQ(answer("kernel", gemm(json::array({8}))), answer("kernel", gemm(8)));
}

TEST(QuerySweep, TakesLengthsOfRequestsThatArePlainNumbers) {
  json query = {{"model", "gpt2"}, {"gpu", "H100-SXM"}, {"num-prompts", 2}, {"input", "32..64*2"}, {"output", 8}};
  EXPECT_EQ(answer("simulate", query).size(), 2u);
  query["input"] = "uniform:32:0.5";
  EXPECT_TRUE(answer("simulate", query).is_object());
}

TEST(QuerySweep, SpellsOutRangesOfLists) {
  json query = {{"gpu", "H200"}, {"experts", 8}, {"hidden", 512}, {"inter", 512}, {"topk", 2}, {"tokens", "16..64*2"}};
  EXPECT_EQ(answer("tune fused-moe", query)["tuned"].size(), 3u);
  query["tokens"] = "64..16";
  EXPECT_FALSE(ask("tune fused-moe", query.dump()).ok());
}

TEST(QuerySweep, TakesEveryCombinationOfSeveral) {
  json query = gemm("1,2");
  query["k"] = json::array({64, 128, 256});
  const json swept = answer("kernel", query);
  ASSERT_EQ(swept.size(), 12u);
  EXPECT_EQ(swept[2]["arguments"], (json{{"m", 1}, {"k", 128}}));
  EXPECT_EQ(swept[11]["arguments"], (json{{"m", 2}, {"k", 256}}));
}

TEST(QuerySweep, KeepsDocumentsOfListsThatCollectivesHaveAlwaysTaken) {
  const json query = {{"op", "all_reduce"}, {"cluster", "hgx-h100"}, {"ranks", 8}, {"bytes", {"64K", "1M"}}};
  const json listed = answer("collective", query);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_FALSE(listed[0].contains("arguments"));
  json range = query;
  range["bytes"] = "64K..1M*16";
  EXPECT_EQ(answer("collective", range), listed);
  range["ranks"] = "2..8*2";
  const json swept = answer("collective", range);
  ASSERT_EQ(swept.size(), 6u);
  EXPECT_EQ(swept[0]["arguments"], (json{{"ranks", 2}}));
}

TEST(QuerySweep, SaysWhatCannotBeAskedBesideTheRest) {
  // Eight heads share four of keys and values, but not three.
  json query = {{"family", "attention_decode"}, {"batch", 1}, {"kv-len", 128}, {"heads", 8}, {"gpu", "H100-SXM"}};
  query["kv_heads"] = "3,4";
  const json swept = answer("kernel", query);
  ASSERT_EQ(swept.size(), 2u);
  EXPECT_EQ(swept[0]["arguments"], (json{{"kv_heads", 3}}));
  EXPECT_THAT(swept[0]["error"].get<std::string>(), HasSubstr("kv-heads"));
  EXPECT_TRUE(swept[1].contains("latency_us"));
  query["kv_heads"] = "3,5";
  EXPECT_FALSE(ask("kernel", query.dump()).ok());  // none of them
}

TEST(QuerySweep, IsRefusedWhereItMakesNoSense) {
  const auto refused = [](std::string_view question, const json& query) {
    const auto text = ask(question, query.dump());
    EXPECT_FALSE(text.ok()) << query;
    return text.ok() ? std::string() : text.error().line();
  };
  EXPECT_THAT(refused("kernel", gemm("8..1")), HasSubstr("m: '8..1' ends below its beginning"));
  EXPECT_THAT(refused("kernel", gemm("1..1000000000")), HasSubstr("more than 4096"));
  EXPECT_THAT(refused("kernel", gemm("1,,2")), HasSubstr("nothing between two commas"));
  json both = gemm("1..100");
  both["k"] = "1..100";
  EXPECT_THAT(refused("kernel", both), HasSubstr("more than 4096 combinations"));
  json dtype = gemm(8);
  dtype["dtype"] = "bf16..fp8";
  EXPECT_THAT(refused("kernel", dtype), HasSubstr("dtype"));
  const json input = {{"model", "-"}, {"gpu", "H100-SXM"}, {"batch", "1,2"}};
  EXPECT_THAT(refused("predict", input), HasSubstr("standard input can be read once"));
}

TEST(QuerySweep, AsksManyInTheSameWay) {
  const auto text = ask_many("kernel", json::array({gemm("1,2"), gemm("8..1")}).dump(), 2);
  ASSERT_TRUE(text.ok());
  const json answers = json::parse(*text);
  EXPECT_EQ(answers[0]["answer"], answer("kernel", gemm("1,2")));
  EXPECT_EQ(answers[1]["error"]["field"], "m");
}

AnswerRows rows(std::string_view question, const json& query) {
  const auto all = ask_rows(question, query.dump());
  EXPECT_TRUE(all.ok()) << (all.ok() ? "" : all.error().line());
  return all.ok() ? *all : AnswerRows{};
}

TEST(Rows, HaveTheFiguresOfTheDocument) {
  const json document = answer("kernel", gemm("1,8"));
  const AnswerRows all = rows("kernel", gemm("1,8"));
  ASSERT_EQ(all.rows.size(), document.size());
  EXPECT_EQ(all.swept, 1u);
  EXPECT_EQ(all.columns.front(), "m");
  for (std::size_t i = 0; i < document.size(); ++i) {
    const auto cell = [&](const char* column) { return all.rows[i][all.find(column).value()]; };
    EXPECT_EQ(cell("latency_us").number.value(), document[i]["latency_us"].get<double>());
    EXPECT_EQ(cell("interval_low_us").number.value(), document[i]["interval_us"][0].get<double>());
    EXPECT_EQ(cell("interval_high_us").number.value(), document[i]["interval_us"][1].get<double>());
    EXPECT_EQ(cell("limited_by").text, document[i]["limited_by"].get<std::string>());
    EXPECT_EQ(cell("seen").text, "yes");
  }
}

TEST(Rows, NameUnitsAndJoinGroups) {
  AnswerRows all;
  const auto document = nlohmann::ordered_json::parse(R"([{"gpu": "A", "memory_bytes": {"weights": 1.5, "fits": true,
      "cache_room_tokens": 7}, "kernel": {"family": "gemm", "dims": {"m": "8", "n": "4"}}, "notes": ["a", "b"],
      "breakdown": [{"name": "x"}], "interval_ms": [1, 2], "ttft_interval_ms": [3, 4]}])");
  add_rows(all, "kernel", document, nlohmann::ordered_json::object(), 0);
  EXPECT_THAT(all.columns, ElementsAre("gpu", "memory_weights_bytes", "memory_fits", "memory_cache_room_tokens",
                                       "family", "dims", "notes", "interval_low_ms", "interval_high_ms",
                                       "ttft_interval_low_ms", "ttft_interval_high_ms"));
  EXPECT_EQ(csv_text(all),
            "gpu,memory_weights_bytes,memory_fits,memory_cache_room_tokens,family,dims,notes,"
            "interval_low_ms,interval_high_ms,ttft_interval_low_ms,ttft_interval_high_ms\n"
            "A,1.5,true,7,gemm,m=8 n=4,a; b,1,2,3,4\n");
}

TEST(Rows, AreQuotedWhereTheyMustBe) {
  AnswerRows all;
  add_rows(all, "gpus", nlohmann::ordered_json::parse(R"([{"name": "a, \"b\"", "x": null}, {"name": "c", "y": 0.1}])"),
           nlohmann::ordered_json::object(), 0);
  EXPECT_EQ(csv_text(all), "name,x,y\n\"a, \"\"b\"\"\",,\nc,,0.1\n");
}

TEST(Rows, OfADocumentWithAListOfItsOwn) {
  const json query = {{"model", "gpt2"}, {"gpu", "H100-SXM"}, {"num-prompts", 4},
                      {"input", 64},     {"output", 16},      {"rate", "1..2"}};
  const AnswerRows all = rows("simulate", query);
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.columns.front(), "rate");
  for (const char* column : {"model", "gpu", "load", "mean_ttft_ms", "fast_mean_ttft_ms", "energy_total_j"})
    EXPECT_TRUE(all.find(column)) << column;
  EXPECT_EQ(all.rows[1][all.find("load").value()].text, "rate 2");
}

TEST(Rows, SayWhyACombinationHasNoAnswer) {
  AnswerRows all;
  const nlohmann::ordered_json one = {{"m", 1}}, two = {{"m", 2}};
  add_rows(all, "kernel", nlohmann::ordered_json::parse(R"([{"gpu": "A"}])"), one, 0);
  add_error(all, field_error("m", "is odd", "an even one"), two, 1);
  EXPECT_THAT(csv_text(all), StartsWith("m,gpu,error\n1,A,\n2,,m: is odd"));
}

}  // namespace
}  // namespace tilecast
