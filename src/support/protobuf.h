// The wire format of protocol buffers, read field by field without copying: a message is a sequence of (number, type,
// value), and unneeded fields are skipped. Nested messages are read by giving a field's bytes to another reader.
//
//   for (WireReader reader(message); auto field = reader.next();)
//     if (field->number == 2 && field->type == WireType::bytes) name = field->bytes;
//
// Written the same way, a message inside another as its bytes:
//
//   WireWriter writer;
//   writer.varint(1, 150).bytes(2, "testing");
//   save(writer.message());
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/units.h"

namespace tilecast {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // of the numeric types
  std::string_view bytes;   // of `bytes`: a text, a message or packed numbers
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  // The next field; empty at the end or if the bytes are not a message.
  std::optional<WireField> next();
  // What is wrong with the bytes (empty if nothing), and at which byte.
  std::string_view problem() const { return problem_; }
  const char* where() const { return rest_.data(); }

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t size);
  std::nullopt_t fail(std::string_view problem) { return problem_ = problem, std::nullopt; }

  std::string_view rest_;
  std::string_view problem_;
};

// Fields are written in the order of the calls; other writers use the order of their numbers.
class WireWriter {
 public:
  // Of the types int32, int64, uint32, uint64, bool and enum; negative numbers as two's complement.
  WireWriter& varint(std::uint32_t number, std::uint64_t value);
  WireWriter& bytes(std::uint32_t number, std::string_view value);  // a text or a message
  WireWriter& packed(std::uint32_t number, std::span<const std::uint64_t> values);
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};
// A message of a file of several: its length, then its bytes.
void append_delimited(std::string& out, std::string_view message);
// Removes such a message from the front; empty if there is none.
std::optional<std::string_view> take_delimited(std::string_view& rest);

// Appends a repeated number's field, packed or single, until there are `most` of them. False: not a number's bytes.
bool append_varints(const WireField& field, std::size_t most, std::vector<Count>& out);
// Floats (`size` 4) or doubles (8).
bool append_floats(const WireField& field, std::size_t size, std::size_t most, std::vector<double>& out);

// A number of up to eight bytes as the wire has it, lowest first; a float or double of such bits.
std::uint64_t little_endian(std::string_view bytes);
double float_from_bits(std::uint64_t bits, std::size_t size);

}  // namespace tilecast
