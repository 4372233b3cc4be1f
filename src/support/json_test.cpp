#include "support/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tilecast {
namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST(Json, NestsAsDeepAsIsSensible) {
  EXPECT_TRUE(parse_json(nested(kMostJsonDepth), "f"));
  const auto deeper = parse_json(nested(kMostJsonDepth + 1), "f.json");
  ASSERT_FALSE(deeper);
  EXPECT_NE(deeper.error().line().find("f.json: nests more than"), std::string::npos);
  EXPECT_FALSE(parse_json(nested(1000000), "f"));
  EXPECT_FALSE(parse_json(std::string(1000000, '{'), "f"));
}

TEST(Json, BracketsInTextsDoNotCount) {
  const std::string brackets(10000, '[');
  EXPECT_TRUE(parse_json("[\"" + brackets + "\", \"\\\"" + brackets + "\"]", "f"));
  EXPECT_TRUE(parse_json("{\"a\\\\\": [1], \"b\": {}}", "f"));
}

TEST(Json, WhatIsNoUtf8IsReplacedNotThrown) {
  EXPECT_EQ(json_text(nlohmann::json{{"name", "\xff"}}), "{\n  \"name\": \"\xef\xbf\xbd\"\n}\n");
}

TEST(Json, AnObjectNamesAFieldOnce) {
  EXPECT_EQ(parse_json(R"({"a": 1, "b": {"a": 2}, "a": 3})", "x.json").error().line(),
            "x.json: names 'a' twice in one object (leave one of them out)");
  EXPECT_EQ(parse_json(R"([{"deep": {"k": 1, "k": 1}}])", "x.json").error().line(),
            "x.json: names 'k' twice in one object (leave one of them out)");
  EXPECT_TRUE(parse_json(R"([{"a": 1}, {"a": 2, "b": {"a": null}}])", "x.json"));
}

}  // namespace
}  // namespace tilecast
