// A rank's memory and a sharded step, against sums done by hand for a model of two sizes.
#include <gtest/gtest.h>

#include "cluster/registry.h"
#include "parallel/forecast.h"
#include "parallel/stages.h"

namespace tilecast {
namespace {

constexpr Count kHidden = 64, kHeads = 4, kVocab = 256, kLength = 128;
constexpr double kTokens = 2 * 128;  // two sequences at a time

// GPT-2's layer: biases everywhere, four times as wide inside.
ModelSpec tiny(Count layers, Count experts = 0) {
  AttentionSpec attention;
  attention.heads = attention.kv_heads = kHeads, attention.head_dim = kHidden / kHeads;
  attention.q_bias = attention.kv_bias = attention.out_bias = attention.fused_qkv = true;
  StackSpec stack;
  stack.hidden = kHidden;
  LayerSpec layer{attention, {}, MlpSpec{4 * kHidden, false, ActivationKind::gelu, true}};
  if (experts > 0) {
    MoeSpec moe;
    moe.experts = experts, moe.topk = 2, moe.inter = 4 * kHidden, moe.gated = false;
    layer.feed_forward = moe;
  }
  stack.layers = {{layer, layers}};
  stack.norm = NormKind::layer, stack.norm_bias = true;
  stack.positions = Positions::learned, stack.max_positions = kLength;
  ModelSpec spec;
  spec.name = "tiny", spec.vocab = kVocab, spec.tied_head = true;
  spec.decoder = stack;
  return spec;
}
// 12 h^2 of matrices, 9 h of biases and 4 h of norms a layer; the tables; the last norm.
constexpr double params_of(double layers) {
  constexpr double h = kHidden;
  return layers * (12 * h * h + 13 * h) + (kVocab + kLength) * h + 2 * h;
}

// As Megatron trains: bf16 beside an fp32 copy, gradients summed in fp32.
Run megatron(const ModelSpec& spec, Count batch) {
  Run run{spec, {.mode = Mode::train, .requests = {{batch, kLength, 0}}}, {}, {}};
  run.engine.kind = EngineKind::pytorch;
  run.engine.precision = *precision_from("bf16");
  run.engine.precision.mixed = MixedPrecision::master;
  run.engine.fused_layers = run.engine.dropout = true;
  run.engine.loss = LossForm::in_place;
  run.training.wide_gradients = run.training.fused_optimizer = true;
  return run;
}

ParallelForecast spread(const tilecast::Run& run, const RankLayout& layout) {
  auto forecast = forecast_parallel({run, layout, 2}, *find_cluster("hgx-h100"),
                                    {Method::analytic, nullptr, &shipped_comm_constants()});
  EXPECT_TRUE(forecast) << forecast.error().line();
  return *std::move(forecast);
}
MemoryNeed memory_of(const tilecast::Run& run, const RankLayout& layout = {}) {
  return spread(run, layout).stages[0].memory;
}

TEST(ShardedState, HasZerosBytes) {
  constexpr double p = params_of(2);
  RankLayout layout;
  layout.dp = 4;
  const auto expect = [&](Sharding sharding, double weights, double gradients, double optimizer) {
    layout.sharding = sharding;
    const MemoryNeed need = memory_of(megatron(tiny(2), 8), layout);
    EXPECT_DOUBLE_EQ(need.weights.base(), weights) << name_of(sharding);
    EXPECT_DOUBLE_EQ(need.gradients.base(), gradients) << name_of(sharding);
    EXPECT_DOUBLE_EQ(need.optimizer.base(), optimizer) << name_of(sharding);
    EXPECT_EQ(need.handed_over, bytes(0));  // buffers of gradients stay
  };
  expect(Sharding::none, 2 * p, 4 * p, 12 * p);
  expect(Sharding::optimizer, 2 * p, 4 * p, 3 * p);
  expect(Sharding::gradients, 2 * p, p, 3 * p);
  expect(Sharding::parameters, p / 2, p, 3 * p);
}

// Four ranks hold eight experts, two each; nobody else has them, so nothing of their state is shared out.
TEST(ShardedState, OfExpertsIsSharedByTheirCopies) {
  constexpr double h = kHidden, expert = 8 * h * h;
  const double dense = params_of(1) - 8 * h * h - 5 * h + 8 * h;  // no feed-forward, a router
  RankLayout layout;
  layout.dp = 4, layout.ep = 4, layout.sharding = Sharding::optimizer;
  const MemoryNeed need = memory_of(megatron(tiny(1, 8), 8), layout);
  EXPECT_DOUBLE_EQ(need.weights.base(), 2 * (dense + 2 * expert));
  EXPECT_DOUBLE_EQ(need.optimizer.base(), 12 * (dense / 4 + 2 * expert));
}

// Korthikanti et al. 2022, equation 1: a layer keeps 34 s b h bytes, and 5 a s^2 b with its scores.
TEST(KeptActivations, AreThoseOfTheEquation) {
  const auto layer_of = [](const tilecast::Run& one, const tilecast::Run& two) {
    return memory_of(two).activations.base() - memory_of(one).activations.base();
  };
  tilecast::Run one = megatron(tiny(2), 2), two = megatron(tiny(3), 2);
  const double logs = 4 * kHeads * kTokens;  // flash attention: one number a query and head
  EXPECT_DOUBLE_EQ(layer_of(one, two), 34 * kTokens * kHidden + logs);
  one.engine.eager_attention = two.engine.eager_attention = true;
  EXPECT_DOUBLE_EQ(layer_of(one, two), 34 * kTokens * kHidden + 5.0 * kHeads * kLength * kTokens);
  one.engine.dropout = two.engine.dropout = false;  // no masks, and the softmax is what the values' product reads
  EXPECT_DOUBLE_EQ(layer_of(one, two), 32 * kTokens * kHidden + 2.0 * kHeads * kLength * kTokens);
  one.training.options.recompute = two.training.options.recompute = Recompute::full;
  EXPECT_DOUBLE_EQ(layer_of(one, two), 2 * kTokens * kHidden);
}

// The same by module. Norms hand on 2 bytes a number each, of which nothing stays; a feed-forward block keeps its first
// product's result and what GELU made of it, 8 h bytes each; attention one number a query and head.
TEST(KeptActivations, ByModule) {
  const auto layer_of = [](std::initializer_list<RecomputeModule> modules) {
    tilecast::Run one = megatron(tiny(2), 2), two = megatron(tiny(3), 2);
    one.training.options.recompute = two.training.options.recompute = Recomputation(modules);
    return memory_of(two).activations.base() - memory_of(one).activations.base();
  };
  const double logs = 4 * kHeads * kTokens, each = kTokens * kHidden;
  EXPECT_DOUBLE_EQ(layer_of({}), 34 * each + logs);
  EXPECT_DOUBLE_EQ(layer_of({RecomputeModule::core_attn}), 34 * each);
  EXPECT_DOUBLE_EQ(layer_of({RecomputeModule::layernorm}), 30 * each + logs);
  EXPECT_DOUBLE_EQ(layer_of({RecomputeModule::mlp}), 18 * each + logs);
  // The block's input is a norm's result: it goes with the norms.
  EXPECT_DOUBLE_EQ(layer_of({RecomputeModule::mlp, RecomputeModule::layernorm}), 14 * each + logs);
}

// Experts as one kernel: two rows of a token's two experts, each h wide as it is sent, 4 h before the activation and 4
// h behind it, where Megatron weighs them, so that what comes back is not kept.
TEST(KeptActivations, OfExpertsByModule) {
  const auto layer_of = [](std::initializer_list<RecomputeModule> modules) {
    tilecast::Run one = megatron(tiny(2, 8), 2), two = megatron(tiny(3, 8), 2);
    one.training.options.recompute = two.training.options.recompute = Recomputation(modules);
    return memory_of(two).activations.base() - memory_of(one).activations.base();
  };
  const double rows = 2 * kTokens;
  const double whole = layer_of({});
  EXPECT_DOUBLE_EQ(whole - layer_of({RecomputeModule::moe_act}), 2 * rows * 4 * kHidden);
  // Beside the rows, the weights of the two experts chosen go, which the softmax keeps.
  EXPECT_DOUBLE_EQ(whole - layer_of({RecomputeModule::moe}), 2 * rows * 9 * kHidden + 2 * kTokens * 2);
}

// A stage with a single layer recomputes it as one with two does: of the two micro-batches that the first keeps, their
// inputs stay, and one layer's activations come back at a time.
TEST(KeptActivations, OfAStageWithOneLayerAreRecomputedToo) {
  tilecast::Run run = megatron(tiny(2), 8);
  run.training.options.recompute = Recompute::full;
  RankLayout stages;
  stages.pp = 2;
  const double one = memory_of(run, stages).activations.base();
  run.training.options.recompute = Recompute::none;
  EXPECT_LT(one, memory_of(run, stages).activations.base());
}

// A loss that overwrites fp32 logits keeps 4 bytes of each and needs 2 for their gradient; PyTorch's keeps 8 and more.
TEST(KeptActivations, OfALossInPlaceAreSixBytesALogit) {
  tilecast::Run few = megatron(tiny(2), 2), many = few;
  std::get<ModelSpec>(many.model).vocab = 64 * kVocab;
  const double more = 63.0 * kVocab * kTokens;
  EXPECT_NEAR(memory_of(many).activations.base() - memory_of(few).activations.base(), 6 * more, 0.05 * 6 * more);
  few.engine.loss = many.engine.loss = LossForm::fused;
  EXPECT_NEAR(memory_of(many).activations.base() - memory_of(few).activations.base(), 4 * more, 0.05 * 4 * more);
  few.engine.loss = many.engine.loss = LossForm::separate;
  EXPECT_GT(memory_of(many).activations.base() - memory_of(few).activations.base(), 10 * more);
}

// Every token goes to two of eight experts, of which the rank has all: inputs, the first product's result, the
// activation.
TEST(KeptActivations, OfExpertsAreThoseOfTheTokensSentThere) {
  const double one = memory_of(megatron(tiny(2, 8), 2)).activations.base();
  const double two = memory_of(megatron(tiny(3, 8), 2)).activations.base();
  constexpr double h = kHidden;
  const double routed = 2 * kTokens * (h + 4 * h + 4 * h) * 2;
  const double attention = kTokens * h * (2 + 2 + 6 + 2 + 1 + 2 + 1) + 4 * kHeads * kTokens;
  const double layer = two - one;
  EXPECT_GT(layer, attention + routed);
  EXPECT_LT(layer, attention + routed + 5 * kTokens * h);  // the norm's result, and the router's scores
}

// 1F1B: stage r of p has p - r micro-batches under way. The middle stages are alike but for that.
TEST(PipelineMemory, FallsByOneMicroBatchAStage) {
  RankLayout layout;
  layout.pp = 4;
  const auto stages = spread(megatron(tiny(8), 16), layout).stages;
  ASSERT_EQ(stages.size(), 4u);
  const double batch = 2 * (34 * kTokens * kHidden + 4 * kHeads * kTokens);  // of two layers
  EXPECT_DOUBLE_EQ(stages[1].memory.activations.base() - stages[2].memory.activations.base(), batch);
  EXPECT_EQ(stages[1].memory.weights, stages[2].memory.weights);
  EXPECT_GT(stages[0].memory.activations, stages[1].memory.activations);
  // Fewer micro-batches than stages: no more than there are.
  const auto few = spread(megatron(tiny(8), 4), layout).stages;
  EXPECT_DOUBLE_EQ(few[1].memory.activations.base(), few[2].memory.activations.base());
}

// Two GPUs, all sharded: each layer's weights are gathered beside its forward pass, and again beside its backward pass,
// with the scattering of its gradients.
TEST(ShardedStep, IsTheSumOfItsSections) {
  RankLayout layout;
  layout.dp = 2, layout.sharding = Sharding::parameters;
  const tilecast::Run run = megatron(tiny(2), 8);  // two micro-batches of two sequences each
  const ParallelForecast f = spread(run, layout);
  const Cluster cluster = *find_cluster("hgx-h100");
  const double layer = params_of(2) - params_of(1);
  const auto call = [&](CollectiveOp op, double size) {
    Collective c;
    c.op = op, c.bytes = bytes(size), c.ranks = 2;
    return forecast_collective(c, cluster, shipped_comm_constants())->latency;
  };
  const Seconds gather = call(CollectiveOp::all_gather, 2 * layer);
  const Seconds scatter = call(CollectiveOp::reduce_scatter, 4 * layer);
  const double share = 16.0 / cluster.gpu.sms;  // NCCL's channels
  Seconds sum;
  for (const SectionCost& section : f.sections) {
    const bool is_layer = section.repeats == 2;
    for (const PassCost* pass : {&section.forward, &section.backward}) {
      const bool forward = pass == &section.forward;
      const Seconds beside = pass->beside[static_cast<std::size_t>(Axis::data)];
      if (is_layer) {
        EXPECT_DOUBLE_EQ(beside.base(), (forward ? gather : gather + scatter).base());
      }
      sum += together(pass->compute, beside, share) * (2.0 * static_cast<double>(section.repeats));
    }
  }
  EXPECT_EQ(f.micro_batches, 2);
  EXPECT_NEAR((sum + f.optimizer).base(), f.step.base(), 1e-12 * f.step.base());
}

// Under autocast weights travel in fp32, and gradients unless they are narrowed.
TEST(ShardedStep, SendsWhatThePrecisionSays) {
  RankLayout layout;
  layout.dp = 2, layout.sharding = Sharding::parameters;
  const double layer = params_of(2) - params_of(1);
  const auto sizes = [&](const tilecast::Run& run) {
    double gather = 0, scatter = 0;
    for (const Exchange& e : spread(run, layout).exchanges) {
      if (e.name == "weights gather") gather = std::max(gather, e.call.bytes.base() / layer);
      if (e.name == "gradients scatter") scatter = std::max(scatter, e.call.bytes.base() / layer);
    }
    return std::pair(gather, scatter);
  };
  tilecast::Run run = megatron(tiny(2), 8);
  EXPECT_EQ(sizes(run), std::pair(2.0, 4.0));
  run.training.wide_gradients = false;
  EXPECT_EQ(sizes(run), std::pair(2.0, 2.0));
  run.engine.precision.mixed = MixedPrecision::autocast;
  EXPECT_EQ(sizes(run), std::pair(4.0, 4.0));
  run.training.narrow_exchange = true;
  EXPECT_EQ(sizes(run), std::pair(4.0, 2.0));
}

}  // namespace
}  // namespace tilecast
