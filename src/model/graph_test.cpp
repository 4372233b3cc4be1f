#include "model/graph.h"

#include <gtest/gtest.h>

#include <set>

#include "model/role_names.h"

namespace tilecast {
namespace {

Operator operator_of(std::string_view family, std::string_view dims, std::string name = "op") {
  const auto parsed = dims_from_text(dims);
  const auto shape = shape_from(family, *parsed);
  EXPECT_TRUE(shape) << shape.error().line();
  Operator op;
  op.name = std::move(name), op.shape = *shape;
  op.role = role_from_name(op.name, op.shape);
  return op;
}
double flops_of(std::string_view family, std::string_view dims) { return model_flops(operator_of(family, dims)); }

TEST(ModelFlops, OfProducts) {
  EXPECT_EQ(flops_of("gemm", "m=2;n=3;k=5"), 60);
  EXPECT_EQ(flops_of("bmm", "batch=7;m=2;n=3;k=5"), 420);
}

TEST(ModelFlops, OfConvolutionsCountPaddingAndGroups) {
  // ResNet's first: 112 x 112 results of 7 x 7 x 3 products, 64 channels: 118 M multiply-adds.
  EXPECT_EQ(
      flops_of("conv2d", "batch=1;in-channels=3;out-channels=64;height=224;width=224;kernel=7;stride=2;padding=3"),
      2.0 * 112 * 112 * 64 * 3 * 49);
  EXPECT_EQ(flops_of("conv2d", "batch=2;in-channels=8;out-channels=8;height=5;width=5;kernel=3;padding=1;groups=8"),
            2.0 * 2 * 25 * 8 * 9);
  EXPECT_EQ(flops_of("conv2d", "batch=1;in-channels=2;out-channels=3;height=4;width=6;kernel-h=1;kernel-w=3"),
            2.0 * 4 * 4 * 3 * 2 * 3);
  const char* shape = "batch=1;in-channels=2;out-channels=3;height=8;width=8;kernel=3";
  EXPECT_EQ(flops_of("conv2d", std::string(shape) + ";backward=weight"), flops_of("conv2d", shape));
}

TEST(ModelFlops, OfAttentionCountWhatTheMaskLeaves) {
  // 4 queries see 1 + 2 + 3 + 4 keys, or all 16.
  EXPECT_EQ(flops_of("attention_prefill", "q-len=4;heads=2;head-dim=8"), 10 * 2 * 2.0 * (8 + 8));
  EXPECT_EQ(flops_of("attention_prefill", "q-len=4;heads=2;head-dim=8;mask=full"), 16 * 2 * 2.0 * (8 + 8));
  EXPECT_EQ(flops_of("attention_prefill", "q-len=4;heads=2;head-dim=8;window=2"), (1 + 2 + 2 + 2) * 2 * 2.0 * 16);
  // Fewer key heads save bytes, no products; wider keys than values.
  EXPECT_EQ(flops_of("attention_prefill", "batch=3;q-len=4;heads=4;kv-heads=2;head-dim=8;v-head-dim=4"),
            3 * 10 * 4 * 2.0 * (8 + 4));
  EXPECT_EQ(flops_of("attention_prefill", "q-len=2;kv-len=5;heads=1;head-dim=8"), (4 + 5) * 2.0 * 16);
  EXPECT_EQ(flops_of("attention_decode", "batch=3;kv-len=100;heads=4;kv-heads=1;head-dim=8"), 3 * 100 * 4 * 2.0 * 16);
  EXPECT_EQ(flops_of("attention_decode", "kv-len=100;heads=4;head-dim=8;window=30"), 30 * 4 * 2.0 * 16);
  EXPECT_EQ(flops_of("attention_backward", "q-len=4;heads=2;head-dim=8"), 2 * 10 * 2 * 2.0 * 16);
}

TEST(ModelFlops, OfLatentAttention) {
  EXPECT_EQ(flops_of("mla_prefill", "q-len=4;heads=2"), 10 * 2 * 2.0 * (128 + 64 + 128));
  EXPECT_EQ(flops_of("mla_decode", "batch=3;kv-len=100;heads=16"), 3 * 100 * 16 * 2.0 * (512 + 64 + 512));
}

TEST(ModelFlops, OfExperts) {
  // Each of 10 tokens visits 2 experts of three 8 x 4 matrices.
  EXPECT_EQ(flops_of("moe", "tokens=10;hidden=8;inter=4;experts=16;topk=2"), 10 * 2 * 3 * 2.0 * 8 * 4);
  EXPECT_EQ(flops_of("moe", "tokens=10;hidden=8;inter=4;experts=16;topk=2;gated=no"), 10 * 2 * 2 * 2.0 * 8 * 4);
  EXPECT_EQ(flops_of("moe", "tokens=10;hidden=8;inter=4;experts=16;topk=2;pass=up"), 10 * 2 * 2 * 2.0 * 8 * 4);
  EXPECT_EQ(flops_of("moe", "tokens=10;hidden=8;inter=4;experts=16;topk=2;tp=2;ep=4"), 10 * 2 * 3 * 2.0 * 8 * 2 / 4);
}

TEST(ModelFlops, OfScansAreTheRecurrences) {
  // Two sequences of five tokens, four heads with a state of 8 x 16: recall, correct, read.
  const char* sizes = ";batch=2;seq-len=5;heads=4;head-dim=16;key-dim=8;key-heads=2";
  EXPECT_EQ(flops_of("scan", std::string("kind=chunk_gated_delta") + sizes), 10 * 4 * 3 * 2.0 * 8 * 16);
  EXPECT_EQ(flops_of("scan", std::string("kind=ssd_chunk") + sizes), 10 * 4 * 2 * 2.0 * 8 * 16);
  EXPECT_EQ(flops_of("scan", std::string("kind=conv1d") + sizes), 10 * (2 * 2 * 8 + 4 * 16) * 4 * 2.0);
}

TEST(ModelFlops, NothingElseCounts) {
  EXPECT_EQ(flops_of("rmsnorm", "rows=8;cols=8"), 0);
  EXPECT_EQ(flops_of("elementwise", "elements=8"), 0);
  EXPECT_EQ(flops_of("embedding", "tokens=8;vocab=9;cols=10"), 0);
}

TEST(Graph, TotalsMultiplyRepeatsAndCountTiedMatricesOnce) {
  Graph graph;
  graph.sections.push_back(
      {"before", 1, Pass::forward, {}, {operator_of("embedding", "tokens=4;vocab=100;cols=8", "tokens")}});
  graph.sections.back().operators.back().weights = {.matrix = 800, .table = true};
  graph.sections.push_back(
      {"layer", 3, Pass::forward, {}, {operator_of("gemm", "m=4;n=8;k=8"), operator_of("rmsnorm", "rows=4;cols=8")}});
  graph.sections.back().operators[0].weights = {.matrix = 64, .vector = 8};
  graph.sections.back().operators[1].weights = {.vector = 8};
  graph.sections.push_back({"after", 1, Pass::forward, {}, {operator_of("gemm", "m=4;n=100;k=8", "lm_head")}});
  graph.sections.back().operators.back().weights = {.matrix = 800, .vector = 100, .tied = true};
  EXPECT_EQ(parameters(graph), 800 + 3 * (64 + 8 + 8) + 100);
  EXPECT_EQ(model_flops(graph), 3 * 2.0 * 4 * 8 * 8 + 2.0 * 4 * 100 * 8);
}

TEST(OpClasses, FollowTheFamilyAndAHeadsName) {
  EXPECT_EQ(class_of(operator_of("gemm", "m=1;n=1;k=1", "layer.mlp.up")), OpClass::linear);
  EXPECT_EQ(class_of(operator_of("gemm", "m=1;n=1;k=1", "lm_head")), OpClass::head);
  EXPECT_EQ(class_of(operator_of("gemm", "m=1;n=1;k=1", "model.head.dense")), OpClass::head);
  EXPECT_EQ(class_of(operator_of("gemm", "m=1;n=1;k=1", "multi_head_attention.out")), OpClass::linear);
  EXPECT_EQ(class_of(operator_of("elementwise", "elements=1;op=gelu")), OpClass::activation);
  EXPECT_EQ(class_of(operator_of("elementwise", "elements=1;op=mul")), OpClass::pointwise);
  EXPECT_EQ(class_of(operator_of("elementwise", "elements=1;op=copy")), OpClass::movement);
  EXPECT_EQ(class_of(operator_of("softmax", "rows=1;cols=1")), OpClass::attention);
  EXPECT_EQ(class_of(operator_of("custom", "ctas=1;load-bytes=8")), OpClass::other);
}

TEST(OpClasses, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int c = 0; c <= static_cast<int>(OpClass::other); ++c) names.insert(name_of(static_cast<OpClass>(c)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(OpClass::other) + 1);
  EXPECT_EQ(name_of(OpClass::head), "head");
  EXPECT_EQ(name_of(OpClass::other), "other");
}

}  // namespace
}  // namespace tilecast
