#include "model/onnx_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/protobuf.h"

namespace tilecast {
namespace {

// Tensors of more axes than this are not ONNX's; it bounds what a malformed file can make us keep.
constexpr std::size_t kMostRank = 64;

// Reads messages and keeps the first thing that is wrong; after that nothing more is read.
class Parser {
 public:
  Parser(std::string_view file, std::string place) : file_(file), place_(std::move(place)) {}

  const std::optional<Error>& failure() const { return failure_; }
  void fail(std::string problem, std::string remedy) {
    if (!failure_) failure_ = Error{place_, "", std::move(problem), std::move(remedy)};
  }

  // Calls `use(field)` for every field of the message.
  template <class Use>
  void each(std::string_view message, Use&& use) {
    WireReader reader(message);
    while (!failure_) {
      const auto field = reader.next();
      if (!field) break;
      use(*field);
    }
    if (!reader.problem().empty())
      fail(fmt::format("is not a complete ONNX model: it {} at byte {}", reader.problem(),
                       reader.where() - file_.data()),
           "export or download it again");
  }
  std::string_view bytes(const WireField& field) {
    if (field.type == WireType::bytes) return field.bytes;
    wrong_type(field);
    return {};
  }
  std::string text(const WireField& field) { return std::string(bytes(field)); }
  Count integer(const WireField& field) {
    if (field.type != WireType::varint) wrong_type(field);
    return static_cast<Count>(field.value);
  }
  int small(const WireField& field) { return static_cast<int>(std::clamp<Count>(integer(field), 0, 1 << 20)); }
  void integers(const WireField& field, std::size_t most, std::vector<Count>& out) {
    if (!append_varints(field, most, out)) wrong_type(field);
  }
  void numbers(const WireField& field, std::size_t size, std::vector<double>& out) {
    if (!append_floats(field, size, kMostOnnxContent + 1, out)) wrong_type(field);
  }

 private:
  void wrong_type(const WireField& field) {
    fail(fmt::format("is not an ONNX model: field {} of some message has the wrong type", field.number),
         "is it an ONNX file?");
  }
  std::string_view file_;
  std::string place_;
  std::optional<Error> failure_;
};

double half_from_bits(std::uint64_t bits) {
  // Rebias the exponent by way of a float: subnormals and infinities are of no use as constants and may be inexact.
  const std::uint64_t sign = (bits >> 15) << 31, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 0) return 0;
  return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13, 4);
}

std::optional<double> element_of(std::string_view bytes, int type) {
  using namespace onnx_type;
  const std::uint64_t bits = little_endian(bytes);
  switch (type) {
    case kFloat: return float_from_bits(bits, 4);
    case kDouble: return float_from_bits(bits, 8);
    case kFloat16: return half_from_bits(bits);
    case kBfloat16: return float_from_bits(bits << 16, 4);
    case kInt64: return static_cast<double>(static_cast<std::int64_t>(bits));
    case kInt32: return static_cast<double>(static_cast<std::int32_t>(bits));
    case kInt16: return static_cast<double>(static_cast<std::int16_t>(bits));
    case kInt8: return static_cast<double>(static_cast<std::int8_t>(bits));
    case kBool:
    case kUint8:
    case kUint16:
    case kUint32:
    case kUint64: return static_cast<double>(bits);
    default: return std::nullopt;
  }
}

std::optional<std::vector<double>> elements_of(std::string_view raw, int type, std::size_t count) {
  const auto size = static_cast<std::size_t>(onnx_type::bytes(type));
  if (size == 0 || raw.size() != count * size) return std::nullopt;
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = element_of(raw.substr(i * size, size), type);
    if (!value) return std::nullopt;
    all.push_back(*value);
  }
  return all;
}

// How many elements, where there are so few that their values are kept.
std::optional<std::size_t> few_elements(const std::vector<Count>& dims) {
  std::size_t count = 1;
  for (const Count dim : dims) {
    if (dim < 0 || dim > static_cast<Count>(kMostOnnxContent)) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
    if (count > kMostOnnxContent) return std::nullopt;
  }
  return count;
}

OnnxTensor read_tensor(Parser& parser, std::string_view message) {
  OnnxTensor tensor;
  std::vector<Count> ints;
  std::vector<double> numbers;
  bool elsewhere = false;
  parser.each(message, [&](const WireField& field) {
    switch (field.number) {
      case 1: return parser.integers(field, kMostRank + 1, tensor.dims);
      case 2: return void(tensor.type = parser.small(field));
      case 4: return parser.numbers(field, 4, numbers);
      case 5:
      case 7:
      case 11: return parser.integers(field, kMostOnnxContent + 1, ints);
      case 8: return void(tensor.name = parser.text(field));
      case 9: return void(tensor.raw = parser.bytes(field));
      case 10: return parser.numbers(field, 8, numbers);
      case 14: return void(elsewhere = parser.integer(field) == 1);
      default: return;
    }
  });
  if (tensor.dims.size() > kMostRank) parser.fail("a tensor has more than 64 axes", "is it an ONNX file?");
  const auto count = few_elements(tensor.dims);
  if (!count || elsewhere || parser.failure()) return tensor;
  const bool wide = tensor.type == onnx_type::kFloat16 || tensor.type == onnx_type::kBfloat16;  // bits in int32_data
  if (!tensor.raw.empty()) tensor.content = elements_of(tensor.raw, tensor.type, *count);
  else if (numbers.size() == *count && *count > 0) tensor.content = std::move(numbers);
  else if (ints.size() == *count && !wide) tensor.content = std::vector<double>(ints.begin(), ints.end());
  return tensor;
}

OnnxAttribute read_attribute(Parser& parser, std::string_view message) {
  OnnxAttribute attribute;
  parser.each(message, [&](const WireField& field) {
    switch (field.number) {
      case 1: return void(attribute.name = parser.text(field));
      case 2:
        if (field.type != WireType::fixed32) return parser.fail("an attribute's number has the wrong type", "");
        return void(attribute.f = float_from_bits(field.value, 4));
      case 3: return void(attribute.i = parser.integer(field));
      case 4: return void(attribute.s = parser.text(field));
      case 5: return void(attribute.tensor = read_tensor(parser, parser.bytes(field)));
      case 7: return parser.numbers(field, 4, attribute.floats);
      case 8: return parser.integers(field, kMostOnnxContent + 1, attribute.ints);
      default: return;  // graphs of If and Loop among them
    }
  });
  return attribute;
}

OnnxNode read_node(Parser& parser, std::string_view message) {
  OnnxNode node;
  parser.each(message, [&](const WireField& field) {
    switch (field.number) {
      case 1: return void(node.inputs.push_back(parser.text(field)));
      case 2: return void(node.outputs.push_back(parser.text(field)));
      case 3: return void(node.name = parser.text(field));
      case 4: return void(node.op = parser.text(field));
      case 5: return void(node.attributes.push_back(read_attribute(parser, parser.bytes(field))));
      case 7: return void(node.domain = parser.text(field));
      default: return;
    }
  });
  return node;
}

OnnxDim read_dim(Parser& parser, std::string_view message) {
  OnnxDim dim;
  parser.each(message, [&](const WireField& field) {
    if (field.number == 1) dim.value = parser.integer(field);
    if (field.number == 2) dim.name = parser.text(field);
  });
  return dim;
}

// TypeProto: only tensors have a shape we can use.
void read_type(Parser& parser, std::string_view message, OnnxDeclared& declared) {
  parser.each(message, [&](const WireField& type) {
    if (type.number != 1) return;
    parser.each(parser.bytes(type), [&](const WireField& field) {
      if (field.number == 1) declared.type = parser.small(field);
      if (field.number != 2) return;
      declared.dims.emplace();
      parser.each(parser.bytes(field), [&](const WireField& dim) {
        if (dim.number == 1 && declared.dims->size() < kMostRank)
          declared.dims->push_back(read_dim(parser, parser.bytes(dim)));
      });
    });
  });
}

OnnxDeclared read_declared(Parser& parser, std::string_view message) {
  OnnxDeclared declared;
  parser.each(message, [&](const WireField& field) {
    if (field.number == 1) declared.name = parser.text(field);
    if (field.number == 2) read_type(parser, parser.bytes(field), declared);
  });
  return declared;
}

void read_graph(Parser& parser, std::string_view message, OnnxFile& file) {
  parser.each(message, [&](const WireField& field) {
    switch (field.number) {
      case 1: return void(file.nodes.push_back(read_node(parser, parser.bytes(field))));
      case 2: return void(file.name = parser.text(field));
      case 5: return void(file.initializers.push_back(read_tensor(parser, parser.bytes(field))));
      case 11: return void(file.inputs.push_back(read_declared(parser, parser.bytes(field))));
      case 12: return void(file.outputs.push_back(read_declared(parser, parser.bytes(field))));
      case 13: return void(file.inner.push_back(read_declared(parser, parser.bytes(field))));
      default: return;
    }
  });
}

void read_opset(Parser& parser, std::string_view message, OnnxFile& file) {
  std::string domain;
  Count version = 0;
  parser.each(message, [&](const WireField& field) {
    if (field.number == 1) domain = parser.text(field);
    if (field.number == 2) version = parser.integer(field);
  });
  if (domain.empty() || domain == "ai.onnx") file.opset = version;
}

std::string read_function_name(Parser& parser, std::string_view message) {
  std::string name;
  parser.each(message, [&](const WireField& field) {
    if (field.number == 1) name = parser.text(field);
  });
  return name;
}

}  // namespace

namespace onnx_type {

bool is_float(int type) {
  return type == kFloat || type == kFloat16 || type == kDouble || type == kBfloat16 ||
         (type >= kFloat8First && type <= kFloat8Last) || type == kFloat4;
}

double bytes(int type) {
  switch (type) {
    case kDouble:
    case kInt64:
    case kUint64: return 8;
    case kFloat:
    case kInt32:
    case kUint32: return 4;
    case kFloat16:
    case kBfloat16:
    case kInt16:
    case kUint16: return 2;
    case kUint4:
    case kInt4:
    case kFloat4: return 0.5;
    default: return 1;
  }
}

}  // namespace onnx_type

std::optional<double> OnnxTensor::element(Count index) const {
  const auto size = static_cast<std::size_t>(onnx_type::bytes(type));
  if (index < 0 || size == 0 || static_cast<std::size_t>(index) >= raw.size() / size) return std::nullopt;
  return element_of(raw.substr(static_cast<std::size_t>(index) * size, size), type);
}

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  for (const OnnxAttribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}
Count OnnxNode::integer(std::string_view attribute, Count otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a ? a->i : otherwise;
}
double OnnxNode::number(std::string_view attribute, double otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a ? a->f : otherwise;
}
std::string_view OnnxNode::text(std::string_view attribute, std::string_view otherwise) const {
  const OnnxAttribute* a = find(attribute);
  return a ? std::string_view(a->s) : otherwise;
}
std::vector<Count> OnnxNode::integers(std::string_view attribute) const {
  const OnnxAttribute* a = find(attribute);
  return a ? a->ints : std::vector<Count>{};
}

Result<OnnxFile> parse_onnx(std::string_view bytes, const std::string& place) {
  Parser parser(bytes, place);
  OnnxFile file;
  bool graph = false;
  parser.each(bytes, [&](const WireField& field) {
    if (field.number == 7) graph = true, read_graph(parser, parser.bytes(field), file);
    if (field.number == 8) read_opset(parser, parser.bytes(field), file);
    if (field.number == 25) file.functions.push_back(read_function_name(parser, parser.bytes(field)));
  });
  if (!graph) parser.fail("holds no graph", "is it an ONNX file?");
  if (file.nodes.empty()) parser.fail("holds a graph without nodes", "is it an ONNX model?");
  if (file.outputs.empty()) parser.fail("declares no outputs", "export it again");
  if (parser.failure()) return *parser.failure();
  return file;
}

}  // namespace tilecast
