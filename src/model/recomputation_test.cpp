#include "model/recomputation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/backward.h"
#include "model/build.h"
#include "model/library.h"

namespace tilecast {
namespace {

using Names = std::vector<std::string>;

// The layer of DeepSeek-V3 that has experts, over 64 tokens, as its configuration is built: no engine's fusing.
Section expert_layer() {
  const Graph graph = *build(*find_model("DeepSeek-V3"), {.mode = Mode::train, .requests = {{1, 64, 0}}});
  for (const Section& section : graph.sections)
    if (std::any_of(section.operators.begin(), section.operators.end(),
                    [](const Operator& op) { return op.role == Role::experts; }))
      return section;
  return {};
}

Names run_again(const Section& section, const Recomputation& recompute) {
  Names names;
  for (const Operator& op : section_again(section, recompute, true).operators) names.push_back(op.name);
  return names;
}

Names no_longer_kept(const Section& section, const Recomputation& recompute) {
  const std::vector<int> all = saved_tensors(section), kept = kept_tensors(section, recompute);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), kept.begin(), kept.end())) << text_of(recompute) << " keeps more";
  Names names;
  for (int t : all)
    if (!std::binary_search(kept.begin(), kept.end(), t))
      names.push_back(section.tensors[static_cast<std::size_t>(t)].name);
  return names;
}

TEST(RecomputeModules, RunAgainWhatMegatronCoresDo) {
  const Section layer = expert_layer();
  using enum RecomputeModule;
  EXPECT_EQ(run_again(layer, Recomputation({core_attn})), Names{"attention.prefill"});
  EXPECT_EQ(run_again(layer, Recomputation({layernorm})), (Names{"mixer_norm", "mlp_norm"}));
  EXPECT_EQ(run_again(layer, Recomputation({mla_up_proj})),
            (Names{"attention.q_a_norm", "attention.q_b", "attention.kv_a_norm", "attention.rope", "attention.kv_b"}));
  EXPECT_EQ(run_again(layer, Recomputation({moe_act})), Names{"moe.experts.act"});
  EXPECT_EQ(run_again(layer, Recomputation({shared_experts})),
            (Names{"moe.shared.gate", "moe.shared.up", "moe.shared.act", "moe.shared.down"}));
  const Names moe_names = run_again(layer, Recomputation({moe}));
  EXPECT_EQ(moe_names.front(), "moe.router");
  EXPECT_EQ(moe_names.back(), "moe.sum");
  // What is part of a module that runs again whole does not run twice.
  EXPECT_EQ(run_again(layer, Recomputation({moe, moe_act, shared_experts})), moe_names);
  EXPECT_TRUE(run_again(layer, Recomputation({mlp})).empty()) << "it has no dense block";
}

// Norms, up-projections and the experts' activation give up their results; attention's is kept by what reads it.
TEST(RecomputeModules, KeepWhatTheyRead) {
  const Section layer = expert_layer();
  using enum RecomputeModule;
  EXPECT_EQ(no_longer_kept(layer, Recomputation({core_attn})), Names{});
  EXPECT_EQ(no_longer_kept(layer, Recomputation({layernorm})), (Names{"mixer_norm", "mlp_norm"}));
  EXPECT_EQ(no_longer_kept(layer, Recomputation({mla_up_proj})),
            (Names{"attention.q_a_norm", "attention.kv_a_norm", "attention.rope", "attention.kv_b"}));
  EXPECT_EQ(no_longer_kept(layer, Recomputation({shared_experts})),
            (Names{"moe.shared.gate", "moe.shared.up", "moe.shared.act"}));
}

// Queries of 192 and as wide keys a head, of whose 64 rotated numbers all heads have the same, and values of 128.
TEST(RecomputeModules, LatentAttentionReadsWholeHeads) {
  const Section layer = expert_layer();
  Count elements = 0;
  for (const Operator& op : layer.operators)
    if (op.shape.is<MlaPrefill>())
      for (int t : op.inputs) elements += layer.tensors[static_cast<std::size_t>(t)].elements;
  EXPECT_EQ(elements, 64 * 128 * (192 + 192 + 128));
}

TEST(RecomputeModules, AreThoseThatAModelHas) {
  using enum RecomputeModule;
  EXPECT_EQ(modules_in(*find_model("Llama-3.1-8B")), (std::vector{core_attn, layernorm, mlp}));
  EXPECT_EQ(modules_in(*find_model("Qwen3-30B-A3B")), (std::vector{core_attn, layernorm, moe, moe_act}));
  EXPECT_EQ(modules_in(*find_model("DeepSeek-V3")).size(), kRecomputeModuleNames.size());
  EXPECT_EQ(light_recomputation(*find_model("DeepSeek-V3")), Recomputation({layernorm, mla_up_proj, moe_act}));
  EXPECT_EQ(text_of(light_recomputation(*find_model("Llama-3.1-8B"))), "layernorm");
  EXPECT_EQ(text_of(Recompute::selective), "selective");
}

TEST(Recomputation, OfEveryNthLayerRunsAShareOfThem) {
  Section layer = expert_layer();
  layer.repeats = 12;
  Recomputation third = Recompute::alternate;
  third.every = 3;
  EXPECT_EQ(section_again(layer, third, true).repeats, 4);
  third.every = 13;
  EXPECT_TRUE(section_again(layer, third, true).operators.empty());
}

}  // namespace
}  // namespace tilecast
