#include "model/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/elementwise.h"
#include "model/onnx_testing.h"

namespace tilecast {
namespace {

using namespace onnx_testing;
using testing::HasSubstr;

Graph imported(const std::string& file, const OnnxOptions& options = {}) {
  auto graph = graph_from_onnx_bytes(file, "test.onnx", options);
  EXPECT_TRUE(graph) << graph.error().line();
  return graph ? *std::move(graph) : Graph{};
}
std::string refused_with(const std::string& file, const OnnxOptions& options = {}) {
  const auto graph = graph_from_onnx_bytes(file, "test.onnx", options);
  return graph ? "accepted" : graph.error().line();
}

// "gemm m=2;n=3;k=4" of every operator, in order.
std::vector<std::string> lines(const Graph& graph) {
  std::vector<std::string> list;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      list.push_back(std::string(family_of(op.shape)) + " " + dims_text(op.shape));
  return list;
}
using Lines = std::vector<std::string>;

// One operator of inputs with these shapes; weights are named w0, w1 ...
struct Case {
  std::string op;
  std::vector<std::vector<Count>> inputs;
  std::vector<Attribute> attributes = {};
  std::vector<std::vector<Count>> weights = {};
  std::string domain = {};
};
std::string one_node(const Case& c) {
  Writer w;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    w.input(names.back(), {c.inputs[i].begin(), c.inputs[i].end()});
  }
  for (std::size_t i = 0; i < c.weights.size(); ++i) names.push_back(w.weight("w" + std::to_string(i), c.weights[i]));
  w.output(w.node(c.op, "y", names, c.attributes, {}, c.domain));
  return w.file();
}
std::string only(const Case& c) {
  const Lines all = lines(imported(one_node(c)));
  return all.size() == 1 ? all.front() : std::to_string(all.size()) + " operators";
}

TEST(Onnx, AnMlp) {
  Writer w;
  w.input("x", {"batch", Count{784}});
  w.weight("w1", {512, 784}), w.weight("b1", {512}), w.weight("w2", {10, 512}), w.weight("b2", {10});
  const std::string hidden =
      w.node("Relu", "/act", {w.node("Gemm", "/fc1/Gemm", {"x", "w1", "b1"}, {{"transB", Count{1}}})});
  w.output(w.node("Gemm", "/fc2/Gemm", {hidden, "w2", "b2"}, {{"transB", Count{1}}}));
  OnnxOptions options;
  options.dims["batch"] = 32;
  const Graph graph = imported(w.file("mlp"), options);
  EXPECT_EQ(graph.name, "mlp");
  EXPECT_EQ(lines(graph),
            (Lines{"gemm m=32;n=512;k=784", "elementwise elements=16384;op=relu", "gemm m=32;n=10;k=512"}));
  EXPECT_EQ(parameters(graph), 784 * 512 + 512 + 512 * 10 + 10);
  EXPECT_EQ(model_flops(graph), 2.0 * 32 * (784 * 512 + 512 * 10));
  const Section& section = graph.sections.front();
  EXPECT_EQ(section.operators[0].name, "fc1");
  EXPECT_EQ(section.tensors[0].name, "x");
  EXPECT_EQ(section.operators[0].inputs, std::vector<int>{0});
  EXPECT_EQ(section.operators[1].inputs, section.operators[0].outputs);
  EXPECT_EQ(section.operators[2].inputs, section.operators[1].outputs);
}

TEST(Onnx, Gpt2WrittenOutIsTheModelAgain) {
  const Graph graph = imported(gpt2_onnx({}));
  EXPECT_EQ(lines(graph), (Lines{
                              "embedding tokens=32;vocab=100;cols=64",
                              "embedding tokens=32;vocab=32;cols=64",
                              "elementwise elements=2048;inputs=2",
                              "layernorm rows=32;cols=64",
                              "gemm m=32;n=192;k=64",
                              "attention_prefill batch=2;q-len=16;kv-len=16;heads=4;kv-heads=4;head-dim=16",
                              "gemm m=32;n=64;k=64",
                              "elementwise elements=2048;inputs=2",
                              "layernorm rows=32;cols=64",
                              "gemm m=32;n=256;k=64",
                              "elementwise elements=8192;op=gelu",
                              "gemm m=32;n=64;k=256",
                              "elementwise elements=2048;inputs=2",
                              "layernorm rows=32;cols=64",
                              "gemm m=32;n=100;k=64",
                          }));
  const Count layer = 2 * 2 * 64 + (64 * 192 + 192) + (64 * 64 + 64) + (64 * 256 + 256) + (256 * 64 + 64);
  EXPECT_EQ(parameters(graph), 100 * 64 + 32 * 64 + layer + 2 * 64);
  const Operator& head = graph.sections.front().operators.back();
  EXPECT_EQ(class_of(head), OpClass::head);
  EXPECT_TRUE(head.weights.tied);
  EXPECT_EQ(graph.sections.front().tensors[static_cast<std::size_t>(head.outputs[0])].kind, TensorKind::logits);
}

TEST(Onnx, LlamaWrittenOutIsTheModelAgain) {
  TransformerSizes sizes;
  sizes.kv_heads = 2, sizes.layers = 2;
  OnnxOptions options;
  options.dims = {{"batch", 3}, {"sequence", 16}};
  const Graph graph = imported(llama_onnx(sizes), options);
  const Lines layer = {
      "rmsnorm rows=48;cols=64",
      "gemm m=48;n=64;k=64",
      "gemm m=48;n=32;k=64",
      "gemm m=48;n=32;k=64",
      "rope tokens=48;heads=4;kv-heads=2;head-dim=16",
      "attention_prefill batch=3;q-len=16;kv-len=16;heads=4;kv-heads=2;head-dim=16",
      "gemm m=48;n=64;k=64",
      "elementwise elements=3072;inputs=2",
      "rmsnorm rows=48;cols=64",
      "gemm m=48;n=256;k=64",
      "gemm m=48;n=256;k=64",
      "gated_activation rows=48;cols=256",
      "gemm m=48;n=64;k=256",
      "elementwise elements=3072;inputs=2",
  };
  Lines expected = {"embedding tokens=48;vocab=100;cols=64"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), layer.begin(), layer.end());
  expected.insert(expected.end(), {"rmsnorm rows=48;cols=64", "gemm m=48;n=100;k=64"});
  EXPECT_EQ(lines(graph), expected);
  EXPECT_EQ(parameters(graph), 2 * 100 * 64 + 64 + 2 * (64 + 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 256));
}

TEST(Onnx, ResNet50) {
  const Graph graph = imported(resnet_onnx(1, 224, {3, 4, 6, 3}));
  // Published: 25,557,032 parameters (running statistics are none), 4.09 G multiply-adds.
  EXPECT_EQ(parameters(graph), 25557032);
  EXPECT_NEAR(model_flops(graph), 8.18e9, 0.005e9);
  Count convolutions = 0, sums = 0;
  for (const Operator& op : graph.sections.front().operators) {
    convolutions += op.shape.is<Conv2d>();
    const auto* pointwise = op.shape.get_if<Elementwise>();
    sums += pointwise && pointwise->op == PointwiseOp::add;
  }
  EXPECT_EQ(convolutions, 53);
  EXPECT_EQ(sums, 16);
}

TEST(Onnx, BatchNormFoldsOnlyWhenAsked) {
  OnnxOptions apart;
  apart.fold_batch_norm = false;
  const std::string file = resnet_onnx(2, 32, {1});
  const Graph folded = imported(file), plain = imported(file, apart);
  EXPECT_EQ(parameters(folded), parameters(plain));
  EXPECT_EQ(lines(plain).size(), lines(folded).size() + 5);
  EXPECT_EQ(lines(folded)[0],
            "conv2d batch=2;in-channels=3;out-channels=64;height=32;width=32;kernel=7;stride=2;padding=3");
  EXPECT_EQ(lines(folded)[2],
            "elementwise elements=20480;op=relu");  // (2 * 64 * (16 * 16 + 8 * 8)) / 2: overlapping pool
  EXPECT_THAT(lines(folded), testing::Contains("reduction rows=512;cols=64"));
  EXPECT_EQ(lines(plain)[1], "elementwise elements=32768;op=mul");
}

TEST(Onnx, Products) {
  EXPECT_EQ(only({"MatMul", {{2, 3, 5, 7}, {2, 3, 7, 4}}}), "bmm batch=6;m=5;n=4;k=7");
  EXPECT_EQ(only({"MatMul", {{2, 3, 5, 7}, {7, 4}}}), "bmm batch=1;m=30;n=4;k=7");
  EXPECT_EQ(only({"MatMul", {{2, 3, 7}}, {}, {{7, 4}}}), "gemm m=6;n=4;k=7");
  EXPECT_EQ(only({"MatMul", {{7}}, {}, {{7, 4}}}), "gemm m=1;n=4;k=7");
  EXPECT_EQ(only({"MatMul", {{6, 5, 7}}, {}, {{6, 7, 4}}}), "bmm batch=6;m=5;n=4;k=7");
  EXPECT_EQ(only({"Gemm", {{7, 5}}, {{"transA", Count{1}}}, {{7, 4}}}), "gemm m=5;n=4;k=7");
  EXPECT_EQ(only({"Einsum", {{2, 5, 3, 8}, {2, 6, 3, 8}}, {{"equation", "bqhd,bkhd->bhqk"}}}),
            "bmm batch=6;m=5;n=6;k=8");
  EXPECT_EQ(only({"Einsum", {{2, 5, 8}}, {{"equation", "btd,df->btf"}}, {{8, 9}}}), "gemm m=10;n=9;k=8");
}

TEST(Onnx, Convolutions) {
  const auto two = [](Count v) { return std::vector<Count>{v, v}; };
  EXPECT_EQ(only({"Conv",
                  {{1, 32, 56, 56}},
                  {{"group", Count{32}}, {"pads", std::vector<Count>{1, 1, 1, 1}}},
                  {{32, 1, 3, 3}}}),
            "conv2d batch=1;in-channels=32;out-channels=32;height=56;width=56;kernel=3;padding=1;groups=32");
  // TensorFlow's SAME with stride 2 pads one side only: the image is that much larger.
  EXPECT_EQ(only({"Conv", {{1, 3, 224, 224}}, {{"strides", two(2)}, {"auto_pad", "SAME_UPPER"}}, {{32, 3, 3, 3}}}),
            "conv2d batch=1;in-channels=3;out-channels=32;height=225;width=225;kernel=3;stride=2");
  // One axis, as Whisper has it.
  EXPECT_EQ(only({"Conv",
                  {{1, 80, 3000}},
                  {{"strides", std::vector<Count>{2}}, {"pads", std::vector<Count>{1, 1}}},
                  {{384, 80, 3}}}),
            "conv2d batch=1;in-channels=80;out-channels=384;height=1;width=3002;kernel-h=1;kernel-w=3;stride=2");
  EXPECT_EQ(only({"Conv", {{1, 3, 8, 32, 32}}, {}, {{16, 3, 2, 4, 4}}}), "gemm m=5887;n=16;k=96");
  // A transposed convolution doubles the image: the gradient of one that halves it.
  EXPECT_EQ(
      only({"ConvTranspose",
            {{1, 64, 16, 16}},
            {{"strides", two(2)}, {"pads", std::vector<Count>{1, 1, 1, 1}}},
            {{64, 32, 4, 4}}}),
      "conv2d batch=1;in-channels=32;out-channels=64;height=32;width=32;kernel=4;stride=2;padding=1;backward=data");
}

TEST(Onnx, PointwiseOperatorsCountWhatTheyRead) {
  EXPECT_EQ(only({"Add", {{4, 8}, {4, 8}}}), "elementwise elements=32;inputs=2");
  EXPECT_EQ(only({"Add", {{4, 8}, {8}}}), "elementwise elements=32");
  EXPECT_EQ(only({"Where", {{4, 8}, {4, 8}, {4, 8}}}), "elementwise elements=32;inputs=3");
  EXPECT_EQ(only({"HardSwish", {{4, 8}}}), "elementwise elements=32;op=relu");
  EXPECT_EQ(only({"BiasGelu", {{4, 8}}, {}, {{8}}, "com.microsoft"}), "elementwise elements=32;op=gelu");
  EXPECT_EQ(parameters(imported(one_node({"BiasGelu", {{4, 8}}, {}, {{8}}, "com.microsoft"}))), 8);
}

TEST(Onnx, NormsAndReductions) {
  EXPECT_EQ(only({"LayerNormalization", {{4, 8, 16}}, {}, {{16}, {16}}}), "layernorm rows=32;cols=16");
  EXPECT_EQ(only({"LayerNormalization", {{4, 8, 16}}, {{"axis", Count{1}}}, {{8, 16}}}), "layernorm rows=4;cols=128");
  EXPECT_EQ(only({"RMSNormalization", {{4, 16}}, {}, {{16}}}), "rmsnorm rows=4;cols=16");
  EXPECT_EQ(only({"InstanceNormalization", {{2, 4, 8, 8}}, {}, {{4}, {4}}}), "layernorm rows=8;cols=64");
  EXPECT_EQ(only({"GroupNormalization", {{2, 4, 8, 8}}, {{"num_groups", Count{2}}}, {{4}, {4}}}),
            "layernorm rows=4;cols=128");
  EXPECT_EQ(
      lines(imported(one_node({"SkipSimplifiedLayerNormalization", {{4, 16}, {4, 16}}, {}, {{16}}, "com.microsoft"}))),
      (Lines{"elementwise elements=64;inputs=2", "rmsnorm rows=4;cols=16"}));
  EXPECT_EQ(only({"Softmax", {{4, 8, 16}}}), "softmax rows=32;cols=16");
  EXPECT_EQ(only({"Softmax", {{4, 8, 16}}, {{"axis", Count{1}}}}), "softmax rows=64;cols=8");
  EXPECT_EQ(only({"ReduceMean", {{4, 8, 16}}, {{"axes", std::vector<Count>{1, 2}}}}), "reduction rows=4;cols=128");
  EXPECT_EQ(only({"ArgMax", {{4, 100}}, {{"axis", Count{-1}}}}), "reduction rows=4;cols=100");
  EXPECT_EQ(only({"GlobalAveragePool", {{2, 64, 7, 7}}}), "reduction rows=128;cols=49");
  EXPECT_EQ(only({"MaxPool",
                  {{1, 64, 8, 8}},
                  {{"kernel_shape", std::vector<Count>{2, 2}}, {"strides", std::vector<Count>{2, 2}}}}),
            "reduction rows=1024;cols=4");
}

TEST(Onnx, MovementCopiesAndViewsDoNot) {
  const auto perm = [](std::vector<Count> p) { return std::vector<Attribute>{{"perm", std::move(p)}}; };
  EXPECT_EQ(only({"Transpose", {{8, 16}}, perm({1, 0})}), "copy rows=8;cols=16;transpose=1");
  EXPECT_EQ(only({"Transpose", {{2, 8, 4, 16}}, perm({0, 2, 1, 3})}), "copy elements=1024");
  EXPECT_EQ(only({"Concat", {{2, 8}, {2, 4}}, {{"axis", Count{1}}}}), "copy elements=24");
  EXPECT_EQ(only({"DepthToSpace", {{1, 16, 4, 4}}, {{"blocksize", Count{2}}}}), "copy elements=256");
  EXPECT_THAT(refused_with(one_node({"Transpose", {{1, 8, 16}}, perm({1, 0, 2})})), HasSubstr("computes nothing"));
  EXPECT_THAT(refused_with(one_node({"Flatten", {{4, 8, 16}}})), HasSubstr("computes nothing"));
}

TEST(Onnx, EmbeddingsOwnTheirTable) {
  Writer w;
  w.input("ids", {Count{2}, Count{8}}, onnx_type::kInt64);
  w.weight("table", {1000, 64});
  w.output(w.node("Gather", "embed", {"table", "ids"}));
  const Graph graph = imported(w.file());
  EXPECT_EQ(lines(graph), Lines{"embedding tokens=16;vocab=1000;cols=64"});
  EXPECT_TRUE(graph.sections[0].operators[0].weights.table);
  EXPECT_EQ(parameters(graph), 64000);
  EXPECT_EQ(graph.sections[0].tensors[0].kind, TensorKind::index);
}

TEST(Onnx, AttentionInOneOperator) {
  EXPECT_EQ(only({"Attention", {{2, 8, 32, 64}, {2, 4, 40, 64}, {2, 4, 40, 64}}, {{"is_causal", Count{1}}}}),
            "attention_prefill batch=2;q-len=32;kv-len=40;heads=8;kv-heads=4;head-dim=64");
  EXPECT_EQ(only({"MultiHeadAttention",
                  {{2, 32, 512}, {2, 32, 512}, {2, 32, 512}},
                  {{"num_heads", Count{8}}},
                  {},
                  "com.microsoft"}),
            "attention_prefill batch=2;q-len=32;kv-len=32;heads=8;kv-heads=8;head-dim=64;mask=full");
  // It projects by itself.
  EXPECT_EQ(
      lines(imported(one_node({"Attention",
                               {{2, 32, 512}},
                               {{"num_heads", Count{8}}, {"unidirectional", Count{1}}},
                               {{512, 1536}, {1536}},
                               "com.microsoft"}))),
      (Lines{"gemm m=64;n=1536;k=512", "attention_prefill batch=2;q-len=32;kv-len=32;heads=8;kv-heads=8;head-dim=64"}));
}

TEST(Onnx, GroupedQueriesAgainstACacheAreADecode) {
  Writer w;
  w.input("q", {Count{4}, Count{1}, Count{2048}}), w.input("k", {Count{4}, Count{1}, Count{512}});
  w.input("v", {Count{4}, Count{1}, Count{512}}), w.input("past_k", {Count{4}, Count{4}, "past", Count{128}});
  w.input("past_v", {Count{4}, Count{4}, "past", Count{128}});
  w.node("GroupQueryAttention", "attn", {"q", "k", "v", "past_k", "past_v"},
         {{"num_heads", Count{16}}, {"kv_num_heads", Count{4}}, {"do_rotary", Count{1}}},
         {"y", "present_k", "present_v"}, "com.microsoft");
  w.output("y").output("present_k").output("present_v");
  OnnxOptions options;
  options.dims["past"] = 1023;
  EXPECT_EQ(lines(imported(w.file(), options)),
            (Lines{"rope tokens=4;heads=16;kv-heads=4", "kv_write tokens=4;kv-heads=4",
                   "attention_decode batch=4;kv-len=1024;heads=16;kv-heads=4;page-size=0"}));
}

TEST(Onnx, PackedWeightsAreOwnedOnce) {
  // PyTorch's in_proj_weight cut in three.
  Writer w;
  w.input("x", {Count{8}, Count{64}});
  w.weight("packed", {64, 192});
  w.node("Split", "cut", {"packed"}, {{"axis", Count{1}}}, {"a", "b", "c"});
  for (const char* part : {"a", "b", "c"}) w.output(w.node("MatMul", std::string("y") + part, {"x", part}));
  const Graph graph = imported(w.file());
  EXPECT_EQ(lines(graph), (Lines(3, "gemm m=8;n=64;k=64")));
  EXPECT_EQ(parameters(graph), 64 * 192);
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
void stored(Writer& w, const std::string& name, const std::vector<Count>& dims, int type, const std::string& raw) {
  Message tensor;
  for (const Count d : dims) tensor.varint(1, static_cast<std::uint64_t>(d));
  w.graph().bytes(5, tensor.varint(2, static_cast<std::uint64_t>(type)).bytes(8, name).bytes(9, raw).text());
}

TEST(Onnx, ATableStoredTwiceIsOneTable) {
  std::vector<float> table(20 * 8), turned(20 * 8), other(20 * 8);
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t col = 0; col < 8; ++col)
      table[row * 8 + col] = turned[col * 20 + row] = static_cast<float>(row * 31 + col), other[col * 20 + row] = 1;
  for (const bool tied : {true, false}) {
    Writer w;
    w.input("ids", {Count{4}}, onnx_type::kInt64);
    stored(w, "table", {20, 8}, onnx_type::kFloat, bytes_of(table));
    stored(w, "head", {8, 20}, onnx_type::kFloat, bytes_of(tied ? turned : other));
    w.output(w.node("MatMul", "y", {w.node("Gather", "x", {"table", "ids"}), "head"}));
    EXPECT_EQ(parameters(imported(w.file())), tied ? 160 : 320);
  }
}

TEST(Onnx, AStoredTriangleIsACausalMask) {
  for (const bool triangle : {true, false}) {
    Writer w;
    for (const char* name : {"q", "kt", "v"}) w.input(name, {Count{1}, Count{2}, Count{16}, Count{16}});
    std::string mask(16 * 16, '\1');
    for (std::size_t row = 0; row < 16; ++row)
      for (std::size_t col = row + 1; col < 16; ++col) mask[row * 16 + col] = triangle ? '\0' : '\1';
    stored(w, "mask", {1, 1, 16, 16}, onnx_type::kBool, mask);
    w.number("lowest", -1e30f);
    const std::string masked = w.node("Where", "masked", {"mask", w.node("MatMul", "scores", {"q", "kt"}), "lowest"});
    w.output(w.node("MatMul", "y", {w.node("Softmax", "weights", {masked}), "v"}));
    EXPECT_EQ(lines(imported(w.file())),
              Lines{std::string("attention_prefill q-len=16;kv-len=16;heads=2;kv-heads=2;head-dim=16") +
                    (triangle ? "" : ";mask=full")});
  }
}

TEST(Onnx, PaddingsComputedByTheExporterFold) {
  // torch's F.pad: zeros and the given amounts, turned around and interleaved.
  Writer w;
  w.input("x", {Count{1}, Count{8}, Count{10}});
  w.integers("given", {3, 4}), w.integers("four", {4}), w.integers("pairs", {-1, 2}), w.integers("flat", {-1});
  w.integers("back", {-1}), w.integers("least", {-9223372036854775807}), w.integers("axis", {0});
  const std::string zeros = w.node("Cast", "zeros", {w.node("ConstantOfShape", "fill", {"four"})}, {{"to", Count{7}}});
  const std::string all = w.node("Concat", "all", {"given", zeros}, {{"axis", Count{0}}});
  const std::string rows = w.node("Reshape", "rows", {all, "pairs"});
  const std::string turned = w.node("Slice", "turned", {rows, "back", "least", "axis", "back"});
  const std::string columns = w.node("Transpose", "columns", {turned}, {{"perm", std::vector<Count>{1, 0}}});
  w.output(w.node("Pad", "y", {"x", w.node("Reshape", "pads", {columns, "flat"})}));
  EXPECT_EQ(lines(imported(w.file())), Lines{"copy elements=136"});  // 8 * (10 + 3 + 4)
}

TEST(Onnx, OpenDimensionsMustBeSet) {
  Writer w;
  w.input("x", {"batch", "", Count{8}});
  w.output(w.node("Relu", "y", {"x"}));
  EXPECT_EQ(refused_with(w.file()),
            "test.onnx: dimensions batch, x.1 have no value (say what they are: dim batch=N, dim x.1=N)");
  OnnxOptions options;
  options.dims = {{"batch", 2}, {"x.1", 3}};
  EXPECT_EQ(lines(imported(w.file(), options)), Lines{"elementwise elements=48;op=relu"});
  options.dims["bath"] = 1;
  EXPECT_EQ(refused_with(w.file(), options),
            "test.onnx: dim bath: is not an open dimension of this model (did you mean batch?)");
}

TEST(Onnx, UnknownOperatorsAreNamedOrPriced) {
  Writer w;
  w.input("x", {Count{1024}, Count{64}});
  w.inner("middle", {Count{1024}, Count{32}});
  w.node("Frobnicate", "odd", {"x"}, {}, {"middle"}, "my.ops");
  w.output(w.node("Relu", "y", {"middle"}));
  const std::string line = refused_with(w.file());
  EXPECT_THAT(line, HasSubstr("an operator is not supported: my.ops.Frobnicate"));
  EXPECT_THAT(line, HasSubstr("allow-unknown"));
  EXPECT_THAT(line, HasSubstr("ConvTranspose"));
  OnnxOptions options;
  options.allow_unknown = true;
  const Graph graph = imported(w.file(), options);
  EXPECT_EQ(lines(graph)[0], "custom ctas=32;threads=256;load-bytes=262144;store-bytes=131072");
  EXPECT_TRUE(graph.sections[0].operators[0].unknown);
  EXPECT_FALSE(graph.sections[0].operators[1].unknown);
}

TEST(Onnx, AnUnknownOperatorsResultNeedsAShape) {
  OnnxOptions options;
  options.allow_unknown = true;
  EXPECT_THAT(refused_with(one_node({"Frobnicate", {{4}}}), options), HasSubstr("run onnx.shape_inference"));
}

}  // namespace
}  // namespace tilecast
