#include "model/backward.h"

#include <gtest/gtest.h>

#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/rmsnorm.h"
#include "model/recomputation.h"
#include "model/section_builder.h"

namespace tilecast {
namespace {

const Operator* find(const Section& section, const std::string& name) {
  for (const Operator& op : section.operators)
    if (op.name == name) return &op;
  return nullptr;
}

// x -> norm -> two linears -> their product -> sum with x
Graph gated_block(Count rows, Count width, Count inner) {
  SectionBuilder b("layer", 4, {SectionKind::layer});
  const int x = b.tensor("stream", rows * width);
  RmsNorm norm;
  norm.rows = rows, norm.cols = width;
  const int y = b.add(Role::other, "norm", norm, {x}, rows * width, {.vector = width});
  const int left = b.linear(Role::other, "left", y, rows, width, inner, true);
  const int right = b.linear(Role::other, "right", y, rows, width, inner, false);
  const int both = b.pointwise(Role::other, "mul", PointwiseOp::mul, {left, right}, rows * inner);
  const int down = b.linear(Role::other, "down", both, rows, inner, width, false);
  b.pointwise(Role::other, "residual", PointwiseOp::add, {x, down}, rows * width);
  return Graph{"block", {std::move(b).finish()}};
}

TEST(Backward, ALinearLayerHasTwoProductsOfTheSameSize) {
  const Graph graph = with_backward(gated_block(64, 32, 128), {});
  ASSERT_EQ(graph.sections.size(), 2u);
  const Section& back = graph.sections[1];
  EXPECT_EQ(back.pass, Pass::backward);
  EXPECT_EQ(back.repeats, 4);
  const Operator* input = find(back, "left.grad_input");
  const Operator* weight = find(back, "left.grad_weight");
  ASSERT_TRUE(input && weight);
  const auto& gi = input->shape.as<Gemm>();
  EXPECT_EQ(gi.m, 64);
  EXPECT_EQ(gi.n, 32);
  EXPECT_EQ(gi.k, 128);
  const auto& gw = weight->shape.as<Gemm>();
  EXPECT_EQ(gw.m, 128);
  EXPECT_EQ(gw.n, 32);
  EXPECT_EQ(gw.k, 64);
  EXPECT_TRUE(find(back, "left.grad_bias"));
  EXPECT_FALSE(find(back, "right.grad_bias")) << "it has no bias";
}

TEST(Backward, ModelFlopsOfProductsAreTwiceTheForward) {
  const Graph forward = gated_block(64, 32, 128);
  EXPECT_DOUBLE_EQ(model_flops(with_backward(forward, {})), 3 * model_flops(forward));
}

TEST(Backward, GradientsOfATensorReadTwiceAreSummedOnce) {
  const Graph graph = with_backward(gated_block(64, 32, 128), {});
  int norm_sums = 0, stream_sums = 0;
  for (const Operator& op : graph.sections[1].operators) {
    norm_sums += op.name.starts_with("norm.grad_sum");
    stream_sums += op.name.starts_with("stream.grad_sum");
  }
  EXPECT_EQ(norm_sums, 1);    // left and right
  EXPECT_EQ(stream_sums, 1);  // the norm and the residual
}

TEST(Backward, AProductOfTwoTensorsHasAGradientForEach) {
  const Graph graph = with_backward(gated_block(64, 32, 128), {});
  const auto kernels = std::count_if(graph.sections[1].operators.begin(), graph.sections[1].operators.end(),
                                     [](const Operator& op) { return op.name == "mul.grad"; });
  EXPECT_EQ(kernels, 2);
}

TEST(Backward, AccumulationAddsEveryWeightOnce) {
  const Graph graph = with_backward(gated_block(64, 32, 128), {.accumulate = true});
  Count added = 0;
  for (const Operator& op : graph.sections[1].operators)
    if (op.name.ends_with(".accumulate")) added += op.shape.as<Elementwise>().count();
  EXPECT_EQ(added, parameters(gated_block(64, 32, 128)) / 4);
}

TEST(Backward, RecomputationRunsLayersForwardAgain) {
  const Graph graph = with_backward(gated_block(64, 32, 128), {.recompute = Recompute::full, .stops_early = false});
  ASSERT_EQ(graph.sections.size(), 3u);
  EXPECT_EQ(graph.sections[1].operators.size(), graph.sections[0].operators.size());
  EXPECT_EQ(graph.sections[1].pass, Pass::backward);
  EXPECT_EQ(parameters(graph), parameters(gated_block(64, 32, 128))) << "weights are not owned twice";
}

TEST(Backward, WhatRunsAgainStopsBeforeItsLastProduct) {
  const Graph forward = gated_block(64, 32, 128);
  const auto& all = forward.sections.front().operators;
  const auto again = with_backward(forward, {.recompute = Recompute::full}).sections.at(1).operators;
  ASSERT_EQ(again.size(), all.size() - 2) << "neither the last product nor the sum behind it";
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].name, all[i].name);
  EXPECT_TRUE(all[again.size()].shape.is<Gemm>());
  // A norm behind the block keeps the moments of what it reads: all of it runs.
  Graph normed = forward;
  Operator norm = all.front();
  norm.name = "norm behind";
  normed.sections.front().operators.push_back(norm);
  EXPECT_EQ(with_backward(normed, {.recompute = Recompute::full}).sections.at(1).operators.size(), all.size() + 1);
}

TEST(Backward, RecomputationInPartRunsItsOperatorsAgain) {
  const Graph forward = gated_block(64, 32, 128);
  const std::size_t all = forward.sections.front().operators.size();
  // Of three products the second runs again, and so does all that is none.
  const Graph operators = with_backward(forward, {.recompute = Recompute::operators, .stops_early = false});
  ASSERT_EQ(operators.sections.size(), 3u);
  EXPECT_EQ(operators.sections[1].operators.size(), all - 2);
  const Graph alternate = with_backward(forward, {.recompute = Recompute::alternate, .stops_early = false});
  EXPECT_EQ(alternate.sections[1].repeats, forward.sections.front().repeats / 2);
  EXPECT_EQ(alternate.sections[1].operators.size(), all);
  // There is no attention to run again.
  EXPECT_EQ(with_backward(forward, {.recompute = Recompute::selective}).sections.size(), 2u);
}

TEST(Backward, WhatRunsAgainIsNotKept) {
  const Section section = gated_block(64, 32, 128).sections.front();
  const auto kept = [&](Recompute recompute) {
    std::vector<std::string> names;
    for (int t : kept_tensors(section, recompute)) names.push_back(section.tensors[static_cast<std::size_t>(t)].name);
    return names;
  };
  EXPECT_EQ(kept(Recompute::none), (std::vector<std::string>{"stream", "norm", "left", "right", "mul"}));
  EXPECT_EQ(kept(Recompute::full), (std::vector<std::string>{"stream"}));
  EXPECT_EQ(kept(Recompute::operators).front(), "stream");
  EXPECT_LT(kept(Recompute::operators).size(), 5u);
}

TEST(Backward, WhatGradientsNeedIsSaved) {
  const Section section = gated_block(64, 32, 128).sections.front();
  std::vector<std::string> names;
  for (int t : saved_tensors(section)) names.push_back(section.tensors[static_cast<std::size_t>(t)].name);
  // The norm's input, the linears' input, both factors, the last linear's input; not the sums.
  EXPECT_EQ(names, (std::vector<std::string>{"stream", "norm", "left", "right", "mul"}));
}

}  // namespace
}  // namespace tilecast
