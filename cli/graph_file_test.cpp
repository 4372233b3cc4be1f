#include "model/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/cli_testing.h"
#include "kernel/custom.h"
#include "model/onnx.h"
#include "model/onnx_testing.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  const auto graph = graph_from_json(text, "net.json");
  return graph ? "accepted" : graph.error().line();
}
// A section with these operators over tensors x, y and z.
std::string with_operators(const std::string& operators) {
  return R"({"name": "n", "sections": [{"name": "s", "tensors": [{"name": "x", "elements": 8}, {"name": "y", "elements": 8},
            {"name": "z", "elements": 8}], "operators": [)" +
         operators + "]}]}";
}

TEST(GraphFile, ReadsEveryField) {
  const auto graph = graph_from_json(R"({"name": "net", "sections": [{
    "name": "layer", "repeats": 3, "pass": "backward",
    "tensors": [{"name": "ids", "elements": 16, "kind": "index"}, {"name": "x", "elements": 1024}, {"name": "y", "elements": 1024}, {"name": "z", "elements": 1024}],
    "operators": [
      {"name": "embed", "kernel": "embedding", "dims": {"tokens": 16, "vocab": 100, "cols": 64}, "reads": ["ids"], "writes": ["x"],
       "weights": {"matrix": 6400, "vector": 5, "table": true, "tied": true}, "spelling": "dropout", "times": 2, "unknown": true},
      {"name": "attend", "kernel": "attention-prefill", "dims": {"heads": 4, "lens": [128, 256], "mask": "full"},
       "reads": ["x"], "writes": ["y"]},
      {"name": "own", "kernel": "custom", "dims": {"ctas": 4, "load-bytes": 1e9}, "reads": ["y"], "writes": ["z"]}]}]})",
                                     "net.json");
  ASSERT_TRUE(graph) << graph.error().line();
  EXPECT_EQ(graph->name, "net");
  const Section& section = graph->sections.at(0);
  EXPECT_EQ(section.repeats, 3);
  EXPECT_EQ(section.pass, Pass::backward);
  EXPECT_EQ(section.tensors.at(0).kind, TensorKind::index);
  EXPECT_EQ(section.tensors.at(1).elements, 1024);
  const Operator& embed = section.operators.at(0);
  EXPECT_EQ(dims_text(embed.shape), "tokens=16;vocab=100;cols=64");
  EXPECT_EQ(embed.inputs, std::vector<int>{0});
  EXPECT_EQ(embed.outputs, std::vector<int>{1});
  EXPECT_EQ(embed.weights.matrix, 6400);
  EXPECT_EQ(embed.weights.vector, 5);
  EXPECT_TRUE(embed.weights.table && embed.weights.tied && embed.unknown);
  EXPECT_EQ(embed.spelling, Spelling::dropout);
  EXPECT_EQ(embed.times, 2);
  EXPECT_EQ(dims_text(section.operators.at(1).shape), "heads=4;mask=full;lens=128,256");
  EXPECT_EQ(section.operators.at(2).shape.as<Custom>().load_bytes, 1e9);
  EXPECT_EQ(parameters(*graph), 3 * 5);
}

TEST(GraphFile, WritesWhatItReads) {
  onnx_testing::TransformerSizes sizes;
  for (const std::string& file : {onnx_testing::gpt2_onnx(sizes), onnx_testing::resnet_onnx(2, 64, {1, 1})}) {
    const auto graph = graph_from_onnx_bytes(file, "test.onnx", {});
    ASSERT_TRUE(graph) << graph.error().line();
    const std::string text = graph_to_json(*graph);
    const auto again = graph_from_json(text, "again.json");
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_EQ(graph_to_json(*again), text);
    EXPECT_EQ(parameters(*again), parameters(*graph));
    EXPECT_EQ(model_flops(*again), model_flops(*graph));
  }
}

TEST(GraphFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(refusal("{"), HasSubstr("net.json: is not valid JSON: parse error at line 1, column 2"));
  EXPECT_EQ(refusal("[]"), "net.json: must be an object");
  EXPECT_EQ(refusal(R"({"name": "n"})"),
            "net.json: sections: must be a list of at least one section (see docs/graphs.md)");
  EXPECT_EQ(refusal(R"({"nam": "n", "sections": []})"), "net.json: nam: unknown field (did you mean name?)");
  EXPECT_EQ(refusal(R"({"name": "n", "sections": [{"name": "s", "repeats": 0}]})"),
            "net.json: sections[0].repeats: must be a whole number between 1 and 1048576");
  EXPECT_EQ(refusal(R"({"name": "n", "sections": [{"name": "s"}]})"),
            "net.json: sections[0].operators: must be a list of at least one operator");
  EXPECT_EQ(refusal(with_operators(R"({"name": "a", "kernel": "gem", "dims": {}})")),
            "net.json: sections[0].operators[0].kernel: unknown kernel family 'gem' (did you mean gemm?)");
  EXPECT_EQ(refusal(with_operators(R"({"name": "a", "kernel": "gemm", "dims": {"m": 1, "n": 0, "k": 1}})")),
            "net.json: sections[0].operators[0].dims.n: must be a positive whole number, not 0 (for example m 4096, n "
            "4096, k 4096)");
  EXPECT_EQ(refusal(with_operators(R"({"name": "a", "kernel": "gemm", "dims": {"m": 1, "n": null, "k": 1}})")),
            "net.json: sections[0].operators[0].dims.n: must be a number, a text, true, false or a list");
  EXPECT_EQ(refusal(with_operators(R"({"name": "a", "kernel": "copy", "dims": {"elements": 8}, "reads": ["w"]})")),
            "net.json: sections[0].operators[0].reads: 'w' is not a tensor of this section (list it under tensors)");
  EXPECT_EQ(
      refusal(with_operators(
          R"({"name": "a", "kernel": "copy", "dims": {"elements": 8}, "reads": ["x"], "writes": ["y"], "weights": {"matrix": -1}})")),
      "net.json: sections[0].operators[0].weights.matrix: must be a whole number between 0 and 1099511627776");
}

TEST(GraphFile, OperatorsStandInTheOrderTheyRun) {
  const std::string copy = R"("kernel": "copy", "dims": {"elements": 8})";
  EXPECT_EQ(
      refusal(with_operators(R"({"name": "a", )" + copy + R"(, "reads": ["y"], "writes": ["z"]}, {"name": "b", )" +
                             copy + R"(, "reads": ["x"], "writes": ["y"]})")),
      "net.json: sections[0].operators[0].reads: 'y' is written only by 'b', which does not come before (put operators "
      "in the "
      "order they run)");
  EXPECT_EQ(refusal(with_operators(R"({"name": "a", )" + copy + R"(, "reads": ["y"], "writes": ["y"]})")),
            "net.json: sections[0].operators[0].reads: 'y' is written only by 'a', which does not come before (put "
            "operators in the "
            "order they run)");
  EXPECT_EQ(
      refusal(with_operators(R"({"name": "a", )" + copy + R"(, "reads": ["x"], "writes": ["y"]}, {"name": "b", )" +
                             copy + R"(, "reads": ["x"], "writes": ["y"]})")),
      "net.json: sections[0].operators[1].writes: 'y' is written by 'a' already");
  EXPECT_EQ(
      refusal(with_operators(R"({"name": "a", )" + copy + R"(, "reads": ["x"], "writes": ["y"]}, {"name": "a", )" +
                             copy + R"(, "reads": ["x"], "writes": ["z"]})")),
      "net.json: sections[0].operators[1].name: 'a' is taken by another operator");
}

TEST(GraphFile, TellsGraphsFromConfigurations) {
  EXPECT_TRUE(looks_like_graph_json(R"({"name": "n", "sections": []})"));
  EXPECT_FALSE(looks_like_graph_json(R"({"architectures": ["LlamaForCausalLM"]})"));
}

// The first ```json block of docs/graphs.md is a whole graph.
TEST(GraphsDoc, ItsExampleWorks) {
  const std::string doc = file_text(TILECAST_SOURCE_DIR "/docs/graphs.md");
  const auto start = doc.find("```json\n"), end = doc.find("```", start + 8);
  ASSERT_NE(end, std::string::npos);
  const auto graph = graph_from_json(doc.substr(start + 8, end - start - 8), "docs/graphs.md");
  ASSERT_TRUE(graph) << graph.error().line();
  EXPECT_EQ(parameters(*graph), 907'755'520);
  EXPECT_THAT(doc, HasSubstr("907,755,520 parameters"));
}

TEST(GraphsDoc, NamesEveryOnnxOperatorThatIsUnderstood) {
  const std::string doc = file_text(TILECAST_SOURCE_DIR "/docs/graphs.md");
  for (const std::string& op : supported_onnx_operators()) EXPECT_THAT(doc, HasSubstr("`" + op + "`"));
}

}  // namespace
}  // namespace tilecast
