#include "lab/evidence/programs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "estimate/shipped_weights.h"
#include "support/file.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kData = TILECAST_SOURCE_DIR "/data";
const std::string kPage = TILECAST_SOURCE_DIR "/docs/accuracy/programs.md";

const Result<std::vector<JudgedProgram>>& judged() {
  static const auto programs = judge_programs(kData, "H200-SXM", shipped_models());
  return programs;
}

// Floors of what the page says, a little above its figures: a change that loses more has to be named.
TEST(Programs, EagerOnesAreForecastAsWellAsThePageSays) {
  ASSERT_TRUE(judged()) << judged().error().line();
  for (const char* half : {"choose", "judge"}) {
    const ProgramErrors e = program_errors(*judged(), "first", half, "eager");
    EXPECT_GE(e.programs, 19) << half;
    EXPECT_LE(e.kernels, 0.05) << half;
    EXPECT_LE(e.wall, 0.06) << half;
    EXPECT_LE(e.peak, 0.05) << half;
  }
}

TEST(Programs, CompiledOnesAreForecastAsWellAsThePageSays) {
  ASSERT_TRUE(judged()) << judged().error().line();
  const ProgramErrors chosen = program_errors(*judged(), "first", "choose", "compile"),
                      judge = program_errors(*judged(), "first", "judge", "compile");
  EXPECT_GE(chosen.programs, 12);
  EXPECT_LE(chosen.kernels, 0.065);
  EXPECT_LE(chosen.peak, 0.012);
  EXPECT_GE(judge.programs, 11);
  EXPECT_LE(judge.kernels, 0.06);
  EXPECT_LE(judge.peak, 0.055);
}

// Kinds that were measured later, halved since: means of both sets.
TEST(Programs, LaterOnesAreForecastAsWellAsThePageSays) {
  ASSERT_TRUE(judged()) << judged().error().line();
  struct Floor {
    const char *half, *engine;
    int programs;
    double kernels, peak;
  };
  for (const Floor& floor : {Floor{"choose", "eager", 14, 0.06, 0.035}, Floor{"judge", "eager", 14, 0.065, 0.05},
                             Floor{"choose", "compile", 7, 0.07, 0.025}, Floor{"judge", "compile", 9, 0.13, 0.04}}) {
    const ProgramErrors second = program_errors(*judged(), "second", floor.half, floor.engine),
                        third = program_errors(*judged(), "third", floor.half, floor.engine);
    const int count = second.programs + third.programs;
    EXPECT_EQ(count, floor.programs) << floor.half << floor.engine;
    const auto mean = [&](double ProgramErrors::*of) {
      return (second.*of * second.programs + third.*of * third.programs) / count;
    };
    EXPECT_LE(mean(&ProgramErrors::kernels), floor.kernels) << floor.half << floor.engine;
    EXPECT_LE(mean(&ProgramErrors::peak), floor.peak) << floor.half << floor.engine;
  }
}

// Kinds that nothing was chosen by.
TEST(Programs, UntouchedOnesAreForecastAsWellAsThePageSays) {
  ASSERT_TRUE(judged()) << judged().error().line();
  const ProgramErrors eager = program_errors(*judged(), "sealed", "untouched", "eager"),
                      compiled = program_errors(*judged(), "sealed", "untouched", "compile"),
                      last = program_errors(*judged(), "last", "untouched", "compile");
  EXPECT_EQ(eager.programs, 6);
  EXPECT_LE(eager.kernels, 0.045);
  EXPECT_LE(eager.peak, 0.025);
  EXPECT_EQ(compiled.programs, 7);
  EXPECT_EQ(last.programs, 9);
  EXPECT_LE((compiled.kernels * compiled.programs + last.kernels * last.programs) / 16, 0.12) << "both sets together";
  EXPECT_LE(last.kernels, 0.065);
  EXPECT_LE(compiled.peak, 0.04);
  EXPECT_LE(last.peak, 0.045);
}

TEST(Programs, NearlyAllProfiledTimeIsOfKnownOperators) {
  ASSERT_TRUE(judged()) << judged().error().line();
  double known = 0, all = 0;
  for (const JudgedProgram& p : *judged()) {
    if (p.engine != "eager") continue;
    all += 1, known += p.recognised;
  }
  EXPECT_GE(known / all, 0.98);
}

TEST(Programs, ErrorsAreOfTheHalfAndEngineAskedFor) {
  JudgedProgram a{"a", "choose", "training", "eager", "first", false, {10, 10, 100, 5}, {11, 9, 100, 5}, 1};
  JudgedProgram waiting = a;
  waiting.host_bound = true, waiting.forecast.wall = 30, waiting.recognised = 0.9;
  JudgedProgram other = a, later = a;
  other.half = "judge", later.set = "second";
  const ProgramErrors e = program_errors({a, waiting, other, later}, "first", "choose", "eager");
  EXPECT_EQ(e.programs, 2);
  EXPECT_EQ(e.waiting, 1);
  EXPECT_NEAR(e.kernels, 0.1, 1e-12);
  EXPECT_NEAR(e.wall, 0.1, 1e-12) << "of the one that does not wait for the host";
  EXPECT_NEAR(e.recognised, 0.9, 1e-12);
}

TEST(Programs, ThePageIsFresh) {
  ASSERT_TRUE(judged()) << judged().error().line();
  const std::string page = programs_report(*judged());
  if (std::getenv("TILECAST_UPDATE_DOCS")) {
    ASSERT_TRUE(write_text_file(kPage, page));
  }
  const auto there = read_text_file(kPage, 1 << 20);
  ASSERT_TRUE(there) << there.error().line();
  EXPECT_EQ(*there, page) << "TILECAST_UPDATE_DOCS=1 build/release/lab/test_lab_evidence --gtest_filter='Programs.*'";
}

TEST(Programs, MissingFilesAreSaid) {
  EXPECT_FALSE(judge_programs("/nowhere", "H200-SXM", shipped_models()));
  EXPECT_FALSE(judge_programs(kData, "NoCard", shipped_models()));
}

}  // namespace
}  // namespace tilecast
