// The ONNX form of a network, written out as exporters do, against the same network from its configuration.
#include <gtest/gtest.h>

#include "model/build.h"
#include "model/config.h"
#include "model/onnx.h"
#include "model/onnx_testing.h"

namespace tilecast {
namespace {

using namespace onnx_testing;

// Every operator of every repetition, as "gemm m=2;n=3;k=4" and its weights.
std::vector<std::string> owned_lines(const Graph& graph) {
  std::vector<std::string> list;
  for (const Section& section : graph.sections)
    for (Count i = 0; i < section.repeats; ++i)
      for (const Operator& op : section.operators)
        list.push_back(fmt::format("{} {} owns {}+{}{}", family_of(op.shape), dims_text(op.shape), op.weights.matrix,
                                   op.weights.vector, op.weights.tied ? " tied" : ""));
  return list;
}

void expect_same(const std::string& config, const std::string& onnx, const TransformerSizes& sizes,
                 const OnnxOptions& options) {
  const auto spec = spec_from_json(config, "config.json");
  ASSERT_TRUE(spec) << spec.error().line();
  Workload workload;
  workload.requests = {{sizes.batch, sizes.seq, 0}};
  workload.all_logits = true;
  workload.keep_cache = false;
  const auto built = build(*spec, workload);
  ASSERT_TRUE(built) << built.error().line();
  const auto imported = graph_from_onnx_bytes(onnx, "test.onnx", options);
  ASSERT_TRUE(imported) << imported.error().line();
  EXPECT_EQ(owned_lines(*imported), owned_lines(*built));
  EXPECT_EQ(parameters(*imported), parameters(*spec));
  EXPECT_EQ(model_flops(*imported), model_flops(*built));
}

TEST(OnnxAndConfig, GiveTheSameLlama) {
  TransformerSizes s;
  s.batch = 3, s.seq = 24, s.layers = 3, s.kv_heads = 2;
  OnnxOptions options;
  options.dims = {{"batch", s.batch}, {"sequence", s.seq}};
  expect_same(fmt::format(R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": {},
      "num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "intermediate_size": {},
      "vocab_size": {}, "max_position_embeddings": 4096, "hidden_act": "silu", "tie_word_embeddings": false}})",
                          s.hidden, s.layers, s.heads, s.kv_heads, s.inter, s.vocab),
              llama_onnx(s), s, options);
}

TEST(OnnxAndConfig, GiveTheSameGpt2) {
  TransformerSizes s;
  s.layers = 2;
  expect_same(fmt::format(R"({{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": {}, "n_layer": {},
      "n_head": {}, "n_positions": {}, "n_ctx": {}, "vocab_size": {}, "activation_function": "gelu_new"}})",
                          s.hidden, s.layers, s.heads, s.positions, s.positions, s.vocab),
              gpt2_onnx(s), s, {});
}

}  // namespace
}  // namespace tilecast
