// The C interface: handles, arrays, errors, threads. Run under sanitizers too: nothing leaks, whatever is asked.
#include "tilecast/abi.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tilecast/kernel.h"
#include "tilecast/step_predictor.h"
#include "tilecast/version.h"

namespace {

using Json = nlohmann::json;

struct Asked {
  tilecast_status status = TILECAST_FAILED;
  Json answer;
  tilecast_error error = {};
};

Asked asked(const char* question, const std::string& query) {
  Asked result;
  tilecast_text* text = nullptr;
  result.status = tilecast_ask(question, query.c_str(), &text, &result.error);
  if (text) {
    result.answer = Json::parse(std::string(tilecast_text_data(text), tilecast_text_size(text)));
    EXPECT_EQ(tilecast_text_data(text)[tilecast_text_size(text)], '\0');
  }
  tilecast_text_free(text);
  return result;
}

TEST(Abi, SaysItsVersionAndRefusesOthers) {
  EXPECT_EQ(tilecast_version(), std::string(tilecast::version()));
  EXPECT_EQ(tilecast_check_abi(TILECAST_ABI, nullptr), TILECAST_OK);
  tilecast_error error;
  EXPECT_EQ(tilecast_check_abi(TILECAST_ABI + 1, &error), TILECAST_REFUSED);
  EXPECT_STREQ(error.field, "abi");
  EXPECT_STRNE(error.remedy, "");
}

TEST(Abi, AnswersAsTheLibraryDoes) {
  const auto result = asked("kernel", R"({"family": "gemm", "m": 4096, "n": 4096, "k": "4Ki", "gpu": ["H100-SXM", "B200"]})");
  ASSERT_EQ(result.status, TILECAST_OK) << result.error.problem;
  ASSERT_EQ(result.answer.size(), 2u);
  const auto same = tilecast::forecast({.family = "gemm", .dims = {{"m", "4096"}, {"n", "4096"}, {"k", "4096"}}, .gpu = "B200"});
  EXPECT_EQ(result.answer[1]["latency_us"].get<double>(), tilecast::in_microseconds(same->latency));
}

TEST(Abi, RefusalsNameTheFieldAndARemedy) {
  const struct {
    const char *question, *query, *field;
  } cases[] = {
      {"kernel", R"({"family": "gemm", "m": 1, "n": 1, "k": 1})", "gpu"},
      {"kernel", R"({"family": "gemm", "m": 1, "n": 1, "k": 1, "gpu": "H100-SXM", "dtype": "fp7"})", "dtype"},
      {"kernel", R"({"family": "gemm", "m": "many", "n": 1, "k": 1, "gpu": "H100-SXM"})", "m"},
      {"kernel", R"({"family": "gemm", "m": {"a": {}}, "n": 1, "k": 1, "gpu": "H100-SXM"})", "m"},
      {"predict", R"({"model": "Llama-3.1-8B", "gpu": "H100-SXM", "mode": "decode", "batch": 4, "contxt": 5})", "contxt"},
      {"predict", R"({"model": "Llama-3.1-8B", "gpu": "H100-SXM", "mode": "decode", "batch": -4, "context": 5})", "batch"},
      {"predict", R"({"model": "Llama-3.1-8B", "gpu": [], "mode": "decode"})", "gpu"},
      {"simulate", R"({"model": "Llama-3.1-8B", "gpu": "H100-SXM", "rate": [1]})", ""},
      {"oracle", "{}", "question"},
  };
  for (const auto& one : cases) {
    const auto result = asked(one.question, one.query);
    if (std::string(one.field).empty()) continue;
    EXPECT_EQ(result.status, TILECAST_REFUSED) << one.query;
    EXPECT_STREQ(result.error.field, one.field) << one.query << result.error.problem;
    EXPECT_STRNE(result.error.remedy, "") << one.query;
  }
}

TEST(Abi, BrokenTextsAreRefused) {
  for (const char* text : {"", "{", "[]", "7", "null", "{\"m\": NaN}", "{\"m\": 1e999}", "\xff\xfe"})
    EXPECT_EQ(asked("kernel", text).status, TILECAST_REFUSED) << text;
  EXPECT_EQ(asked("kernel", std::string(5000, '[')).status, TILECAST_REFUSED);
  EXPECT_EQ(asked("predict", R"({"model": {"architectures": ["LlamaForCausalLM"]}, "gpu": "H100-SXM", "seq": 5})").status,
            TILECAST_REFUSED);
}

TEST(Abi, NullsAreRefused) {
  tilecast_error error;
  tilecast_text* text = nullptr;
  double seconds = 0;
  EXPECT_EQ(tilecast_ask(nullptr, "{}", &text, &error), TILECAST_REFUSED);
  EXPECT_EQ(tilecast_ask("gpus", nullptr, &text, &error), TILECAST_REFUSED);
  EXPECT_EQ(tilecast_ask("gpus", "{}", nullptr, &error), TILECAST_REFUSED);
  EXPECT_EQ(tilecast_ask("nonsense", "{}", &text, nullptr), TILECAST_REFUSED);
  EXPECT_EQ(tilecast_kernel_times("{}", nullptr, 1, 1, 0, &seconds, &error), TILECAST_REFUSED);
  EXPECT_EQ(tilecast_predictor_step(nullptr, 0, nullptr, nullptr, 0, nullptr, &seconds, &error), TILECAST_REFUSED);
  EXPECT_EQ(text, nullptr);
  tilecast_text_free(nullptr);
  tilecast_predictor_free(nullptr);
  EXPECT_STREQ(tilecast_text_data(nullptr), "");
}

TEST(Abi, LongTextsOfErrorsAreCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "\xc3\xa9";
  const auto result = asked("gpu", R"({"gpu": ")" + name + R"("})");
  EXPECT_EQ(result.status, TILECAST_REFUSED);
  EXPECT_LT(std::string(result.error.problem).size(), sizeof result.error.problem);
  EXPECT_NO_THROW(Json(std::string(result.error.problem)).dump());
}

TEST(Abi, ManyQueriesAnswerInOrderAndTheirErrorsStandAmongThem) {
  Json queries = Json::array();
  for (int m = 1; m <= 40; ++m)
    queries.push_back({{"family", "gemm"}, {"m", m == 7 ? 0 : m}, {"n", 64}, {"k", 64}, {"gpu", "H100-SXM"}});
  tilecast_text* text = nullptr;
  ASSERT_EQ(tilecast_ask_many("kernel", queries.dump().c_str(), 2, &text, nullptr), TILECAST_OK);
  const Json answers = Json::parse(tilecast_text_data(text));
  tilecast_text_free(text);
  ASSERT_EQ(answers.size(), 40u);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (i == 6) EXPECT_EQ(answers[i]["error"]["field"], "m");
    else EXPECT_EQ(answers[i]["answer"][0]["kernel"]["dims"]["m"], std::to_string(i + 1));
  }
}

TEST(Abi, QuestionsListTheirArguments) {
  tilecast_text* text = nullptr;
  ASSERT_EQ(tilecast_questions(&text, nullptr), TILECAST_OK);
  const Json all = Json::parse(tilecast_text_data(text));
  tilecast_text_free(text);
  EXPECT_EQ(all.size(), 15u);
  for (const Json& one : all) EXPECT_FALSE(one["summary"].get<std::string>().empty());
}

TEST(Abi, ColumnsAreOneKernelEach) {
  std::vector<std::int64_t> m, n;
  for (int i = 0; i < 20000; ++i) m.push_back(1 + i % 4096), n.push_back(128 * (1 + i % 37));
  const tilecast_column columns[] = {{"m", m.data()}, {"n", n.data()}};
  const char* query = R"({"family": "gemm", "k": 4096, "gpu": "H100-SXM", "method": "analytic"})";
  std::vector<double> one(m.size()), two(m.size());
  tilecast_error error;
  ASSERT_EQ(tilecast_kernel_times(query, columns, 2, m.size(), 1, one.data(), &error), TILECAST_OK) << error.problem;
  ASSERT_EQ(tilecast_kernel_times(query, columns, 2, m.size(), 2, two.data(), &error), TILECAST_OK) << error.problem;
  EXPECT_EQ(one, two);
  const auto last = tilecast::forecast({.family = "gemm",
                                        .dims = {{"m", std::to_string(m.back())}, {"n", std::to_string(n.back())}, {"k", "4096"}},
                                        .gpu = "H100-SXM",
                                        .method = tilecast::Method::analytic});
  EXPECT_EQ(one.back(), last->latency.base());
  EXPECT_EQ(tilecast_kernel_times(query, columns, 2, 0, 0, nullptr, &error), TILECAST_OK);
  m[18000] = -5;
  EXPECT_EQ(tilecast_kernel_times(query, columns, 2, m.size(), 0, one.data(), &error), TILECAST_REFUSED);
  EXPECT_STREQ(error.place, "row 18000");
  m[18000] = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(tilecast_kernel_times(query, columns, 2, m.size(), 0, one.data(), &error), TILECAST_REFUSED);
}

TEST(Abi, PredictorsPriceSteps) {
  tilecast_predictor* predictor = nullptr;
  tilecast_error error;
  ASSERT_EQ(tilecast_predictor_new(R"({"model": "Llama-3.2-1B", "gpu": "H100-SXM"})", &predictor, &error), TILECAST_OK)
      << error.problem;
  const std::int64_t fresh[] = {512, 64}, before[] = {0, 128}, cached[] = {100, 200, 300};
  double mixed = 0, alone = 0;
  EXPECT_EQ(tilecast_predictor_step(predictor, 2, fresh, before, 3, cached, &mixed, &error), TILECAST_OK) << error.problem;
  EXPECT_EQ(tilecast_predictor_step(predictor, 0, nullptr, nullptr, 3, cached, &alone, &error), TILECAST_OK);
  EXPECT_GT(mixed, alone);
  EXPECT_EQ(tilecast_predictor_step(predictor, 0, nullptr, nullptr, 0, nullptr, &alone, &error), TILECAST_REFUSED);
  const std::int64_t negative = -1;
  EXPECT_EQ(tilecast_predictor_step(predictor, 0, nullptr, nullptr, 1, &negative, &alone, &error), TILECAST_REFUSED);
  EXPECT_STREQ(error.field, "decode");
  tilecast_predictor_free(predictor);
  predictor = nullptr;
  EXPECT_EQ(tilecast_predictor_new(R"({"model": "Llama-3.2-1B", "gpu": "H100-SXM", "batch": 4})", &predictor, &error),
            TILECAST_REFUSED);
  EXPECT_EQ(tilecast_predictor_new(R"({"model": "resnet", "gpu": "H100-SXM"})", &predictor, &error), TILECAST_REFUSED);
  EXPECT_EQ(predictor, nullptr);
}

TEST(Threads, ShareAPredictorAndQuestions) {
  tilecast_predictor* predictor = nullptr;
  ASSERT_EQ(tilecast_predictor_new(R"({"model": "Llama-3.2-1B", "gpu": "H100-SXM"})", &predictor, nullptr), TILECAST_OK);
  std::vector<double> seconds(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < seconds.size(); ++i)
      threads.emplace_back([&, i] {
        const std::int64_t cached[] = {700, 800};
        EXPECT_EQ(tilecast_predictor_step(predictor, 0, nullptr, nullptr, 2, cached, &seconds[i], nullptr), TILECAST_OK);
        EXPECT_EQ(asked("kernel", R"({"family": "rmsnorm", "rows": 64, "cols": 64, "gpu": "L4"})").status, TILECAST_OK);
      });
  }
  for (const double one : seconds) EXPECT_EQ(one, seconds.front());
  tilecast_predictor_free(predictor);
}

}  // namespace
