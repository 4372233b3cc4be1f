// What is wrong with a file is said in one line; nothing crashes, and nothing large is allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/onnx.h"
#include "model/onnx_testing.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

using namespace onnx_testing;
using testing::HasSubstr;

std::string refusal_of_broken(const std::string& file, const OnnxOptions& options = {}) {
  const auto graph = graph_from_onnx_bytes(file, "test.onnx", options);
  return graph ? "accepted" : graph.error().line();
}

TEST(OnnxBroken, CutAnywhere) {
  const std::string file = gpt2_onnx({});
  for (std::size_t length = 0; length < file.size(); length += 7) {
    const std::string line = refusal_of_broken(file.substr(0, length));
    EXPECT_THAT(line, testing::StartsWith("test.onnx: ")) << length;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  EXPECT_THAT(refusal_of_broken(file.substr(0, file.size() - 1)),
              HasSubstr("is not a complete ONNX model: it ends before a field does at byte"));
}

TEST(OnnxBroken, NotOnnxAtAll) {
  EXPECT_EQ(refusal_of_broken(""), "test.onnx: holds no graph (is it an ONNX file?)");
  EXPECT_THAT(refusal_of_broken("{\"architectures\": [\"LlamaForCausalLM\"]}"), HasSubstr("ONNX model"));
  EXPECT_THAT(refusal_of_broken(std::string(100, '\0')), HasSubstr("has a field number out of range at byte"));
  EXPECT_EQ(refusal_of_broken(Message().varint(7, 3).text()),
            "test.onnx: is not an ONNX model: field 7 of some message has the wrong type (is it an ONNX file?)");
  EXPECT_EQ(refusal_of_broken(Message().bytes(7, "").text()),
            "test.onnx: holds a graph without nodes (is it an ONNX model?)");
}

TEST(OnnxBroken, Cycles) {
  Writer w;
  w.input("x", {Count{4}});
  w.node("Add", "a", {"x", "b"}), w.node("Relu", "b", {"a"});
  w.output("b");
  EXPECT_EQ(refusal_of_broken(w.file()),
            "test.onnx: node 'a' (Add): waits for its own result: the graph has a cycle (export it again)");
}

TEST(OnnxBroken, NodesInAnyOrderRun) {
  Writer w;
  w.input("x", {Count{4}});
  w.node("Relu", "b", {"a"}), w.node("Exp", "a", {"x"});
  w.output("b");
  EXPECT_EQ(refusal_of_broken(w.file()), "accepted");
}

TEST(OnnxBroken, NamesThatDoNotMeet) {
  Writer missing;
  missing.input("x", {Count{4}}), missing.output(missing.node("Add", "y", {"x", "z"}));
  EXPECT_EQ(refusal_of_broken(missing.file()),
            "test.onnx: node 'y' (Add): reads 'z', which nothing produces (onnx.checker says more of such a file; "
            "export it anew)");
  Writer twice;
  twice.input("x", {Count{4}}), twice.node("Relu", "y", {"x"}), twice.node("Exp", "second", {"x"}, {}, {"y"});
  EXPECT_EQ(refusal_of_broken(twice.output("y").file()),
            "test.onnx: node 'second' (Exp): produces 'y', which something else produces too (onnx.checker says more "
            "of such a file; export it anew)");
  Writer none;
  none.input("x", {Count{4}}), none.node("Relu", "y", {"x"});
  EXPECT_EQ(refusal_of_broken(none.file()), "test.onnx: declares no outputs (export it again)");
  EXPECT_EQ(refusal_of_broken(none.output("z").file()),
            "test.onnx: output 'z': is produced by nothing (onnx.checker says more of such a file; export it anew)");
  Writer few;
  few.input("x", {Count{
                     4,
                 }}),
      few.output(few.node("Conv", "y", {"x"}));
  EXPECT_EQ(refusal_of_broken(few.file()),
            "test.onnx: node 'y' (Conv): lacks input 1 (onnx.checker says more of such a file; export it anew)");
}

TEST(OnnxBroken, ShapesThatDoNotFit) {
  Writer product;
  product.input("x", {Count{4}, Count{5}}), product.weight("w", {6, 7});
  product.output(product.node("MatMul", "y", {"x", "w"}));
  EXPECT_EQ(refusal_of_broken(product.file()),
            "test.onnx: node 'y' (MatMul): cannot multiply [4, 5] by [6, 7] (check the dimensions that were given)");
  Writer reshape;
  reshape.input("x", {Count{4}, Count{5}}), reshape.integers("shape", {3, -1});
  reshape.output(reshape.node("Reshape", "y", {"x", "shape"}));
  EXPECT_THAT(refusal_of_broken(reshape.file()), HasSubstr("node 'y' (Reshape): [4, 5] cannot become [3, -1]"));
  Writer data;
  data.input("x", {Count{4}}), data.input("shape", {Count{2}}, onnx_type::kInt64);
  data.output(data.node("Reshape", "y", {"x", "shape"}));
  EXPECT_THAT(refusal_of_broken(data.file()), HasSubstr("needs the values of 'shape', which depend on the data"));
  Writer negative;
  negative.input("x", {Count{4}}), negative.weight("w", {-3});
  negative.output(negative.node("Add", "y", {"x", "w"}));
  EXPECT_EQ(refusal_of_broken(negative.file()),
            "test.onnx: initializer 'w': has impossible dimensions [-3] (onnx.checker says more of such a file; export "
            "it anew)");
  Writer huge;
  huge.input("x", {Count{1} << 40, Count{1} << 40});
  huge.output(huge.node("Relu", "y", {"x"}));
  EXPECT_THAT(refusal_of_broken(huge.file()), HasSubstr("input 'x': has impossible dimensions"));
}

TEST(OnnxBroken, AFileThatIsNotThere) {
  const auto graph = graph_from_onnx("/nowhere/model.onnx", {});
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().line(), HasSubstr("/nowhere/model.onnx: no such file"));
  const auto folder = graph_from_onnx("/tmp", {});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().line(), "/tmp: is a directory, not a file (name a file in it)");
}

// Weights of 3 GB within the file: more than a protobuf library takes, and a hole on the disk here.
TEST(OnnxBroken, GigabytesAreSteppedOver) {
  constexpr std::uint64_t kWeights = 3'000'000'000;
  Writer w;
  w.input("x", {Count{1}, Count{30000}});
  w.output(w.node("MatMul", "y", {"x", "w"}));
  Message tensor;
  tensor.varint(1, 30000).varint(1, 25000).varint(2, 1).bytes(8, "w").tag(9, 2).raw_varint(kWeights);
  Message graph = w.graph();
  graph.tag(5, 2).raw_varint(tensor.text().size() + kWeights);
  Message model;
  model.tag(7, 2).raw_varint(graph.text().size() + tensor.text().size() + kWeights);
  const std::string head = model.text() + graph.text() + tensor.text();
  const TestFolder folder;
  const std::string path = folder.file("tilecast_large.onnx");
  std::ofstream(path, std::ios::binary) << head;
  std::filesystem::resize_file(path, head.size() + kWeights);
  const auto graph_read = graph_from_onnx(path, {});
  ASSERT_TRUE(graph_read) << graph_read.error().line();
  EXPECT_EQ(parameters(*graph_read), 750'000'000);
  EXPECT_EQ(graph_read->name, "tilecast_large");
  std::filesystem::resize_file(path, head.size() + kWeights / 2);
  const auto cut = graph_from_onnx(path, {});
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().line(), HasSubstr("is not a complete ONNX model: it ends before a field does"));
}

}  // namespace
}  // namespace tilecast
