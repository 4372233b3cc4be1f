#include "cli/terminal/colour.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/terminal/marked_text.h"
#include "support/table.h"

namespace tilecast {
namespace {

TEST(Colour, PaintsMarksOrDropsThem) {
  const std::string text = "fits " + fits_text(false) + " " + fits_text(true);
  EXPECT_EQ(painted(text, false), "fits no yes");
  EXPECT_EQ(painted(text, true), "fits \x1b[31mno\x1b[0m yes");
  EXPECT_EQ(painted(marked(Mark::heading, "a") + marked(Mark::caution, "b") + marked(Mark::faint, "c"), true),
            "\x1b[1ma\x1b[0m\x1b[33mb\x1b[0m\x1b[2mc\x1b[0m");
  EXPECT_EQ(marked(Mark::bad, ""), "");
}

TEST(Colour, SpellsOutWhatOthersWrote) {
  EXPECT_EQ(painted("a\x1b[31mb\n", true), "a\\x1b[31mb\n");
  EXPECT_EQ(painted("\xef\xb7", false), "\\xef\\xb7");  // half a mark
}

TEST(Colour, TakesNoRoomInTables) {
  Table plain({{"fits", Align::left}, {"n"}}), coloured({{"fits", Align::left}, {"n"}});
  plain.add({"no", "1"}), plain.add({"yes", "22"});
  coloured.add({fits_text(false), "1"}), coloured.add({fits_text(true), "22"});
  EXPECT_EQ(painted(coloured.shown(2), false), plain.text(2));
  EXPECT_EQ(plain.text(2).find('\xef'), std::string::npos);
}

TEST(Colour, MarksHeadingsOfHelp) {
  EXPECT_EQ(painted(with_marked_headings("Usage: x\n\nOptions:\n  -h:\n"), true),
            "Usage: x\n\n\x1b[1mOptions:\x1b[0m\n  -h:\n");
}

// A terminal of this test's own, and variables put back behind it.
class OnATerminal : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(openpty(&outside_, &inside_, nullptr, nullptr, nullptr), 0);
    for (auto& [name, value] : saved_) {
      const char* now = std::getenv(name);
      if (now) value = now;
    }
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    close(inside_), close(outside_);
  }
  int inside_ = -1, outside_ = -1;

 private:
  std::pair<const char*, std::optional<std::string>> saved_[2] = {{"TERM", {}}, {"NO_COLOR", {}}};
};

TEST_F(OnATerminal, ShowsColourUnlessToldOtherwise) {
  EXPECT_TRUE(shows_colour(ColourWish::automatic, inside_));
  EXPECT_FALSE(shows_colour(ColourWish::never, inside_));
  setenv("NO_COLOR", "", 1);  // empty: not set
  EXPECT_TRUE(shows_colour(ColourWish::automatic, inside_));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(shows_colour(ColourWish::automatic, inside_));
  EXPECT_TRUE(shows_colour(ColourWish::always, inside_));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(shows_colour(ColourWish::automatic, inside_));
  unsetenv("TERM");
  EXPECT_FALSE(shows_colour(ColourWish::automatic, inside_));
}

TEST_F(OnATerminal, IsNoPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(shows_colour(ColourWish::automatic, ends[1]));
  EXPECT_TRUE(shows_colour(ColourWish::always, ends[1]));
  close(ends[0]), close(ends[1]);
}

TEST(Colour, KnowsItsWishes) {
  EXPECT_EQ(colour_wish("auto"), ColourWish::automatic);
  EXPECT_EQ(colour_wish("always"), ColourWish::always);
  EXPECT_EQ(colour_wish("never"), ColourWish::never);
  EXPECT_FALSE(colour_wish("yes"));
}

}  // namespace
}  // namespace tilecast
