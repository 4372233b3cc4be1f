#include "model/adapters.h"

#include <gtest/gtest.h>

#include "model/backward.h"
#include "model/build.h"

namespace tilecast {
namespace {

// Two layers of 64, four heads of 16 with two of keys, 128 inside, a vocabulary of 100.
ModelSpec small_decoder() {
  AttentionSpec attention;
  attention.heads = 4, attention.kv_heads = 2, attention.head_dim = 16;
  StackSpec stack;
  stack.hidden = 64;
  stack.layers = {{{attention, {}, MlpSpec{128}}, 2}};
  ModelSpec spec;
  spec.name = "small", spec.vocab = 100;
  spec.decoder = stack;
  return spec;
}
Graph built(const ModelSpec& spec) {
  Workload w;
  w.mode = Mode::train, w.requests = {{1, 32, 0}};
  auto graph = build(spec, w);
  EXPECT_TRUE(graph);
  return *graph;
}
ModelSpec adapted(AdapterTargets targets, Count rank = 8) {
  ModelSpec spec = small_decoder();
  spec.adapters = AdapterSpec{rank, targets};
  return spec;
}

TEST(Adapters, AloneAreTrained) {
  // Queries: 8 x 64 down, 64 x 8 up; values: 8 x 64 and 32 x 8; of two layers.
  EXPECT_EQ(trained_parameters(built(adapted(AdapterTargets::qv))), 2 * (8 * 64 + 64 * 8 + 8 * 64 + 32 * 8));
  // And keys like values, the output like queries.
  EXPECT_EQ(trained_parameters(built(adapted(AdapterTargets::attention))), 2 * 2 * (2 * 8 * 64 + 8 * 64 + 8 * 32));
  const Graph plain = built(small_decoder());
  EXPECT_EQ(trained_parameters(plain), parameters(plain));
  EXPECT_EQ(parameters(built(adapted(AdapterTargets::qv))), parameters(plain) + 2 * 1792);
}

TEST(Adapters, TakeOneGradientOfFrozenProductsAndThreePassesOfTheirOwn) {
  // Of 32 tokens, two operations a multiplication, in a layer: queries and output 64 x 64, keys and values 64 x 32, three
  // of 64 x 128. Frozen ones lose the gradients of their weights, and so does the head.
  const double layer = 2.0 * 32 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128), head = 2.0 * 32 * 64 * 100;
  const double adapters = 2.0 * 32 * (64 * 8 + 8 * 64 + 64 * 8 + 8 * 32);
  const double full = model_flops(with_backward(built(small_decoder()), {}));
  const double lora = model_flops(with_backward(built(adapted(AdapterTargets::qv)), {}));
  EXPECT_DOUBLE_EQ(lora, full - 2 * layer - head + 2 * 3 * adapters);
}

TEST(Adapters, KeepOnlyWhatTheyRead) {
  const auto saved = [](const ModelSpec& spec) {
    const Graph graph = built(spec);
    Count n = 0;
    for (int t : saved_tensors(graph.sections[1])) n += graph.sections[1].tensors[static_cast<std::size_t>(t)].elements;
    return n;
  };
  // No product's input is kept but that of queries and values, and what the rank leaves of it.
  EXPECT_LT(saved(adapted(AdapterTargets::qv)), saved(small_decoder()));
  EXPECT_GT(saved(adapted(AdapterTargets::all)), saved(adapted(AdapterTargets::qv)));
}

TEST(Adapters, StandBehindProductsOfOneInput) {
  const Graph graph = built(adapted(AdapterTargets::all));
  std::vector<std::string> names;
  for (const Operator& op : graph.sections[1].operators)
    if (op.shape.is<Gemm>()) names.push_back(op.name);
  const std::vector<std::string> first(names.begin(), names.begin() + 5);
  EXPECT_EQ(first, (std::vector<std::string>{"attention.q", "attention.k", "attention.v", "attention.q.adapter_down",
                                             "attention.q.adapter_up"}));
  // What reads a product reads the sum with its adapter.
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      for (int t : op.inputs) EXPECT_LT(t, static_cast<int>(section.tensors.size())) << op.name;
}

TEST(Reference, RunsForwardOnceMore) {
  const Graph forward = built(small_decoder());
  TrainingOptions options;
  const double plain = model_flops(with_backward(forward, options));
  options.reference = true;
  EXPECT_DOUBLE_EQ(model_flops(with_backward(forward, options)), plain + model_flops(forward));
  // Adapters are left out of it.
  const Graph adapted_forward = built(adapted(AdapterTargets::qv));
  EXPECT_DOUBLE_EQ(model_flops(with_backward(adapted_forward, options)) -
                       model_flops(with_backward(adapted_forward, {})),
                   model_flops(forward));
}

}  // namespace
}  // namespace tilecast
