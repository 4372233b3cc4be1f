// Questions as JSON beside the same of the C++ interface, and what is refused.
#include "answers/ask.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "answers/documents.h"

namespace tilecast {
namespace {

using Texts = nlohmann::json;

std::string field_of(const Result<std::string>& answer) { return answer ? "" : answer.error().field; }

TEST(Ask, AgreesWithTheCppInterfaceOnRandomQuestions) {
  std::mt19937 random(18);
  const auto pick = [&](Count least, Count most) { return std::uniform_int_distribution<Count>(least, most)(random); };
  const std::vector<std::string> gpus = {"A100-SXM-80GB", "L40S", "H100-SXM", "B200", "MI300X"};
  const std::vector<std::string> dtypes = {"bf16", "fp16", "fp32"};
  for (int i = 0; i < 150; ++i) {
    KernelQuery query;
    query.family = "gemm", query.gpu = gpus[static_cast<std::size_t>(pick(0, 4))];
    query.dtype = dtypes[static_cast<std::size_t>(pick(0, 2))];
    query.method = static_cast<Method>(pick(0, 2)), query.runtime = static_cast<Runtime>(pick(0, 1));
    Texts text = {{"family", "gemm"},
                  {"gpu", query.gpu},
                  {"dtype", query.dtype},
                  {"method", name_of(query.method)},
                  {"runtime", name_of(query.runtime)}};
    for (const char* dim : {"m", "n", "k"}) {
      const Count value = pick(1, 5000);
      query.dims.emplace_back(dim, std::to_string(value));
      text[dim] = value;
    }
    const auto direct = forecast(query);
    const auto answer = ask("kernel", text.dump());
    ASSERT_EQ(direct.ok(), answer.ok()) << text;
    if (answer) EXPECT_EQ(*answer, forecast_json({*direct})) << text;
    else EXPECT_EQ(answer.error().line(), direct.error().line());
  }
  for (int i = 0; i < 12; ++i) {
    const StepQuery query{.model = "Llama-3.2-1B",
                          .gpu = gpus[static_cast<std::size_t>(pick(0, 4))],
                          .mode = Mode::decode,
                          .batch = pick(1, 64),
                          .context = pick(1, 4000)};
    const Texts text = {{"model", query.model},
                        {"gpu", query.gpu},
                        {"mode", "decode"},
                        {"batch", query.batch},
                        {"context", query.context}};
    const auto rows = step_rows({query});
    const auto answer = ask("predict", text.dump());
    ASSERT_TRUE(rows && answer) << text;
    EXPECT_EQ(*answer, predict_json(*rows)) << text;
  }
}

TEST(Ask, ListsGiveOneRowEachAndThoseThatCannotRunSayWhy) {
  const auto answer =
      ask("predict", R"({"model": "Llama-3.1-8B", "gpu": ["H100-SXM", "V100-SXM"], "dtype": ["bf16", "fp8"],
                                         "mode": "prefill", "seq": 64})");
  ASSERT_TRUE(answer) << answer.error().line();
  const Texts rows = Texts::parse(*answer);
  ASSERT_EQ(rows.size(), 4u);
  int refused = 0;
  for (const Texts& row : rows) refused += row.contains("error") ? 1 : 0;
  EXPECT_EQ(refused, 1);
}

TEST(Ask, DescriptionsStandInPlaceOfNames) {
  const auto card = ask("kernel", R"({"family": "gemm", "m": 64, "n": 64, "k": 64,
                                      "gpu": {"like": "H100-SXM", "name": "Mine", "dram": {"gb_per_s": 6000}}})");
  ASSERT_TRUE(card) << card.error().line();
  EXPECT_EQ(Texts::parse(*card)[0]["gpu"], "Mine");
  const auto model =
      ask("models", R"({"model": {"architectures": ["LlamaForCausalLM"], "hidden_size": 512, "intermediate_size": 1024,
    "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000, "_name_or_path": "tiny"}})");
  ASSERT_TRUE(model) << model.error().line();
  EXPECT_EQ(Texts::parse(*model)["name"], "tiny");
  EXPECT_EQ(Texts::parse(*model)["layers"], 4);
}

TEST(Ask, ArgumentsTakeHyphensUnderscoresAliasesAndNulls) {
  const char* forms[] = {
      R"({"family": "attention_decode", "batch": 4, "kv_len": 512, "heads": 8, "gpu": "L4"})",
      R"({"family": "attention_decode", "batch": "4", "kv-len": 512.0, "heads": 8, "gpu": "L4", "engine": null})"};
  const auto one = ask("kernel", forms[0]), two = ask("kernel", forms[1]);
  ASSERT_TRUE(one && two) << (one ? two : one).error().line();
  EXPECT_EQ(*one, *two);
  EXPECT_EQ(field_of(ask("kernel", R"({"family": "gemm", "kv-len": 1, "kv_len": 1, "gpu": "L4"})")), "kv_len");
}

TEST(Ask, RefusalsNameTheArgument) {
  EXPECT_EQ(field_of(ask("gpus", R"({"name": "H100"})")), "name");
  EXPECT_EQ(field_of(ask("gpu", R"({"gpu": 5})")), field_of(ask("gpu", R"({"gpu": "5"})")));
  EXPECT_EQ(field_of(ask("models", R"({"classes": 5})")), "classes");
  EXPECT_EQ(ask("kernel", R"({"family": "gemm", "m": true, "n": 8, "k": 8, "gpu": "L4"})").error().problem,
            "must be a whole number, not 'true'");
  EXPECT_EQ(field_of(ask("collective", R"({"op": "all_reduce", "bytes": "64Q", "cluster": "hgx-h100", "ranks": 2})")),
            "bytes");
  EXPECT_FALSE(ask("plan train", R"({"model": "Llama-3.1-70B", "gpus": "1xL4", "global_batch": 1, "seq": 128})"));
}

TEST(Ask, EveryQuestionOfTheProgramIsAmongThem) {
  const Texts all = Texts::parse(questions_json());
  for (const Question* question :
       {&kernel_question(), &step_question(), &memory_question(), &collective_question(), &simulate_question(),
        &plan_serve_question(), &plan_train_question(), &diagnose_question(), &retime_question(), &calibrate_question(),
        &tune_moe_question(), &tune_gemm_question(), &gpus_question(), &models_question(), &clusters_question()}) {
    bool found = false;
    for (const Texts& one : all) found |= one["summary"] == question->summary;
    EXPECT_TRUE(found) << question->name;
  }
}

// Schemas, manual pages and the web page show arguments one by one.
TEST(Ask, HelpOfAnArgumentIsUnderstoodWithoutItsNeighbours) {
  for (const Texts& question : Texts::parse(questions_json()))
    for (const Texts& argument : question["arguments"]) {
      const std::string help = argument["help"];
      EXPECT_FALSE(help.empty() || help.starts_with("..."))
          << question["name"] << " " << argument["name"] << ": " << help;
    }
}

TEST(Ask, ArgumentsSayTheirRangeAndWhereTheyMeanSomething) {
  const Texts all = Texts::parse(questions_json());
  bool positional = false, bounded = false, scoped = false;
  for (const Texts& question : all)
    for (const Texts& argument : question["arguments"]) {
      if (argument["name"] == "model") positional |= argument.value("positional", false);
      if (question["name"] == "predict" && argument["name"] == "batch") bounded = argument.at("least") == 1;
      if (argument.contains("scopes"))
        for (const Texts& scope : argument["scopes"])
          scoped |= scope.at("argument") == "mode" && !scope.at("values").empty();
    }
  EXPECT_TRUE(positional);
  EXPECT_TRUE(bounded);
  EXPECT_TRUE(scoped);
}

}  // namespace
}  // namespace tilecast
