// What an ONNX file says, as plain values: nodes, attributes, shapes and types, and the contents of small constants.
// Weights stay in the file.
//
// Field numbers are those of onnx.proto (github.com/onnx/onnx), which never change; unknown fields are skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

// TensorProto.DataType, as far as they are distinguished.
namespace onnx_type {
inline constexpr int kFloat = 1, kUint8 = 2, kInt8 = 3, kUint16 = 4, kInt16 = 5, kInt32 = 6, kInt64 = 7, kString = 8,
                     kBool = 9, kFloat16 = 10, kDouble = 11, kUint32 = 12, kUint64 = 13, kBfloat16 = 16,
                     kFloat8First = 17, kFloat8Last = 20, kUint4 = 21, kInt4 = 22, kFloat4 = 23;
bool is_float(int type);
// Of one element, as the file stores it.
double bytes(int type);
}  // namespace onnx_type

// Contents of more elements than this are never shapes, and are not read.
inline constexpr std::size_t kMostOnnxContent = 4096;

struct OnnxTensor {
  std::string name;
  std::vector<Count> dims;
  int type = 0;
  // All elements, if they are few, numeric and in this file.
  std::optional<std::vector<double>> content;
  // All elements as stored in the file, if they are: a view of its bytes.
  std::string_view raw;

  // One element of `raw`, by index; empty if it is not there.
  std::optional<double> element(Count index) const;
};

struct OnnxAttribute {
  std::string name;
  double f = 0;
  Count i = 0;
  std::string s;
  // The first kMostOnnxContent of each.
  std::vector<Count> ints;
  std::vector<double> floats;
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  // an empty name: absent
  std::vector<OnnxAttribute> attributes;

  const OnnxAttribute* find(std::string_view attribute) const;
  Count integer(std::string_view attribute, Count otherwise) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string_view text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<Count> integers(std::string_view attribute) const;
};

struct OnnxDim {
  Count value = -1;  // -1: not fixed
  std::string name;  // of one that is not, if it has a name
};
struct OnnxDeclared {
  std::string name;
  int type = 0;
  std::optional<std::vector<OnnxDim>> dims;  // nothing: not a tensor, or of unknown rank
};

struct OnnxFile {
  std::string name;
  Count opset = 0;  // of the standard operators
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxDeclared> inputs, outputs, inner;
  std::vector<std::string> functions;  // names of what the file defines itself
};

// Rejects anything that is not an ONNX model, including a truncated one, with a one-line error that names `place`.
// `bytes` must outlive the result.
Result<OnnxFile> parse_onnx(std::string_view bytes, const std::string& place);

}  // namespace tilecast
