#include "lab/evidence/coverage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "constants/intervals.h"
#include "support/test_files.h"

namespace tilecast {
namespace {

CoverageRow row(const char* source, double error, Width parts = {}) {
  return {"host", std::string(source) + ", step", source, "H100-SXM", error, parts};
}
// Errors -0.50, -0.49, ... 0.50.
CoverageRows even(const char* source, double scale = 1, Width parts = {}) {
  CoverageRows rows;
  for (int i = -50; i <= 50; ++i) rows.push_back(row(source, 0.01 * i * scale, parts));
  return rows;
}
CoverageRows together(CoverageRows a, const CoverageRows& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Coverage, AFittedWidthHoldsItsShare) {
  const CoverageRows rows = even("a");
  const Width w = fit_width(rows);
  EXPECT_NEAR(w.down, 0.4, 0.011);
  EXPECT_NEAR(w.up, 0.4, 0.011);
  EXPECT_NEAR(coverage_of(rows, {{"host", w}}).held, 0.8, 0.02);
}

TEST(Coverage, WiderSharesHoldNarrowerOnes) {
  const CoverageRows rows = together(even("a"), even("b", 0.3));
  Width inner;
  for (const double share : {0.5, 0.8, 0.9, 0.99}) {
    const Width w = fit_width(rows, share);
    EXPECT_GE(w.down, inner.down);
    EXPECT_GE(w.up, inner.up);
    inner = w;
  }
}

TEST(Coverage, PartsAreNotCountedTwice) {
  const Width parts{0.3, 0.3};
  const CoverageRows rows = even("a", 1, parts);
  const Width w = fit_width(rows);
  EXPECT_NEAR(std::hypot(w.up, parts.up), 0.4, 0.011);
  EXPECT_EQ(fit_width(even("a", 0.5, parts)).up, 0) << "parts alone are wide enough";
}

TEST(Coverage, SourcesWeighTheSameWhateverTheirRows) {
  CoverageRows rows = even("large");
  for (int i = 0; i < 9; ++i) rows = together(rows, even("large"));
  CoverageRows handful = rows;
  for (int i = 0; i < 3; ++i) handful.push_back(row("small", 2));
  EXPECT_LT(fit_width(handful).up, 1) << "three rows are no group";
  for (int i = 0; i < 30; ++i) rows.push_back(row("small", 2));
  EXPECT_GE(fit_width(rows).up, 2) << "half of the weight lies there";
}

CoverageRows kernels(CoverageRows rows) {
  for (CoverageRow& row : rows) row.kind.clear(), row.steps = "PyTorch timed by others, streams";
  return rows;
}

// A single source of three whose kernels take three times as long makes the others' forecasts hardly less certain.
TEST(Coverage, KernelsReachAboutAsFarAsMostSourcesNeed) {
  const Width parts{0.2, 0.2};
  CoverageRows odd;
  for (int i = 0; i < 200; ++i) odd.push_back(row("odd", 1.1, parts));
  const CoverageRows rows = together(together(even("a", 0.5, parts), even("b", 0.6, parts)), odd);
  const Width scale = fit_scale(kernels(rows));
  EXPECT_NEAR(scale.up, std::cbrt(1 * 1.2 * 2), 0.05) << "the odd one counts as two";
  EXPECT_NEAR(scale.down, std::cbrt(1.2), 0.03) << "nobody needs less than one";
  CoverageRows unknown = rows;
  for (CoverageRow& row : unknown) row.kind = "another kernel, streams";
  EXPECT_NEAR(fit_width(unknown).up, std::sqrt(0.24 * 0.24 - 0.2 * 0.2), 0.03) << "what the one in the middle needs";
}

TEST(Coverage, ASourceIsJudgedByTheOthers) {
  const CoverageRows rows = together(even("narrow", 0.1), even("wide"));
  const auto lines = coverage_lines(rows, {});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].table, "narrow, step");
  EXPECT_TRUE(lines[0].others);
  EXPECT_NEAR(lines[0].left_out.held, 1, 1e-9) << "by the wide one's width";
  EXPECT_LT(lines[1].left_out.held, 0.15) << "by the narrow one's";
  EXPECT_FALSE(coverage_lines(even("alone"), {}).front().others);
}

// A fold is left out whole: here cards, of one source.
TEST(Coverage, ACardIsJudgedByOtherCards) {
  CoverageRows rows = even("a", 0.1);
  for (CoverageRow& row : rows) row.fold = "A100";
  for (CoverageRow& row : even("a")) rows.push_back(row), rows.back().fold = row.card = "H100";
  const auto lines = coverage_lines(rows, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].others);
  // The narrow card by the wide one's width holds all, the wide by the narrow one's next to nothing.
  EXPECT_NEAR(lines[0].left_out.held, 0.54, 0.03);
}

TEST(Coverage, NoEndLiesBelowTheBound) {
  CoverageRow low = row("a", -0.2, {0.5, 0.5});
  low.to_bound = 0.3;
  EXPECT_EQ(coverage_of({low}, {}).held, 1);
  EXPECT_NEAR(coverage_of({low}, {}).width, 0.4, 1e-12);
  low.error = -0.4;
  EXPECT_EQ(coverage_of({low}, {}).held, 0) << "measured below the bound";
}

TEST(Coverage, AsItIsIsWhatTheForecastSays) {
  CoverageRow said = row("a", 0.2, {0.5, 0.5});
  said.whole = Width{0.1, 0.1};
  EXPECT_EQ(coverage_lines({said}, {}).front().shipped.held, 0);
}

TEST(Coverage, RunsThatASourceGathersStandApart) {
  EndToEndResult r;
  r.label.source = "silicon", r.label.measured_by = "inferencex", r.kind = "serving, a token", r.quantity = "tpot";
  r.measured = r.forecast = r.low = r.high = r.parts_low = r.parts_high = 1;
  const CoverageRows rows = coverage_rows(std::vector<EndToEndResult>{r});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].source, "silicon of inferencex");
  EXPECT_EQ(rows[0].table, "silicon of inferencex, tpot");
}

TEST(Coverage, RatesOfStepsAreTheirTimesUpsideDown) {
  EndToEndResult r;
  r.label.source = "mosaic", r.kind = "training, several GPUs", r.quantity = "throughput";
  r.measured = 50, r.forecast = 100, r.low = r.parts_low = 80, r.high = r.parts_high = 110;
  const CoverageRows rows = coverage_rows(std::vector<EndToEndResult>{r});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].error, std::log(2.0), 1e-12) << "half the rate takes twice as long";
  EXPECT_NEAR(rows[0].parts.up, std::log(100.0 / 80), 1e-12);
}

TEST(Coverage, WhatRanInWavesIsNotJudged) {
  EndToEndResult r;
  r.measured = r.forecast = r.low = r.high = r.parts_low = r.parts_high = 1;
  r.fits = false;
  EXPECT_TRUE(coverage_rows(std::vector<EndToEndResult>{r}).empty());
}

TEST(Coverage, FittedWidthsStandInTheHeader) {
  const std::string header =
      "kA = run_width_constants(\"host\", 0.10, 0.80);\nkB = run_width_constants(\"b\", 1, 2);\n";
  EXPECT_EQ(with_widths(header, {{"host", {0.123, 0.5}}, {"none", {1, 1}}}),
            "kA = run_width_constants(\"host\", 0.12, 0.50);\nkB = run_width_constants(\"b\", 1, 2);\n");
}

CoverageRows steps(CoverageRows rows, const char* kind = "one GPU") {
  for (CoverageRow& row : rows) row.kind.clear(), row.steps = kind;
  return rows;
}

// Errors reach to 0.4 on either side in four rows of five; parts of 0.8 are twice that.
TEST(Coverage, AFittedScaleHoldsItsShare) {
  const CoverageRows rows = steps(even("a", 1, {0.8, 0.2}));
  const Width scale = fit_scale(rows);
  EXPECT_NEAR(scale.down, 0.5, 0.02);
  EXPECT_NEAR(scale.up, 2, 0.06);
  const Widths widths = fit_widths(rows);
  EXPECT_NEAR(coverage_of(rows, widths).held, 0.8, 0.02);
  EXPECT_NEAR(coverage_of(rows, widths).width, 0.4, 0.02);
}

TEST(Coverage, AScaleNeverReachesNearerThanTheNoise) {
  const Coverage c = coverage_of(steps(even("a", 0.001, {0.2, 0.2})), {{"one GPU", {0, 0}}});
  EXPECT_NEAR(c.width, constants::kNoiseWidth, 1e-12);
}

CoverageRows served(CoverageRows rows, const char* kind = "serving, a token") {
  for (CoverageRow& row : rows) row.kind = kind, row.steps = kServedSteps;
  return rows;
}

// Where errors follow what the steps leave open, their scale holds them; where they do not, a width beside them does.
TEST(Coverage, TheScaleOfServedStepsIsTheOneThatTellsWideFromNarrow) {
  const CoverageRows follow = served(together(even("a", 1, {0.8, 0.8}), even("b", 0.25, {0.2, 0.2})));
  const CoverageRows do_not = served(together(even("a", 0.5, {0.8, 0.8}), even("b", 0.5, {0.2, 0.2})));
  const Widths following = fit_widths(follow), not_following = fit_widths(do_not);
  EXPECT_NEAR(following.at("serving").up, 0.5, 0.051);
  EXPECT_LT(following.at("serving, a token").up, 0.1) << "scaled parts are wide enough";
  EXPECT_LT(not_following.at("serving").up, 0.15);
  EXPECT_NEAR(not_following.at("serving, a token").up, 0.2, 0.03);
  EXPECT_NEAR(coverage_of(follow, following).held, 0.8, 0.06);
  EXPECT_NEAR(coverage_of(do_not, not_following).held, 0.8, 0.06);
}

// A request of which a quarter is its first token: 0.25 x 0.4 and 0.75 x 0.1 together.
TEST(Coverage, RequestsHaveTheWidthsOfTheirTokens) {
  EndToEndResult r;
  r.label.source = "inferencex", r.kind = "queued serving, requests", r.quantity = "e2e median";
  r.measured = r.forecast = r.low = r.high = r.parts_low = r.parts_high = 1;
  r.of_first = 0.25, r.of_further = 0.75;
  const CoverageRows rows = coverage_rows(std::vector<EndToEndResult>{r});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].calibrates(), "");
  const Widths widths{{"queued serving, median first token", {0.4, 0.8}}, {"queued serving, median token", {0.1, 0.2}}};
  EXPECT_NEAR(coverage_of(rows, widths).width, (std::hypot(0.1, 0.075) + std::hypot(0.2, 0.15)) / 2, 1e-12);
  EXPECT_EQ(fit_widths(rows).count("queued serving, median token"), 0u) << "it says nothing of any of them";
}

// Sources that took part in neither width are judged by all of them, the others by what is left without them.
TEST(Coverage, RequestsAreJudgedWithoutTheirOwnTokens) {
  CoverageRows rows =
      together(served(even("a"), "serving, median first token"), served(even("b"), "serving, median first token"));
  for (const char* source : {"a", "b"})
    for (const CoverageRow& row : served(even(source), "serving, median token")) rows.push_back(row);
  CoverageRow request = row("c", 0.1);
  request.table = "c, throughput", request.steps = kServedSteps;
  request.leans = {{"serving, median first token", 0.5}, {"serving, median token", 0.5}};
  rows.push_back(request);
  for (const CoverageLine& line : coverage_lines(rows, {}))
    if (line.table == "c, throughput") {
      EXPECT_TRUE(line.others);
      EXPECT_EQ(line.kind, "first tokens and further ones");
      EXPECT_GT(line.left_out.width, 0.05);
    }
}

TEST(Coverage, OneLaboratorysTablesAreLeftOutTogether) {
  EndToEndResult r;
  r.kind = "inference, one GPU", r.quantity = "step";
  r.measured = r.forecast = r.low = r.high = r.parts_low = r.parts_high = 1;
  std::vector<EndToEndResult> results;
  for (const char* source : {"h200", "h200-steps", "argonne"}) r.label.source = source, results.push_back(r);
  const CoverageRows rows = coverage_rows(results);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].left_out_with(), rows[1].left_out_with());
  EXPECT_NE(rows[0].left_out_with(), rows[2].left_out_with());
  EXPECT_EQ(rows[0].calibrates(), "one GPU");
  EXPECT_TRUE(rows[0].kind.empty());
}

// Where one laboratory measured everything of a kind, its cards judge one another.
TEST(Coverage, AloneASourceIsJudgedCardByCard) {
  CoverageRows rows = even("a", 0.1);
  for (CoverageRow& row : even("a")) rows.push_back(row), rows.back().card = "A100-SXM-80GB";
  EXPECT_TRUE(coverage_lines(rows, {}).front().others);
}

TEST(Coverage, SeveralGpusAreNeverSurerThanOne) {
  CoverageRows rows = steps(even("a", 1, {0.3, 0.3}));
  for (CoverageRow& row : steps(even("b", 0.1, {0.3, 0.3}), "inference, several GPUs")) rows.push_back(row);
  const Widths widths = fit_widths(rows);
  EXPECT_GE(widths.at("inference, several GPUs").up, widths.at("one GPU").up);
  const Widths shipped = shipped_widths();
  for (const std::string what : {"inference", "training"}) {
    EXPECT_GE(shipped.at(what + ", several GPUs").up, shipped.at("one GPU").up) << what;
    EXPECT_GE(shipped.at(what + ", several GPUs").down, shipped.at("one GPU").down) << what;
  }
}

TEST(Coverage, JudgedRunsAreKeptAndRead) {
  EndToEndResult r;
  r.label = {"silicon", "B200", "vllm", "a, b", "agg", "tp 8", 4, 1024, "inferencex"};
  r.quantity = "tpot", r.measured = 0.01, r.forecast = 0.02, r.low = 0.015, r.high = 0.03;
  r.parts_low = 0.018, r.parts_high = 0.025, r.kind = "queued serving, a token", r.steps_kind = "serving";
  r.of_first = 0.25, r.of_further = 0.75, r.label.measured_by = "somebody, on a machine";
  const TestFolder folder;
  const auto read = read_end_to_end_csv(folder.plain("runs.csv", end_to_end_csv({r})));
  ASSERT_TRUE(read) << read.error().line();
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(end_to_end_csv(*read), end_to_end_csv({r}));
  EXPECT_EQ(read->front().label.measured_by, "somebody, on a machine");
  EXPECT_FALSE(read_end_to_end_csv(folder.plain("other.csv", "source,gpu\nx,y\n")));
  const std::string broken = end_to_end_csv({r});
  EXPECT_FALSE(read_end_to_end_csv(folder.plain("broken.csv", broken.substr(0, broken.find('\n')) + "\nx,y\n")));
}

TEST(Coverage, EveryFittedKindIsAConstant) {
  const Widths shipped = shipped_widths();
  for (const char* kind : {"host",
                           "one GPU",
                           "inference, several GPUs",
                           "training, several GPUs",
                           "serving",
                           "serving, first token",
                           "serving, a token",
                           "serving, median first token",
                           "serving, median token",
                           "queued serving, first token",
                           "queued serving, a token",
                           "queued serving, median first token",
                           "queued serving, median token",
                           "another kernel, products",
                           "another kernel, attention",
                           "another kernel, streams",
                           "another protocol, products",
                           "another card, attention",
                           "another architecture, streams",
                           "PyTorch timed by others, products",
                           "PyTorch timed by others, attention",
                           "PyTorch timed by others, streams"}) {
    ASSERT_TRUE(shipped.contains(kind)) << kind;
    EXPECT_GE(shipped.at(kind).down, 0) << kind;
    EXPECT_GE(shipped.at(kind).up, 0) << kind;
  }
}

}  // namespace
}  // namespace tilecast
