#include "support/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

namespace tilecast {
namespace {

using Theirs = nlohmann::ordered_json;

TEST(JsonValue, BracesMakeObjectsAndArrays) {
  EXPECT_EQ((Json{{"a", 1}, {"b", {1.5, 2.25}}}).dump(), R"({"a":1,"b":[1.5,2.25]})");
  EXPECT_EQ((Json{1, "two", nullptr, true}).dump(), R"([1,"two",null,true])");
  EXPECT_EQ((Json{{"only", "one"}}).dump(), R"({"only":"one"})");
  EXPECT_EQ((Json{{"nested", {{"x", 1}, {"y", {{"z", Json::array()}}}}}}).dump(), R"({"nested":{"x":1,"y":{"z":[]}}})");
  EXPECT_EQ((Json{{"a", 1}, {"b"}}).dump(), R"([["a",1],["b"]])") << "not every part is a pair";
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_EQ(Json::object().dump(2), "{}");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).dump(), R"(["a","b"])");
  EXPECT_EQ(Json(std::map<std::string, double>{{"x", 0.5}}).dump(), R"({"x":0.5})");
}

TEST(JsonValue, MembersKeepTheirOrderAndTheirPlace) {
  Json json{{"z", 1}, {"a", 2}};
  json["m"].push_back(3);
  json["z"] = 4;
  EXPECT_EQ(json.dump(), R"({"z":4,"a":2,"m":[3]})");
  json.update(Json{{"a", 5}, {"n", 6}});
  json.erase("z");
  EXPECT_EQ(json.dump(), R"({"a":5,"m":[3],"n":6})");
  EXPECT_TRUE(json.contains("m"));
  EXPECT_FALSE(json.contains("z"));
  EXPECT_EQ(json.size(), 3u);
  json["m"].back() = "last";
  EXPECT_EQ(json["m"].dump(), R"(["last"])");
}

// The same braces, written by nlohmann: every view that changes its type prints what it printed.
template <class J>
J sample() {
  J json{{"name", "tile \"x\"\n\t\\ \x01 µs"},
         {"whole", 5.0},
         {"counts", {1, 2, 3}},
         {"large", std::uint64_t{18446744073709551615u}},
         {"least", std::numeric_limits<std::int64_t>::min()},
         {"on", true},
         {"none", nullptr},
         {"empty", {{"list", J::array()}, {"object", J::object()}}},
         {"view", std::string_view("view")}};
  J list = J::array();
  for (int i = 0; i < 3; ++i) list.push_back({{"i", i}, {"half", i / 2.0}});
  json["list"] = list;
  json["grown"]["deep"] = 1.5f;
  return json;
}

TEST(JsonValue, PrintsAsNlohmannDoes) {
  for (const int indent : {-1, 0, 1, 2, 4}) EXPECT_EQ(sample<Json>().dump(indent), sample<Theirs>().dump(indent));
  EXPECT_EQ(json_text(sample<Json>()), sample<Theirs>().dump(2) + "\n");
}

TEST(JsonValue, DoublesReadBackTheSame) {
  const std::vector<std::pair<double, std::string>> cases = {{0.0, "0.0"},
                                                             {-0.0, "-0.0"},
                                                             {1.0, "1.0"},
                                                             {-2.5, "-2.5"},
                                                             {100000.0, "100000.0"},
                                                             {0.1, "0.1"},
                                                             {0.0001, "0.0001"},
                                                             {0.00012345, "0.00012345"},
                                                             {0.00001, "1e-05"},
                                                             {123456.789, "123456.789"},
                                                             {999999999999999.0, "999999999999999.0"},
                                                             {1e15, "1e+15"},
                                                             {3.35e12, "3350000000000.0"},
                                                             {1.5e300, "1.5e+300"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(Json(value).dump(), text);
    EXPECT_EQ(Theirs(value).dump(), text);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(Theirs::parse(Json(value).dump()).get<double>(), value);
  }
  for (const double none : {std::nan(""), HUGE_VAL, -HUGE_VAL}) EXPECT_EQ(Json(none).dump(), "null");
}

TEST(JsonValue, TextsFromOutsideCannotBreakIt) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "µ€😀";
  EXPECT_EQ(Theirs::parse(Json(all).dump()).get<std::string>(), all);
  EXPECT_EQ(Json(all).dump(), Theirs(all).dump());
  for (const std::string bad : {"a\xff"
                                "b",
                                "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xc0\xaf", "\x80"}) {
    const std::string text = Json(bad).dump();
    EXPECT_THAT(text, testing::HasSubstr("\xef\xbf\xbd"));
    EXPECT_TRUE(Theirs::accept(text)) << text;
  }
  EXPECT_EQ(Json("a\xff"
                 "b")
                .dump(),
            "\"a\xef\xbf\xbd"
            "b\"");
}

}  // namespace
}  // namespace tilecast
