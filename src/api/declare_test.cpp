#include "api/declare.h"

#include "api/arguments_testing.h"
#include "tilecast/forecast.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

TEST(Declare, SizesAsNcclTestsReadThem) {
  const Argument about{.name = "bytes"};
  const auto size = [&](const char* text) { return in_bytes(*size_value(about, text)); };
  EXPECT_DOUBLE_EQ(size("256"), 256);
  EXPECT_DOUBLE_EQ(size("64K"), 65536);
  EXPECT_DOUBLE_EQ(size("1.5m"), 1572864);
  EXPECT_DOUBLE_EQ(size("2G"), 2147483648.0);
  for (const char* bad : {"", "K", "x", "-1", "9999999G", "nan", "1 K"})
    EXPECT_FALSE(size_value(about, bad).ok()) << bad;
}

// One grammar for all arguments; support/amount_test.cpp has the rest of it.
TEST(Declare, NumbersTakeSuffixes) {
  const Argument about{.name = "seq", .example = "2048"};
  EXPECT_EQ(*count_value(about, "8k"), 8000);
  EXPECT_EQ(*count_value(about, "8Ki"), 8192);
  EXPECT_EQ(*number_value(about, "2.5B"), 2.5e9);
  EXPECT_EQ(line_of(count_value(about, "8K")),
            "seq: must be a whole number, not '8K' (8k for thousands, 8Ki for 1024s)");
  EXPECT_EQ(line_of(count_value(about, "many")), "seq: must be a whole number, not 'many' (for example 2048)");
  EXPECT_EQ(number_text(1e12), "1T");  // and reads back
  EXPECT_EQ(size_text(bytes(1e9)), "1000000000");
}

struct Asked {
  std::string name;
  Count count = 1;
  double number = 0.5;
  std::optional<Bytes> size;
  std::vector<Count> counts;
};
std::vector<BoundArgument> arguments_of(Asked& q) {
  Declare list;
  list.add(q.name, {.name = "name", .help = "h", .example = "x", .required = true});
  list.add(q.count, {.name = "count", .help = "h", .example = "2", .least = 1, .most = 8});
  list.add(q.number, {.name = "number", .help = "h", .example = "0.25", .least = 0, .most = 1});
  list.add(q.size, {.name = "size", .help = "h", .example = "64K"});
  list.add(q.counts, {.name = "counts", .help = "h", .example = "1,2", .least = 1});
  return list.take();
}

TEST(Declare, WhatIsAssignedIsCheckedAsWhatIsRead) {
  const Asked fine{"x", 8, 1, bytes(1000.5), {1, 2}};
  EXPECT_TRUE(check_arguments(fine).ok());
  const auto line = [&](auto&& change) {
    Asked query = fine;
    change(query);
    return line_of(check_arguments(query));
  };
  EXPECT_THAT(line([](Asked& q) { q.name = ""; }), HasSubstr("name: is missing (for example x)"));
  EXPECT_THAT(line([](Asked& q) { q.count = 9; }), HasSubstr("count: must lie between 1 and 8, not 9"));
  EXPECT_THAT(line([](Asked& q) { q.number = std::nan(""); }), HasSubstr("number: must be a number"));
  EXPECT_THAT(line([](Asked& q) { q.number = 1.5; }), HasSubstr("number: must lie between 0 and 1"));
  EXPECT_THAT(line([](Asked& q) { q.size = bytes(-1); }), HasSubstr("size: is not a size"));
  EXPECT_THAT(line([](Asked& q) { q.counts = {2, 0}; }), HasSubstr("counts: must be at least 1, not 0"));
  expect_round_trip(fine);
}

struct Open {
  std::optional<Warmth> warmth;
  std::optional<Count> count;
  std::vector<std::string> names;
  bool kept = true;
};
std::vector<BoundArgument> arguments_of(Open& q) {
  Declare list;
  list.add(q.warmth, {.name = "warmth", .help = "h", .example = "cold"});
  list.add(q.count, {.name = "count", .help = "h", .example = "2", .least = 1});
  list.add(q.names, {.name = "names", .help = "h", .example = "a,b"});
  list.add_opposite(q.kept, {.name = "no-keeping", .help = "h"});
  return list.take();
}

TEST(Declare, WhatIsNotGivenReadsBackAsSuch) {
  expect_round_trip(Open{});
  expect_round_trip(Open{Warmth::cold, 3, {"a", "b"}, false});
  Open query{Warmth::cold, 3, {"a"}, false};
  for (const BoundArgument& argument : arguments_of(query))
    if (argument.about.kind != ArgumentKind::yes_no) {
      EXPECT_TRUE(argument.set("").ok()) << argument.about.name;
    }
  EXPECT_FALSE(query.warmth || query.count);
  EXPECT_TRUE(query.names.empty());
  EXPECT_EQ(refusal_of<Open>("warmth", "hot"), "warmth: must be model, warm or cold, not 'hot' (for example cold)");
}

TEST(Declare, AnOppositeSwitchesOff) {
  Open query;
  const auto arguments = arguments_of(query);
  EXPECT_TRUE(set_argument(arguments, "no-keeping", "yes").ok());
  EXPECT_FALSE(query.kept);
  EXPECT_EQ(arguments.back().get(), "yes");
  EXPECT_TRUE(set_argument(arguments, "no-keeping", "no").ok());
  EXPECT_TRUE(query.kept);
}

TEST(Declare, ArgumentsByName) {
  Asked query;
  EXPECT_TRUE(set_argument(arguments_of(query), "count", "3").ok());
  EXPECT_EQ(query.count, 3);
  EXPECT_THAT(line_of(set_argument(arguments_of(query), "cuont", "3")), HasSubstr("cuont: is not an argument"));
}

}  // namespace
}  // namespace tilecast
