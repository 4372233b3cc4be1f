#include "support/protobuf.h"

#include <bit>

namespace tilecast {
namespace {

// Removes a number of seven bits per byte, lowest first, from the front; otherwise says what is wrong with it.
std::optional<std::uint64_t> take_varint(std::string_view& rest, std::string_view& problem) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) return problem = "ends within a number", std::nullopt;
    const auto byte = static_cast<unsigned char>(rest.front());
    if (shift == 63 && byte > 1) break;
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return problem = "holds a number of more than 64 bits", std::nullopt;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_tag(std::string& out, std::uint32_t number, WireType type) {
  put_varint(out, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
}

}  // namespace

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

std::optional<std::uint64_t> WireReader::varint() { return take_varint(rest_, problem_); }

std::optional<std::uint64_t> WireReader::fixed(std::size_t size) {
  if (rest_.size() < size) return fail("ends within a number");
  const std::uint64_t value = little_endian(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return value;
}

std::optional<WireField> WireReader::next() {
  if (rest_.empty() || !problem_.empty()) return std::nullopt;
  const auto tag = varint();
  if (!tag) return std::nullopt;
  // The format allows 29 bits for a field's number.
  if (*tag >> 3 == 0 || *tag >> 32 != 0) return fail("has a field number out of range");
  WireField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  std::optional<std::uint64_t> value;
  switch (*tag & 7) {
    case 0: field.type = WireType::varint, value = varint(); break;
    case 1: field.type = WireType::fixed64, value = fixed(8); break;
    case 5: field.type = WireType::fixed32, value = fixed(4); break;
    case 2:
      field.type = WireType::bytes, value = varint();
      if (value && *value > rest_.size()) return fail("ends before a field does");
      if (value) field.bytes = rest_.substr(0, *value), rest_.remove_prefix(*value);
      break;
    default: return fail("has a field of an unknown wire type");
  }
  if (!value) return std::nullopt;
  field.value = *value;
  return field;
}

WireWriter& WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  put_tag(message_, number, WireType::varint);
  put_varint(message_, value);
  return *this;
}

WireWriter& WireWriter::bytes(std::uint32_t number, std::string_view value) {
  put_tag(message_, number, WireType::bytes);
  append_delimited(message_, value);
  return *this;
}

WireWriter& WireWriter::packed(std::uint32_t number, std::span<const std::uint64_t> values) {
  if (values.empty()) return *this;
  std::string numbers;
  for (const std::uint64_t v : values) put_varint(numbers, v);
  return bytes(number, numbers);
}

void append_delimited(std::string& out, std::string_view message) {
  put_varint(out, message.size());
  out += message;
}

std::optional<std::string_view> take_delimited(std::string_view& rest) {
  std::string_view problem;
  const auto size = take_varint(rest, problem);
  if (!size || *size > rest.size()) return std::nullopt;
  const std::string_view message = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return message;
}

bool append_varints(const WireField& field, std::size_t most, std::vector<Count>& out) {
  if (field.type == WireType::varint) {
    if (out.size() < most) out.push_back(static_cast<Count>(field.value));
    return true;
  }
  if (field.type != WireType::bytes) return false;
  std::string_view rest = field.bytes, problem;
  while (!rest.empty() && out.size() < most) {
    const auto value = take_varint(rest, problem);
    if (!value) return false;
    out.push_back(static_cast<Count>(*value));
  }
  return true;
}

bool append_floats(const WireField& field, std::size_t size, std::size_t most, std::vector<double>& out) {
  if (field.type == (size == 4 ? WireType::fixed32 : WireType::fixed64)) {
    if (out.size() < most) out.push_back(float_from_bits(field.value, size));
    return true;
  }
  if (field.type != WireType::bytes || field.bytes.size() % size != 0) return false;
  for (std::size_t at = 0; at < field.bytes.size() && out.size() < most; at += size)
    out.push_back(float_from_bits(little_endian(field.bytes.substr(at, size)), size));
  return true;
}

double float_from_bits(std::uint64_t bits, std::size_t size) {
  return size == 4 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                   : std::bit_cast<double>(bits);
}

}  // namespace tilecast
