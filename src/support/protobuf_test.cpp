#include "support/protobuf.h"

#include <gtest/gtest.h>

#include <string>

namespace tilecast {
namespace {

using namespace std::string_view_literals;

std::string_view problem_of(std::string_view bytes) {
  WireReader reader(bytes);
  while (reader.next()) {
  }
  return reader.problem();
}

TEST(Protobuf, FieldsOfEveryType) {
  // The examples of the format's own documentation: 150 as field 1, "testing" as field 2; then a float and a double.
  WireReader reader("\x08\x96\x01\x12\x07testing\x1d\x00\x00\xc0\x3f\x21\x00\x00\x00\x00\x00\x00\x04\x40"sv);
  auto field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 1u);
  EXPECT_EQ(field->value, 150u);
  field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->type, WireType::bytes);
  EXPECT_EQ(field->bytes, "testing");
  field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(float_from_bits(field->value, 4), 1.5);
  field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(float_from_bits(field->value, 8), 2.5);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.problem(), "");
}

TEST(Protobuf, NumbersOfSixtyFourBits) {
  WireReader reader("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
  const auto field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(static_cast<std::int64_t>(field->value), -1);
}

TEST(Protobuf, SaysWhatIsWrong) {
  EXPECT_EQ(problem_of("\x08"sv), "ends within a number");
  EXPECT_EQ(problem_of("\x08\x96"sv), "ends within a number");
  EXPECT_EQ(problem_of("\x12\x07test"sv), "ends before a field does");
  EXPECT_EQ(problem_of("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv), "ends before a field does");
  EXPECT_EQ(problem_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv), "holds a number of more than 64 bits");
  EXPECT_EQ(problem_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv), "holds a number of more than 64 bits");
  EXPECT_EQ(problem_of("\x1d\x00\x00"sv), "ends within a number");
  EXPECT_EQ(problem_of("\x00"sv), "has a field number out of range");
  EXPECT_EQ(problem_of("\x0b"sv), "has a field of an unknown wire type");
}

TEST(Protobuf, RepeatedNumbersPackedOrNot) {
  std::vector<Count> counts;
  EXPECT_TRUE(append_varints({4, WireType::bytes, 0, "\x03\x8e\x02\x9e\xa7\x05"sv}, 10, counts));
  EXPECT_TRUE(append_varints({4, WireType::varint, 7, {}}, 10, counts));
  EXPECT_EQ(counts, (std::vector<Count>{3, 270, 86942, 7}));
  EXPECT_TRUE(append_varints({4, WireType::bytes, 0, "\x01\x02"sv}, 5, counts));
  EXPECT_EQ(counts.size(), 5u) << "no more than asked for";
  EXPECT_FALSE(append_varints({4, WireType::bytes, 0, "\x80"sv}, 10, counts));
  EXPECT_FALSE(append_varints({4, WireType::fixed32, 0, {}}, 10, counts));
  std::vector<double> numbers;
  EXPECT_TRUE(append_floats({4, WireType::bytes, 0, "\x00\x00\xc0\x3f\x00\x00\x00\x40"sv}, 4, 10, numbers));
  EXPECT_EQ(numbers, (std::vector<double>{1.5, 2}));
  EXPECT_FALSE(append_floats({4, WireType::bytes, 0, "\x00\x00\xc0"sv}, 4, 10, numbers));
}

TEST(Protobuf, WrittenAsRead) {
  WireWriter writer;
  const std::vector<std::uint64_t> list = {3, 270, 86942};
  writer.varint(1, 150).bytes(2, "testing").packed(6, list).packed(7, {});
  // The format's own documentation, "Simple", "Length-Delimited" and "Packed Repeated Fields".
  EXPECT_EQ(writer.message(), "\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05"sv);
  for (const std::uint64_t value : {0ull, 1ull, 127ull, 128ull, 16383ull, 16384ull, 1ull << 63, ~0ull}) {
    WireWriter one;
    one.varint(300, value);
    WireReader reader(one.message());
    const auto field = reader.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->number, 300u);
    EXPECT_EQ(field->value, value);
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.problem(), "");
  }
}

TEST(Protobuf, MessagesOneAfterTheOther) {
  std::string file;
  const std::string large(300, 'x');
  for (const std::string_view message : {"abc"sv, ""sv, std::string_view(large)}) append_delimited(file, message);
  std::string_view rest = file;
  EXPECT_EQ(take_delimited(rest), "abc");
  EXPECT_EQ(take_delimited(rest), "");
  EXPECT_EQ(take_delimited(rest), large);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(take_delimited(rest));
  rest = std::string_view(file).substr(0, file.size() - 1);
  EXPECT_TRUE(take_delimited(rest));
  EXPECT_TRUE(take_delimited(rest));
  EXPECT_FALSE(take_delimited(rest));
}

}  // namespace
}  // namespace tilecast
