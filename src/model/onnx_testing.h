// Writes ONNX files in memory, for tests: just enough of the format to make what exporters make, without weights.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/onnx_file.h"

namespace tilecast::onnx_testing {

// One message's bytes.
class Message {
 public:
  Message& varint(int field, std::uint64_t value) { return tag(field, 0), raw_varint(value), *this; }
  Message& bytes(int field, std::string_view value) {
    tag(field, 2), raw_varint(value.size());
    text_ += value;
    return *this;
  }
  Message& float32(int field, float value) {
    tag(field, 5);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& tag(int field, int type) {
    return raw_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type)), *this;
  }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using Dim = std::variant<Count, std::string>;  // a size, or a name to be set later
using Attribute = std::pair<std::string, std::variant<Count, double, std::string, std::vector<Count>>>;

class Writer {
 public:
  Writer& input(const std::string& name, const std::vector<Dim>& dims, int type = onnx_type::kFloat) {
    graph_.bytes(11, declared(name, dims, type));
    return *this;
  }
  Writer& output(const std::string& name) {
    graph_.bytes(12, Message().bytes(1, name).text());
    return *this;
  }
  // States the shape of an inner value.
  Writer& inner(const std::string& name, const std::vector<Dim>& dims, int type = onnx_type::kFloat) {
    graph_.bytes(13, declared(name, dims, type));
    return *this;
  }
  // A weight whose elements lie elsewhere.
  std::string weight(const std::string& name, const std::vector<Count>& dims, int type = onnx_type::kFloat) {
    Message tensor = tensor_of(name, dims, type);
    graph_.bytes(5, tensor.varint(14, 1).text());
    return name;
  }
  std::string integers(const std::string& name, const std::vector<Count>& values, bool scalar = false) {
    Message packed,
        tensor = tensor_of(name, scalar ? std::vector<Count>{} : std::vector<Count>{static_cast<Count>(values.size())},
                           onnx_type::kInt64);
    for (const Count v : values) packed.raw_varint(static_cast<std::uint64_t>(v));
    graph_.bytes(5, tensor.bytes(7, packed.text()).text());
    return name;
  }
  std::string number(const std::string& name, float value) {
    Message tensor = tensor_of(name, {}, onnx_type::kFloat);
    graph_.bytes(5, tensor.bytes(9, {reinterpret_cast<const char*>(&value), sizeof value}).text());
    return name;
  }
  // Returns the name of its first output; `name` is the node's and, without outputs, its output's.
  std::string node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, std::vector<std::string> outputs = {},
                   const std::string& domain = "") {
    if (outputs.empty()) outputs = {name};
    Message node;
    for (const std::string& input : inputs) node.bytes(1, input);
    for (const std::string& output : outputs) node.bytes(2, output);
    node.bytes(3, name).bytes(4, op);
    for (const Attribute& a : attributes) node.bytes(5, attribute(a));
    if (!domain.empty()) node.bytes(7, domain);
    graph_.bytes(1, node.text());
    return outputs.front();
  }
  Message& graph() { return graph_; }
  std::string file(const std::string& name = "test", Count opset = 17) const {
    Message graph = graph_;
    graph.bytes(2, name);
    Message model;
    model.varint(1, 8).bytes(8, Message().varint(2, static_cast<std::uint64_t>(opset)).text()).bytes(7, graph.text());
    return model.text();
  }

 private:
  static Message tensor_of(const std::string& name, const std::vector<Count>& dims, int type) {
    Message tensor;
    for (const Count d : dims) tensor.varint(1, static_cast<std::uint64_t>(d));
    tensor.varint(2, static_cast<std::uint64_t>(type)).bytes(8, name);
    return tensor;
  }
  static std::string declared(const std::string& name, const std::vector<Dim>& dims, int type) {
    Message shape;
    for (const Dim& d : dims) {
      Message dim;
      if (const auto* size = std::get_if<Count>(&d)) dim.varint(1, static_cast<std::uint64_t>(*size));
      else if (const auto& text = std::get<std::string>(d); !text.empty()) dim.bytes(2, text);
      shape.bytes(1, dim.text());
    }
    Message tensor;
    tensor.varint(1, static_cast<std::uint64_t>(type)).bytes(2, shape.text());
    return Message().bytes(1, name).bytes(2, Message().bytes(1, tensor.text()).text()).text();
  }
  static std::string attribute(const Attribute& a) {
    Message message;
    message.bytes(1, a.first);
    if (const auto* i = std::get_if<Count>(&a.second)) message.varint(3, static_cast<std::uint64_t>(*i)).varint(20, 2);
    else if (const auto* f = std::get_if<double>(&a.second)) message.float32(2, static_cast<float>(*f)).varint(20, 1);
    else if (const auto* s = std::get_if<std::string>(&a.second)) message.bytes(4, *s).varint(20, 3);
    else {
      for (const Count i : std::get<std::vector<Count>>(a.second)) message.varint(8, static_cast<std::uint64_t>(i));
      message.varint(20, 7);
    }
    return message.text();
  }
  Message graph_;
};

// The sizes of the two transformers below, as exporters write them out operator by operator.
struct TransformerSizes {
  Count batch = 2, seq = 16;
  Count layers = 1, hidden = 64, heads = 4, kv_heads = 4, inter = 256, vocab = 100, positions = 32;
};

// GPT-2: learned positions, LayerNorm, one projection for queries, keys and values, biases, the tanh form of GELU, a
// head that shares the embedding. Attention masks by a choice (Where).
std::string gpt2_onnx(const TransformerSizes& sizes);
// Llama: RMSNorm, rotary embedding, grouped keys repeated by Expand, a mask that is added, gated SiLU. `batch` and
// `sequence` are dynamic dimensions.
std::string llama_onnx(const TransformerSizes& sizes);
// ResNet with bottleneck blocks: `blocks` of each of the four stages ({3, 4, 6, 3} is ResNet-50).
std::string resnet_onnx(Count batch, Count image, const std::vector<Count>& blocks);

}  // namespace tilecast::onnx_testing
