#include "model/build.h"

#include <gtest/gtest.h>

#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/gemm.h"
#include "model/library.h"

namespace tilecast {
namespace {

Workload prompts(Count batch, Count tokens) {
  Workload w;
  w.requests = {{batch, tokens, 0}};
  return w;
}

const Operator& find(const Graph& graph, const std::string& name) {
  for (const Section& s : graph.sections)
    for (const Operator& op : s.operators)
      if (op.name == name) return op;
  ADD_FAILURE() << "no operator " << name;
  static const Operator kNone;
  return kNone;
}

bool generates(const ModelSpec& spec) { return spec.decoder && spec.lm_head; }

TEST(Build, GraphsOwnEveryParameterOfTheModel) {
  for (const ModelEntry& entry : list_models()) {
    Workload w = prompts(2, 16);
    w.source_len = 16;
    auto graph = build(entry.spec, w);
    ASSERT_TRUE(graph) << entry.name << ": " << graph.error().line();
    EXPECT_EQ(parameters(*graph), parameters(entry.spec)) << entry.name;
  }
}

TEST(Build, DecodeReadsEveryWeightThatPrefillReads) {
  for (const ModelEntry& entry : list_models()) {
    if (!generates(entry.spec) || entry.spec.encoder) continue;
    Workload w;
    w.mode = Mode::decode;
    w.requests = {{4, 1, 100}};
    auto graph = build(entry.spec, w);
    ASSERT_TRUE(graph) << entry.name << ": " << graph.error().line();
    EXPECT_EQ(parameters(*graph), parameters(entry.spec)) << entry.name;
  }
}

TEST(Build, LlamaLayerByHand) {
  auto spec = find_model("Llama-3.1-8B");
  ASSERT_TRUE(spec) << spec.error().line();
  auto graph = build(*spec, prompts(2, 512));
  ASSERT_TRUE(graph);
  const auto gemm = [&](const char* name) { return find(*graph, name).shape.as<Gemm>(); };
  EXPECT_EQ(gemm("attention.q").m, 1024);
  EXPECT_EQ(gemm("attention.q").n, 4096);
  EXPECT_EQ(gemm("attention.k").n, 1024);
  EXPECT_EQ(gemm("mlp.gate").n, 14336);
  EXPECT_EQ(gemm("mlp.down").k, 14336);
  EXPECT_EQ(gemm("lm_head").m, 2) << "only the last token of each request";
  EXPECT_EQ(gemm("lm_head").n, 128256);
  const auto& attention = find(*graph, "attention.prefill").shape.as<AttentionPrefill>();
  EXPECT_EQ(attention.batch, 2);
  EXPECT_EQ(attention.q_len, 512);
  EXPECT_EQ(attention.kv_heads, 8);
  EXPECT_EQ(graph->sections[1].repeats, 32);
}

// 2 FLOPs a parameter and token outside the embedding, and 4 head_dim a pair of query and key.
TEST(Build, LlamaModelFlopsByHand) {
  auto spec = find_model("Llama-3.1-8B");
  ASSERT_TRUE(spec);
  Workload w = prompts(1, 512);
  w.all_logits = true;
  auto graph = build(*spec, w);
  ASSERT_TRUE(graph);
  const double products =
      2.0 * 512 * (4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336) * 32 + 2.0 * 512 * 4096 * 128256;
  const double pairs = 512.0 * 513 / 2;
  EXPECT_NEAR(model_flops(*graph), products + 32 * 32 * 4 * 128 * pairs, 1e-6 * products);
}

TEST(Build, MixedBatchesSplitTheirAttention) {
  auto spec = find_model("Llama-3.1-8B");
  ASSERT_TRUE(spec);
  Workload w;
  w.mode = Mode::mixed;
  w.requests = {{8, 1, 2048}, {1, 300, 0}, {1, 200, 100}};
  auto graph = build(*spec, w);
  ASSERT_TRUE(graph);
  EXPECT_EQ(find(*graph, "attention.q").shape.as<Gemm>().m, 508);
  EXPECT_EQ(find(*graph, "lm_head").shape.as<Gemm>().m, 10);
  const auto& decode = find(*graph, "attention.decode").shape.as<AttentionDecode>();
  EXPECT_EQ(decode.batch, 8);
  EXPECT_EQ(decode.kv_len, 2049);
  const auto& prefill = find(*graph, "attention.prefill").shape.as<AttentionPrefill>();
  EXPECT_EQ(prefill.lens, (std::vector<Count>{300, 200}));
  EXPECT_EQ(prefill.kv_lens, (std::vector<Count>{300, 300}));
}

TEST(Build, RefusesWhatTheModelCannotDo) {
  auto bert = find_model("BERT-Large");
  ASSERT_TRUE(bert);
  Workload decode;
  decode.mode = Mode::decode;
  decode.requests = {{1, 1, 10}};
  EXPECT_FALSE(build(*bert, decode));
  auto gpt2 = find_model("GPT-2");
  ASSERT_TRUE(gpt2);
  auto graph = build(*gpt2, prompts(1, 2000));
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().problem.find("1024 learned positions"), std::string::npos) << graph.error().problem;
  EXPECT_FALSE(build(*gpt2, Workload{}));
}

}  // namespace
}  // namespace tilecast
