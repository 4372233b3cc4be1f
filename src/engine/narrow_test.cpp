#include "engine/narrow.h"

#include <gtest/gtest.h>

#include "kernel/copy.h"
#include "kernel/reduction.h"
#include "model/section_builder.h"

namespace tilecast {
namespace {

// A product of [4, 16] with [8, 16], forward and with its gradients.
Graph one_product(bool frozen = false) {
  SectionBuilder b("layer", 1, {SectionKind::layer});
  const int x = b.tensor("x", 4 * 16);
  b.linear(Role::mlp_up, "up", x, 4, 16, 8, false);
  b.last().weights.frozen = frozen;
  return with_backward(Graph{"one", {std::move(b).finish()}}, {});
}
struct Named {
  std::string name;
  Count elements;
};
// Kernels of a pass that are no product.
std::vector<Named> casts(const Graph& graph, Pass pass) {
  std::vector<Named> found;
  for (const Section& section : graph.sections)
    if (section.pass == pass)
      for (const Operator& op : section.operators) {
        if (const auto* copy = op.shape.get_if<Copy>()) found.push_back({op.name, copy->count()});
        if (const auto* sum = op.shape.get_if<Reduction>()) found.push_back({op.name, sum->rows * sum->cols});
      }
  return found;
}
std::string text(const std::vector<Named>& list) {
  std::string all;
  for (const Named& n : list) all += n.name + " " + std::to_string(n.elements) + "; ";
  return all;
}
Graph narrowed(const Graph& step, TrainPrecision precision, Count micro_batches = 1) {
  return with_narrow_products(step, *narrow_recipe(precision), CastCode::fused, micro_batches);
}

TEST(NarrowTraining, DelayedScalingCastsOnceAndTransposes) {
  const Graph step = narrowed(one_product(), TrainPrecision::fp8_delayed);
  // A bf16 copy moves four bytes a number: a cast three (2 + 1), its transpose one more.
  EXPECT_EQ(text(casts(step, Pass::forward)),
            "up.cast_input 48; up.cast_input.transpose 16; up.cast_weight 96; up.cast_weight.transpose 32; ");
  // The output's gradient [4, 8] serves both products.
  EXPECT_EQ(text(casts(step, Pass::backward)), "up.grad_input.cast 24; up.grad_input.cast.transpose 8; ");
  // Transposes are marked, for cards that need none.
  int turns = 0;
  for (const Section& section : step.sections)
    for (const Operator& op : section.operators) turns += op.turns;
  EXPECT_EQ(turns, 3);
}

TEST(NarrowTraining, WeightsAreCastOnceInAStep) {
  EXPECT_EQ(text(casts(narrowed(one_product(), TrainPrecision::fp8_delayed, 4), Pass::forward)),
            "up.cast_input 48; up.cast_input.transpose 16; up.cast_weight 24; up.cast_weight.transpose 8; ");
}

TEST(NarrowTraining, CurrentScalingLooksForTheMaximumFirst) {
  EXPECT_EQ(text(casts(narrowed(one_product(), TrainPrecision::fp8_current), Pass::backward)),
            "up.grad_input.cast.amax 32; up.grad_input.cast 24; up.grad_input.cast.transpose 8; ");
}

TEST(NarrowTraining, BlocksAreCastBothWays) {
  // Two bytes read, twice 8.25 bits written: 4.0625 of four.
  EXPECT_EQ(text(casts(narrowed(one_product(), TrainPrecision::mxfp8), Pass::backward)), "up.grad_input.cast 33; ");
  // Twice 4.5 bits, after the maximum: 3.125 of four.
  EXPECT_EQ(text(casts(narrowed(one_product(), TrainPrecision::nvfp4), Pass::backward)),
            "up.grad_input.cast.amax 32; up.grad_input.cast 25; ");
}

TEST(NarrowTraining, FrozenWeightsAreCastNoMore) {
  const Graph step = narrowed(one_product(true), TrainPrecision::fp8_delayed);
  EXPECT_EQ(text(casts(step, Pass::forward)), "up.cast_input 48; ");
  EXPECT_EQ(text(casts(step, Pass::backward)), "up.grad_input.cast 24; ");
}

TEST(NarrowTraining, ProductsRunInTheRecipesFormatAndHeadsDoNot) {
  SectionBuilder b("layer", 1, {SectionKind::layer});
  const int x = b.tensor("x", 4 * 16);
  b.linear(Role::attention_out, "out", x, 4, 16, 8, false);
  b.linear(Role::router, "router", x, 4, 16, 8, false);
  b.linear(Role::lm_head, "head", x, 4, 16, 8, false);
  b.linear(Role::mlp_up, "wide", x, 4, 16, 8, false);
  b.last().stays_wide = true;
  const Graph step = narrowed(with_backward(Graph{"some", {std::move(b).finish()}}, {}), TrainPrecision::nvfp4);
  for (const Section& section : step.sections)
    for (const Operator& op : section.operators)
      if (op.shape.is<Gemm>()) {
        EXPECT_EQ(op.runs_as != nullptr, op.name.starts_with("out")) << op.name;
        if (op.runs_as) {
          EXPECT_EQ(op.runs_as->name, "nvfp4");
        }
      }
}

TEST(NarrowTraining, EagerCastsGoThroughFp32ForEveryProduct) {
  const Graph step =
      with_narrow_products(one_product(), *narrow_recipe(TrainPrecision::fp8_current), CastCode::eager, 1);
  int maxima = 0, turned = 0;
  for (const Section& section : step.sections)
    for (const Operator& op : section.operators) {
      maxima += op.shape.is<Reduction>();
      const auto* copy = op.shape.get_if<Copy>();
      turned += copy && copy->transpose;
    }
  EXPECT_EQ(maxima, 5);  // input and weight; gradient, weight and input again
  EXPECT_EQ(turned, 3);  // weight; gradient and input
}

TEST(NarrowTraining, PackedWeightsAreUnpackedForEveryProduct) {
  Graph step = one_product(true);
  for (Section& section : step.sections)
    for (Operator& op : section.operators) op.weights.packed = true;
  // 4.127 bits read, two bytes written: 128 x 2.516 / 4.
  EXPECT_EQ(text(casts(with_unpacking(step), Pass::forward)), "up.unpack 81; ");
  EXPECT_EQ(text(casts(with_unpacking(step), Pass::backward)), "up.grad_input.unpack 81; ");
}

TEST(NarrowTraining, EveryNameHasARecipe) {
  EXPECT_EQ(narrow_recipe(TrainPrecision::none), nullptr);
  for (std::size_t i = 1; i < kTrainPrecisionNames.size(); ++i)
    EXPECT_NE(narrow_recipe(static_cast<TrainPrecision>(i)), nullptr) << kTrainPrecisionNames[i];
  EXPECT_EQ(narrow_recipes().size() + 1, kTrainPrecisionNames.size());
}

}  // namespace
}  // namespace tilecast
