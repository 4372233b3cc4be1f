#include "model/role.h"

#include <gtest/gtest.h>

#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "model/backward.h"
#include "model/build.h"
#include "model/graph_file.h"
#include "model/library.h"
#include "model/role_names.h"

namespace tilecast {
namespace {

Workload work_of(Mode mode, Count tokens) {
  Workload w;
  w.mode = mode;
  w.keep_cache = mode != Mode::train;
  w.requests = {{2, tokens, mode == Mode::decode ? Count{32} : Count{0}}};
  return w;
}

// Every graph that a bundled model can be built into.
std::vector<Graph> graphs_of(const ModelSpec& spec) {
  std::vector<Graph> graphs;
  for (const auto& [mode, tokens] :
       {std::pair(Mode::prefill, Count{16}), std::pair(Mode::decode, Count{1}), std::pair(Mode::train, Count{16})})
    if (auto graph = build(spec, work_of(mode, tokens))) graphs.push_back(*std::move(graph));
  return graphs;
}

std::vector<ModelSpec> bundled() {
  std::vector<ModelSpec> specs;
  for (ModelEntry& entry : list_models()) specs.push_back(std::move(entry.spec));
  return specs;
}

TEST(Roles, EveryOperatorOfABundledModelHasOne) {
  std::size_t models = 0;
  for (const ModelSpec& spec : bundled()) {
    const std::vector<Graph> graphs = graphs_of(spec);
    models += graphs.empty() ? 0 : 1;
    for (const Graph& graph : graphs)
      for (const Section& section : graph.sections) {
        EXPECT_NE(section.part.kind, SectionKind::other) << spec.name << " " << section.name;
        for (const Operator& op : section.operators)
          EXPECT_NE(op.role, Role::other) << spec.name << " " << section.name << " " << op.name;
      }
  }
  EXPECT_GT(models, 50u);
}

// A graph that is written to a file and read again loses its roles, and gets them back from the names.
TEST(Roles, AreWhatTheNamesOfAnImportedGraphGive) {
  for (const ModelSpec& spec : bundled())
    for (const Graph& graph : graphs_of(spec))
      for (const Section& section : graph.sections)
        for (const Operator& op : section.operators)
          EXPECT_EQ(static_cast<int>(role_from_name(op.name, op.shape)), static_cast<int>(op.role))
              << spec.name << " " << section.name << " " << op.name;
}

// What merges: products of one input in one block. The names' first parts said so, and experts' products never merge.
TEST(Roles, BlocksOfAnImportedGraphMergeTheSame) {
  for (const ModelSpec& spec : bundled())
    for (const Graph& graph : graphs_of(spec))
      for (Section section : graph.sections) {
        const std::vector<Operator> built = section.operators;
        label_by_name(section);
        for (std::size_t i = 1; i < built.size(); ++i) {
          const auto products = [](const Operator& a, const Operator& b) {
            return a.shape.is<Gemm>() && b.shape.is<Gemm>() && a.inputs == b.inputs;
          };
          if (!products(built[i - 1], built[i])) continue;
          const auto merges = [](const Operator& a, const Operator& b) {
            return a.block == b.block && a.block != kNoBlock;
          };
          EXPECT_EQ(merges(built[i - 1], built[i]), merges(section.operators[i - 1], section.operators[i]))
              << spec.name << " " << built[i - 1].name << " " << built[i].name;
        }
      }
}

Shape product() {
  Gemm g;
  g.m = g.n = g.k = 8;
  return g;
}
Shape pointwise(PointwiseOp op) {
  Elementwise e;
  e.elements = 8, e.op = op;
  return e;
}

TEST(Roles, NamesOfImportedGraphsByHand) {
  EXPECT_EQ(role_from_name("model.score_head", product()), Role::lm_head);
  EXPECT_EQ(role_from_name("multi_head_attention.out", product()), Role::other);
  EXPECT_EQ(role_from_name("head.act", product()), Role::lm_head);
  EXPECT_EQ(role_from_name("head.act", pointwise(PointwiseOp::gelu)), Role::head_activation);
  EXPECT_EQ(role_from_name("moe.router.weight", product()), Role::router);
  EXPECT_EQ(role_from_name("moe.experts", product()), Role::experts);
  EXPECT_EQ(role_from_name("moe.experts.7.up", product()), Role::expert_part);
  EXPECT_EQ(role_from_name("h.3.residual", pointwise(PointwiseOp::add)), Role::residual);
  EXPECT_EQ(role_from_name("h.3.residual", pointwise(PointwiseOp::mul)), Role::other);
  EXPECT_EQ(role_from_name("segment_add", pointwise(PointwiseOp::add)), Role::embedding_sum);
  EXPECT_EQ(role_from_name("conv1", product()), Role::other);
}

TEST(Roles, GradientsHaveTheirOperatorsRole) {
  const auto spec = find_model("Llama-3.1-8B");
  ASSERT_TRUE(spec);
  const auto forward = build(*spec, work_of(Mode::train, 16));
  ASSERT_TRUE(forward);
  const Graph graph = with_backward(*forward, {.recompute = Recompute::full});
  int heads = 0, weights = 0, again = 0;
  for (const Section& section : graph.sections) {
    if (section.pass != Pass::backward) continue;
    ASSERT_GE(section.forward, 0);
    const Section& of = forward->sections[static_cast<std::size_t>(section.forward)];
    EXPECT_EQ(section.part.kind, of.part.kind);
    EXPECT_TRUE(section.name.starts_with(of.name));
    again += section.recomputed ? 1 : 0;
    for (const Operator& op : section.operators) {
      heads += op.role == Role::lm_head && class_of(op) == OpClass::head ? 1 : 0;
      weights += op.weight_gradient ? 1 : 0;
      EXPECT_EQ(op.weight_gradient, op.name.ends_with("grad_weight") || op.name.ends_with("grad_bias")) << op.name;
    }
  }
  EXPECT_EQ(heads, 2);    // with respect to its input and its weights
  EXPECT_EQ(weights, 8);  // four products of attention, three of the MLP, the head
  EXPECT_EQ(again, 1);    // the layer
}

TEST(Roles, SurviveAGraphFile) {
  const auto spec = find_model("Mixtral-8x7B");
  ASSERT_TRUE(spec);
  const auto built = build(*spec, work_of(Mode::prefill, 16));
  ASSERT_TRUE(built);
  const auto read = graph_from_json(graph_to_json(*built), "test");
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->sections.size(), built->sections.size());
  for (std::size_t s = 0; s < read->sections.size(); ++s) {
    ASSERT_EQ(read->sections[s].operators.size(), built->sections[s].operators.size());
    for (std::size_t i = 0; i < read->sections[s].operators.size(); ++i)
      EXPECT_EQ(read->sections[s].operators[i].role, built->sections[s].operators[i].role);
  }
}

TEST(Roles, SectionsSayWhichPartOfTheModelTheyAre) {
  const auto spec = find_model("T5-Base");
  ASSERT_TRUE(spec) << spec.error().line();
  const auto graph = build(*spec, work_of(Mode::prefill, 16));
  ASSERT_TRUE(graph);
  for (const Section& section : graph->sections) {
    EXPECT_EQ(section.part.encoder, section.name.starts_with("encoder.")) << section.name;
    EXPECT_EQ(section.part.kind == SectionKind::embedding, section.name.ends_with("embedding")) << section.name;
    EXPECT_EQ(section.part.kind == SectionKind::layer, section.name.find("layer") != std::string::npos);
    EXPECT_EQ(section.part.kind == SectionKind::head, section.name == "head");
  }
}

}  // namespace
}  // namespace tilecast
