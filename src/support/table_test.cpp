#include "support/table.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

TEST(Table, NumbersStandRightAndWordsLeft) {
  Table table({{"GPU", Align::left}, {"forecast"}, {"limited by", Align::left}});
  table.add({"H100-SXM", "212 µs", "dram"});
  table.add({"B200", "1.04 ms", "l2"});
  EXPECT_EQ(table.text(),
            "GPU       forecast  limited by\n"
            "H100-SXM    212 µs  dram\n"
            "B200       1.04 ms  l2\n");
}

TEST(Table, IndentsAndKeepsNoTrailingSpaces) {
  Table table({{"a", Align::left}, {"long title", Align::left}});
  table.add({"wide cell", ""});
  EXPECT_EQ(table.text(2), "  a          long title\n  wide cell\n");
}

TEST(Table, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(display_width("212 µs"), 6u);
  EXPECT_EQ(display_width("1.00×"), 5u);
  EXPECT_EQ(display_width(""), 0u);
}

TEST(Table, MarkdownMarksColumnsOfNumbers) {
  Table table({"family"}, {"rows", "mean"});
  table.add({"gemm", "6000", "9.1 %"});
  EXPECT_EQ(table.markdown(),
            "| family | rows | mean |\n"
            "|---|---:|---:|\n"
            "| gemm | 6000 | 9.1 % |\n"
            "\n");
}

}  // namespace
}  // namespace tilecast
