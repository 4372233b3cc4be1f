#include "engine/megatron_layers.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "kernel/elementwise.h"
#include "kernel/moe.h"
#include "kernel/rmsnorm.h"
#include "model/section_builder.h"

namespace tilecast {
namespace {

// 64 tokens to two of eight experts each, four of them here.
Graph one_mixture() {
  SectionBuilder b("layer", 3, {SectionKind::layer});
  const int x = b.tensor("x", 64 * 32), scores = b.tensor("scores", 64 * 2);
  Moe moe;
  moe.tokens = 64, moe.hidden = 32, moe.inter = 16, moe.experts = 8, moe.topk = 2, moe.ep = 2;
  b.add(Role::experts, "moe.experts", moe, {x, scores}, 32 * 32, {.matrix = 4 * 3 * 32 * 16});
  return Graph{"mixture", {std::move(b).finish()}};
}

TEST(GroupedProducts, KeepWorkAndWeights) {
  const Graph plain = one_mixture(), grouped = with_grouped_products(plain);
  EXPECT_EQ(parameters(grouped), parameters(plain));
  EXPECT_EQ(trained_parameters(grouped), parameters(plain));
  // 64 x 2 / 2 rows here: 32 to 32 gate and values, 16 back.
  double products = 0;
  for (const Operator& op : grouped.sections[0].operators)
    if (op.shape.is<Gemm>()) products += model_flops(op);
  EXPECT_DOUBLE_EQ(products, 2.0 * 64 * (32 * 32 + 16 * 32));
}

TEST(GroupedProducts, HaveTwoGradientsEach) {
  const Graph step = with_backward(with_grouped_products(one_mixture()), {});
  int products = 0, of_weights = 0;
  for (const Section& section : step.sections)
    for (const Operator& op : section.operators)
      if (op.shape.is<Gemm>()) ++products, of_weights += op.weight_gradient;
  EXPECT_EQ(products, 6);
  EXPECT_EQ(of_weights, 2);
}

TEST(GroupedProducts, AreWhatNarrowExpertsRunAs) {
  EngineOptions options;
  options.kind = EngineKind::cudagraph;
  TrainingOptions training;
  const auto moes = [&] {
    int n = 0;
    const Graph step = arranged(one_mixture(), options, &training);
    for (const Section& section : step.sections)
      for (const Operator& op : section.operators) n += op.shape.is<Moe>();
    return n;
  };
  EXPECT_EQ(moes(), 3);  // forward and its two gradients
  training.precision = TrainPrecision::mxfp8;
  EXPECT_EQ(moes(), 0);
}

TEST(HeadNormGradients, MoveWhatTheyRead) {
  SectionBuilder b("layer", 1, {SectionKind::layer});
  const int x = b.tensor("x", 64 * 128);
  RmsNorm head, wide;
  head.rows = 64, head.cols = 128, wide.rows = 16, wide.cols = 512;
  b.add(Role::attention_norm, "q_norm", head, {x}, 64 * 128, {.vector = 128});
  b.add(Role::block_norm, "norm", wide, {x}, 64 * 128, {.vector = 512});
  const Graph step = with_head_norm_gradients(with_backward(Graph{"norms", {std::move(b).finish()}}, {}));
  int pointwise = 0, norms = 0;
  for (const Operator& op : step.sections.back().operators) {
    if (const auto* e = op.shape.get_if<Elementwise>(); e && op.name == "q_norm.grad") {
      EXPECT_EQ(e->count(), 64 * 128);
      EXPECT_EQ(e->inputs, 2);
      ++pointwise;
    }
    norms += op.shape.is<RmsNorm>();
  }
  EXPECT_EQ(pointwise, 1);
  EXPECT_EQ(norms, 1);
}

}  // namespace
}  // namespace tilecast
