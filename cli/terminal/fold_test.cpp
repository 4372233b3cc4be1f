#include "cli/terminal/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include "cli/terminal/colour.h"
#include "cli/terminal/marked_text.h"
#include "support/table.h"

namespace tilecast {
namespace {

std::string steps(int indent = 0) {
  Table table({"GPU", "fits"}, {"step", "80 % interval", "speed"});
  table.add({"L4", fits_text(false), "129 ms", "120 ms – 140 ms", "1.00×"});
  table.add({"H100-SXM", fits_text(true), "9.56 ms", "9.31 ms – 10.4 ms", "13.5×"});
  return table.shown(indent);
}

TEST(Fold, CutsTablesBetweenColumns) {
  EXPECT_EQ(painted(folded(steps(), 30), false),
            "GPU       fits     step\n"
            "L4        no     129 ms\n"
            "H100-SXM  yes   9.56 ms\n"
            "\n"
            "GPU           80 % interval\n"
            "L4          120 ms – 140 ms\n"
            "H100-SXM  9.31 ms – 10.4 ms\n"
            "\n"
            "GPU       speed\n"
            "L4        1.00×\n"
            "H100-SXM  13.5×\n");
  EXPECT_THAT(painted(folded(steps(2), 50), false),
              testing::StartsWith("  GPU       fits     step      80 % interval\n"));
}

TEST(Fold, KeepsColours) {
  const std::string out = painted(folded(steps(), 30), true);
  EXPECT_THAT(out,
              testing::StartsWith("\x1b[1mGPU       fits     step\x1b[0m\nL4        \x1b[31mno\x1b[0m     129 ms\n"));
  EXPECT_THAT(out, testing::HasSubstr("\n\x1b[1mGPU       speed\x1b[0m\n"));
}

TEST(Fold, LeavesTheRestAlone) {
  const std::string table = steps();
  const std::string command = "start it with\n  vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 1024\n";
  EXPECT_EQ(folded(table + command, 0), table + command);                          // no terminal
  EXPECT_EQ(folded(table + command, 60), table + command);                         // it fits
  EXPECT_EQ(folded(table, 20), table);                                             // not even two columns fit
  EXPECT_THAT(folded(command + table + command, 30), testing::EndsWith(command));  // what stands right behind a table
  EXPECT_THAT(folded(command + table + command, 30), testing::StartsWith(command));
  EXPECT_EQ(folded("no newline", 5), "no newline");
  EXPECT_EQ(folded(marked(Mark::heading, "Options:") + "\n  --a  b\n", 5),
            marked(Mark::heading, "Options:") + "\n  --a  b\n");
}

TEST(Fold, WrapsHelpBesideItsFlags) {
  EXPECT_EQ(wrapped_help("Options:\n"
                         "  --rate NUMBER  requests a second, all at once where none is given\n"
                         "  --policy own|static|max-utilization\n"
                         "                 scheduler: the engine's own, or batches that never change\n"
                         "\n"
                         "Example:\n"
                         "  tilecast simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --input 1024\n",
                         50),
            "Options:\n"
            "  --rate NUMBER  requests a second, all at once\n"
            "                 where none is given\n"
            "  --policy own|static|max-utilization\n"
            "                 scheduler: the engine's own, or\n"
            "                 batches that never change\n"
            "\n"
            "Example:\n"
            "  tilecast simulate Llama-3.1-8B --gpu H100-SXM --rate 10 --input 1024\n");
  EXPECT_EQ(wrapped_help("a word or two\n", 0), "a word or two\n");
  EXPECT_EQ(wrapped_help("a word or two\n", 6), "a word\nor two\n");
  EXPECT_EQ(wrapped_help("unbreakable\n", 6), "unbreakable\n");
}

TEST(Fold, AsksTheTerminal) {
  int outside = -1, inside = -1;
  winsize size{};
  size.ws_row = 24, size.ws_col = 91;
  ASSERT_EQ(openpty(&outside, &inside, nullptr, nullptr, &size), 0);
  EXPECT_EQ(terminal_width(inside), 91u);
  close(inside), close(outside);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(terminal_width(ends[1]), 0u);
  close(ends[0]), close(ends[1]);
}

}  // namespace
}  // namespace tilecast
