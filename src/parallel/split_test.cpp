// Shares of a model put together again: FLOPs, weights and tokens of all ranks are the model's own.
#include "parallel/split.h"

#include <gtest/gtest.h>

#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/rmsnorm.h"
#include "model/build.h"
#include "model/library.h"
#include "parallel/forecast.h"
#include "parallel/stages.h"

namespace tilecast {
namespace {

constexpr Count kSequence = 512;  // tokens of a sequence; divides by whatever is tried here

struct Totals {
  double flops = 0, routed = 0;  // routed: tokens that experts work on
  double matrices = 0, vectors = 0;
};

// A graph's own, or those of all ranks that hold a share of it: what tensor parallel ranks repeat counts once, experts
// are shared by other ranks than the rest is.
Totals totals_of(const Graph& graph, const RankLayout& l) {
  RankLayout whole_stream = l;
  whole_stream.sequence_parallel = false;  // tokens are shared out then, weights are not
  Totals sum;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators) {
      const double times = static_cast<double>(section.repeats * op.times), ranks = l.tp * l.cp * l.dp;
      const auto* moe = op.shape.get_if<Moe>();
      const double held = moe ? l.ep * l.expert_width() : is_repeated(op, whole_stream) ? 1 : l.tp;
      sum.flops += times * model_flops(op) * ranks / (is_repeated(op, l) ? l.tp : 1);
      sum.matrices += static_cast<double>(section.repeats * (op.weights.tied ? 0 : op.weights.matrix)) * held;
      sum.vectors += static_cast<double>(section.repeats * op.weights.vector) * held;
      if (moe) sum.routed += times * static_cast<double>(moe->tokens * moe->topk) * ranks / held;
    }
  return sum;
}

Workload training_batch(Count sequences) {
  Workload w;
  w.mode = Mode::train;
  w.requests = {{sequences, kSequence, 0}};
  return w;
}

struct SplitCase {
  const char* name;
  const char* model;
  RankLayout layout;
  friend void PrintTo(const SplitCase& c, std::ostream* out) { *out << c.model << ", " << text_of(c.layout); }
};

RankLayout layout_of(int tp, int cp, int dp, int ep = 1, int expert_tp = 0, bool sequence_parallel = false) {
  RankLayout l;
  l.tp = tp, l.cp = cp, l.dp = dp, l.ep = ep, l.expert_tp = expert_tp, l.sequence_parallel = sequence_parallel;
  return l;
}

class Splits : public testing::TestWithParam<SplitCase> {};

TEST_P(Splits, ConserveFlopsWeightsAndTokens) {
  const RankLayout& l = GetParam().layout;
  const auto spec = find_model(GetParam().model);
  ASSERT_TRUE(spec);
  ASSERT_TRUE(check(l, *spec, kSequence)) << check(l, *spec, kSequence).error().line();
  const Workload whole = training_batch(8);
  ParallelRun run{{*spec, whole, {}, {}}, l, 0};
  const auto batches = batches_of(run);
  ASSERT_TRUE(batches);
  EXPECT_EQ(batches->each.tokens() * batches->micro_batches * l.dp, whole.tokens());
  const auto alone = build(*spec, whole), share = rank_graph(*spec, l, batches->each);
  ASSERT_TRUE(alone && share);
  const Totals expected = totals_of(*alone, {}), all = totals_of(*share, l);
  EXPECT_NEAR(all.flops / expected.flops, 1, 1e-9);
  EXPECT_EQ(all.matrices, expected.matrices);
  EXPECT_EQ(all.routed, expected.routed);
  // Every rank has the whole bias of what the ranks sum, and the scales that all heads share.
  EXPECT_GE(all.vectors, expected.vectors);
  EXPECT_LE(all.vectors, expected.vectors * l.tp);
}

// Shares of one stage's work are as large as the sums say only if no rank does more than its own: all but what is
// repeated shrinks.
TEST_P(Splits, LeaveARankLessThanTheWhole) {
  const RankLayout& l = GetParam().layout;
  const auto spec = find_model(GetParam().model);
  ParallelRun run{{*spec, training_batch(8), {}, {}}, l, 0};
  const auto alone = build(*spec, training_batch(8)), share = rank_graph(*spec, l, batches_of(run)->each);
  ASSERT_TRUE(alone && share);
  EXPECT_LT(model_flops(*share), model_flops(*alone) * 0.75);
  EXPECT_LE(parameters(*share), parameters(*alone));
}

INSTANTIATE_TEST_SUITE_P(Parallel, Splits,
                         testing::Values(SplitCase{"dense_tp", "Llama-3.1-8B", layout_of(8, 1, 1)},
                                         SplitCase{"dense_sp", "Llama-3.1-8B", layout_of(4, 1, 1, 1, 0, true)},
                                         SplitCase{"dense_cp", "Llama-3.1-8B", layout_of(1, 4, 1)},
                                         SplitCase{"dense_dp", "Llama-3.1-8B", layout_of(1, 1, 8)},
                                         SplitCase{"dense_all", "Llama-3.1-70B", layout_of(4, 2, 4, 1, 0, true)},
                                         SplitCase{"biases_tp", "GPT-NeoX-20B", layout_of(4, 1, 2)},
                                         SplitCase{"norms_of_heads_sp", "Qwen3-32B", layout_of(8, 1, 1, 1, 0, true)},
                                         SplitCase{"windows_tp", "Gemma-3-27B", layout_of(2, 1, 2)},
                                         SplitCase{"side_by_side_tp", "GPT-J-6B", layout_of(2, 1, 1)},
                                         SplitCase{"linear_tp", "Qwen3-Next-80B-A3B", layout_of(2, 1, 2)},
                                         SplitCase{"encoder_tp", "BERT-Large", layout_of(2, 1, 1, 1, 0, true)},
                                         SplitCase{"both_stacks_tp", "T5-Large", layout_of(4, 1, 2)},
                                         SplitCase{"moe_tp", "Mixtral-8x7B", layout_of(4, 1, 2)},
                                         SplitCase{"moe_ep", "Qwen3-30B-A3B", layout_of(1, 1, 8, 8)},
                                         SplitCase{"moe_tp_ep", "Qwen3-30B-A3B", layout_of(4, 1, 2, 8)},
                                         SplitCase{"moe_tp_as_ep", "Qwen3-30B-A3B", layout_of(4, 1, 1, 4)},
                                         SplitCase{"moe_wide_experts", "Mixtral-8x7B", layout_of(4, 1, 2, 2, 4)},
                                         SplitCase{"moe_shared", "Qwen2-57B-A14B", layout_of(2, 1, 4, 4, 0, true)},
                                         SplitCase{"moe_cp", "Qwen3-30B-A3B", layout_of(2, 2, 2, 4)},
                                         SplitCase{"mla_tp", "DeepSeek-V2-Lite", layout_of(4, 1, 1)},
                                         SplitCase{"mla_ep", "DeepSeek-V3", layout_of(8, 1, 4, 32, 0, true)},
                                         SplitCase{"mla_cp", "DeepSeek-V3", layout_of(1, 4, 2, 8)}),
                         [](const auto& param) { return std::string(param.param.name); });

// Prompts of many lengths, one of them after cached tokens.
TEST(ContextSplits, ConserveWhatQueriesSee) {
  Workload w;
  w.requests = {{1, 512, 0}, {2, 256, 100}, {3, 64, 0}};
  for (const char* name : {"Llama-3.1-8B", "DeepSeek-V2-Lite", "BERT-Large"}) {
    const auto spec = find_model(name);
    if (!spec->decoder) w.requests = {{1, 512, 0}, {3, 64, 0}};
    const RankLayout l = layout_of(1, 4, 1);
    const auto alone = build(*spec, w), share = rank_graph(*spec, l, w);
    ASSERT_TRUE(alone && share) << name;
    for (std::size_t s = 0; s < alone->sections.size(); ++s)
      for (std::size_t i = 0; i < alone->sections[s].operators.size(); ++i) {
        const Operator &whole = alone->sections[s].operators[i], &own = share->sections[s].operators[i];
        if (class_of(whole) != OpClass::attention) continue;
        EXPECT_NEAR(model_flops(own) * 4, model_flops(whole), 1e-9 * model_flops(whole)) << name << " " << own.name;
      }
  }
}

TEST(DataSplits, DealOutRequestsOfManyLengths) {
  Workload w;
  w.mode = Mode::decode;
  w.requests = {{1, 1, 10}, {1, 1, 20}, {5, 1, 30}, {1, 1, 40}};
  const auto batches = batches_of({{*find_model("Llama-3.1-8B"), w, {}, {}}, layout_of(1, 1, 4), 0});
  ASSERT_TRUE(batches);
  EXPECT_EQ(batches->each.sequences(), 2);  // of 8 requests over 4 replicas: the first and the fifth
  ASSERT_EQ(batches->each.requests.size(), 2u);
  EXPECT_EQ(batches->each.requests[0].cached, 10);
  EXPECT_EQ(batches->each.requests[1].cached, 30);
}

// Where fewer key heads than ranks are copied, there is more than the whole.
bool copies_keys(const ModelSpec& spec, int tp) {
  for (const LayerRun& run : spec.decoder ? spec.decoder->layers : spec.encoder->layers)
    if (const auto* a = std::get_if<AttentionSpec>(&run.layer.mixer); a && a->kv_heads < tp) return true;
  return false;
}

// All bundled models that two tensor parallel ranks can share.
TEST(LibrarySplits, ConserveFlopsAndMatrices) {
  int shared = 0;
  for (const ModelEntry& entry : list_models())
    for (const bool sequence_parallel : {false, true}) {
      const RankLayout l = layout_of(2, 1, 1, 1, 0, sequence_parallel);
      if (!check(l, entry.spec) || entry.spec.vocab % l.tp != 0 || copies_keys(entry.spec, l.tp)) continue;
      Workload w = training_batch(2);
      w.requests.front().new_tokens = 64;
      const auto alone = build(entry.spec, w), share = rank_graph(entry.spec, l, w);
      if (!alone) continue;  // not a workload of this model
      ASSERT_TRUE(share) << entry.name;
      const Totals expected = totals_of(*alone, {}), all = totals_of(*share, l);
      EXPECT_NEAR(all.flops / expected.flops, 1, 1e-9) << entry.name << (sequence_parallel ? ", sp" : "");
      EXPECT_EQ(all.matrices, expected.matrices) << entry.name;
      ++shared;
    }
  EXPECT_GT(shared, 200);
}

// Every layer stands on one rank of a pipeline, with the embedding before and the head after.
TEST(PipelineSplits, SumToTheWhole) {
  for (const char* name : {"Llama-3.1-8B", "DeepSeek-V2-Lite", "Gemma-2-27B", "Llama-4-Maverick"})
    for (const int chunks : {1, 2}) {
      RankLayout l;
      l.pp = 4, l.chunks = chunks;
      const auto spec = find_model(name);
      const auto whole = build(*spec, training_batch(2));
      ASSERT_TRUE(whole);
      const std::vector<Graph> parts = rank_parts(*spec, l, *whole);
      ASSERT_EQ(parts.size(), 4u);
      Totals sum;
      for (const Graph& part : parts) {
        const Totals own = totals_of(part, {});
        sum.flops += own.flops, sum.routed += own.routed;
        sum.matrices += own.matrices, sum.vectors += own.vectors;
        EXPECT_GT(own.flops, 0) << name;
      }
      const Totals expected = totals_of(*whole, {});
      EXPECT_NEAR(sum.flops / expected.flops, 1, 1e-12) << name;
      EXPECT_EQ(sum.routed, expected.routed) << name;
      // One table serves as embedding and as head: the last rank has a copy.
      const double copy = spec->tied_head ? static_cast<double>(spec->vocab * spec->decoder->hidden) : 0;
      EXPECT_EQ(sum.matrices, expected.matrices + copy) << name;
      EXPECT_EQ(sum.vectors, expected.vectors) << name;
    }
}

// What was cut for tensor parallelism by hand: heads, widths, vocabulary; not the norms.
TEST(RankGraph, HasTheSizesOfAShare) {
  const auto spec = find_model("Llama-3.1-70B");  // 64 heads and 8 key heads of 128, widths 8192 and 28672
  const auto graph = rank_graph(*spec, layout_of(8, 1, 1), training_batch(1));
  ASSERT_TRUE(graph);
  std::map<std::string, const Operator*> ops;
  for (const Section& section : graph->sections)
    for (const Operator& op : section.operators) ops[op.name] = &op;
  const auto product = [&](const char* name) { return ops.at(name)->shape.as<Gemm>(); };
  EXPECT_EQ(product("attention.q").n, 8 * 128);
  EXPECT_EQ(product("attention.k").n, 128);
  EXPECT_EQ(product("attention.out").k, 8 * 128);
  EXPECT_EQ(product("mlp.gate").n, 3584);
  EXPECT_EQ(product("mlp.down").k, 3584);
  EXPECT_EQ(product("lm_head").n, 16032);
  EXPECT_EQ(product("mlp.down").n, 8192);
  EXPECT_EQ(ops.at("mlp_norm")->shape.as<RmsNorm>().rows, kSequence);
  const auto shared = rank_graph(*spec, layout_of(8, 1, 1, 1, 0, true), training_batch(1));
  for (const Section& section : shared->sections)
    for (const Operator& op : section.operators)
      if (op.name == "mlp_norm") {
        EXPECT_EQ(op.shape.as<RmsNorm>().rows, kSequence / 8);
      }
}

// Which operators of these models every tensor parallel rank repeats, by hand.
TEST(Repeated, IsWhatTensorParallelismDoesNotDivide) {
  struct Case {
    const char* model;
    std::vector<std::string> repeated, divided;
  };
  const Case cases[] = {
      {"Llama-3.1-8B",
       {"mixer_norm", "mixer_residual", "mlp_norm", "mlp_residual", "final_norm"},
       {"embedding.tokens", "attention.q", "attention.k", "attention.rope", "attention.prefill", "attention.out",
        "mlp.gate", "mlp.act", "mlp.down", "lm_head", "sample"}},
      {"DeepSeek-V3.2",
       {"attention.q_a", "attention.kv_a", "attention.q_a_norm", "attention.kv_a_norm", "indexer.q", "indexer.topk",
        "moe.router", "moe.choose", "moe.sum"},
       {"attention.q_b", "moe.experts", "moe.shared.gate", "moe.shared.act", "moe.shared.down"}},
      {"Kimi-Linear-48B-A3B",
       {"scan.decay_down", "scan.gate_down"},
       {"scan.in", "scan.gates", "scan.decay_up", "scan.gate_up", "scan.conv", "scan.rule", "scan.norm", "scan.out"}},
      {"BERT-Large",
       {"embedding.types", "embedding.types_add", "embedding.positions", "embedding.positions_add", "embedding.norm",
        "mixer_norm"},
       {"embedding.tokens", "mlp.up", "mlp.act"}},
  };
  Workload w;
  w.mode = Mode::prefill;
  w.requests = {{1, kSequence, 0}};
  const RankLayout layout = layout_of(2, 1, 1);
  for (const Case& c : cases) {
    const auto spec = find_model(c.model);
    ASSERT_TRUE(spec) << spec.error().line();
    const auto graph = rank_graph(*spec, layout, w);
    ASSERT_TRUE(graph);
    const auto judge = [&](const std::string& name, bool repeated) {
      int found = 0;
      for (const Section& section : graph->sections)
        for (const Operator& op : section.operators)
          if (op.name == name) {
            ++found;
            EXPECT_EQ(is_repeated(op, layout), repeated) << c.model << " " << name;
          }
      EXPECT_GT(found, 0) << c.model << " has no " << name;
    };
    for (const std::string& name : c.repeated) judge(name, true);
    for (const std::string& name : c.divided) judge(name, false);
  }
}

// Roles decide, not names: an operator called otherwise is divided the same.
TEST(Repeated, DoesNotDependOnNames) {
  const RankLayout layout = layout_of(2, 1, 1);
  Operator op;
  op.name = "lm_head", op.role = Role::router;
  EXPECT_TRUE(is_repeated(op, layout));
  op.name = "moe.router", op.role = Role::lm_head;
  EXPECT_FALSE(is_repeated(op, layout));
}

}  // namespace
}  // namespace tilecast
