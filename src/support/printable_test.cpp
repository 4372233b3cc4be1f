#include "support/printable.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Printable, OrdinaryTextStaysAsItIs) {
  EXPECT_EQ(printable("3.2 µs × 4, “§5” – naïve 模型"), "3.2 µs × 4, “§5” – naïve 模型");
}

TEST(Printable, WhatATerminalWouldObeyIsSpelledOut) {
  EXPECT_EQ(printable("a\x1b[31mred\x07\x7f"), "a\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(printable("a\nb\tc", true), "a\nb\\tc");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // CSI as one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gnp"),
            "\\u202egnp");  // right to left from here
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, BytesThatAreNoUtf8AreSpelledOut) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // too long a form of '/'
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
}

TEST(Printable, LongTextLosesItsMiddle) {
  EXPECT_EQ(cut("short", 10), "short");
  const std::string shown = cut(std::string(1000, 'a') + "end", 30);
  EXPECT_LE(shown.size(), 30u);
  EXPECT_TRUE(shown.starts_with("aaaa"));
  EXPECT_TRUE(shown.ends_with("end"));
  EXPECT_NE(shown.find("…"), std::string::npos);
  for (std::size_t most = 3; most < 40; ++most) {  // never half a character
    std::string wide;
    for (int i = 0; i < 30; ++i) wide += "模";
    EXPECT_EQ(printable(cut(wide, most)), cut(wide, most)) << most;
  }
}

TEST(Printable, AnErrorIsOneLineOfReadableLength) {
  const std::string line =
      printable_line({std::string(9000, 'p'), "f\nf", std::string(600000, 'x'), std::string(90000, 'r')});
  EXPECT_LT(line.size(), 3000u);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(line.ends_with("rrr)"));
}

TEST(Printable, ManyNamesAreCounted) {
  EXPECT_EQ(first_of({"a", "b"}), "a, b");
  EXPECT_EQ(first_of({"a", "b", "c"}, 2), "a, b and 1 more");
}

}  // namespace
}  // namespace tilecast
