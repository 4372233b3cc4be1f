#include "tilecast/tune.h"

#include <nlohmann/json.hpp>

#include "api/arguments_testing.h"
#include "gpu/registry.h"
#include "tune/triton_config.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const MoeTuneQuery kLayer{
    .gpu = "H200-SXM", .tokens = {4096, 1, 1}, .experts = 128, .hidden = 2048, .inter = 768, .topk = 8};
// Stands for a card: every configuration takes as long as its num_stages says, but those of four fail.
const char* const kFake =
    "sh -c 'for c in \"$@\"; do case $c in *,*,4) echo $c failed no;; *,*) echo $c ${c##*,};; esac; done' fake";

TEST(TuneApi, RanksByForecast) {
  const auto tuning = tune(kLayer);
  ASSERT_TRUE(tuning.ok()) << tuning.error().line();
  EXPECT_EQ(tuning->gpu, "H200-SXM");
  ASSERT_EQ(tuning->tuned.size(), 2u) << "each number of tokens once";
  EXPECT_EQ(tuning->tuned[0].tokens, 1);
  EXPECT_EQ(tuning->tuned[0].pick().config.m, 16);
  EXPECT_EQ(tuning->tuned[1].pick().config.m, 128);
  const auto gpu = find_gpu("H200-SXM");
  EXPECT_EQ(tuning->configurations, static_cast<Count>(triton_configs(*format_from("bf16"), *gpu).size()));
  for (const Tuned& tuned : tuning->tuned) {
    ASSERT_EQ(tuned.best.size(), 5u);
    ASSERT_TRUE(tuned.standard);
    for (std::size_t i = 0; i < tuned.best.size(); ++i) {
      const TuneCandidate& one = tuned.best[i];
      ASSERT_EQ(one.passes.size(), 2u) << "up and down";
      EXPECT_NEAR(in_microseconds(one.passes[0].latency + one.passes[1].latency), in_microseconds(one.forecast), 1e-6);
      EXPECT_FALSE(one.measured);
      if (i > 0) {
        EXPECT_GE(one.forecast, tuned.best[i - 1].forecast);
      }
    }
    EXPECT_LE(tuned.best.front().forecast, tuned.standard->forecast);
  }
}

TEST(TuneApi, OneRankOfSeveral) {
  MoeTuneQuery query = kLayer;
  query.tp = 2, query.ep = 4, query.tokens = {64};
  const auto tuning = tune(query);
  ASSERT_TRUE(tuning.ok()) << tuning.error().line();
  EXPECT_EQ(tuning->experts, 32);
  EXPECT_EQ(tuning->inter, 384);
}

TEST(TuneApi, MeasuresThroughACommand) {
  MoeTuneQuery query = kLayer;
  query.tokens = {64, 256}, query.top = 40;
  std::vector<Count> told;
  const auto tuning = tune(query, {.command = kFake, .progress = [&](const Measuring::Progress& p) {
                                     told.push_back(p.tokens);
                                     EXPECT_EQ(p.done, told.size() - 1);
                                     EXPECT_EQ(p.all, 2u);
                                     EXPECT_GE(p.configurations, 40);
                                   }});
  ASSERT_TRUE(tuning.ok()) << tuning.error().line();
  EXPECT_EQ(told, (std::vector<Count>{64, 256}));
  for (const Tuned& tuned : tuning->tuned) {
    EXPECT_EQ(tuned.pick().config.stages, 2);
    EXPECT_NEAR(in_microseconds(*tuned.best.front().measured), 2, 1e-9);
    EXPECT_FALSE(tuned.best.back().measured);
    EXPECT_EQ(tuned.best.back().problem, "no");
  }
}

TEST(TuneApi, TheDefaultStaysWhereItWasMeasuredFaster) {
  Tuned tuned;
  tuned.best = {{{16, 64, 64}, microseconds(5), {}, microseconds(5), {}}};
  tuned.standard = TuneCandidate{{32, 64, 64}, microseconds(9), {}, {}, {}};
  EXPECT_EQ(tuned.pick().config.m, 16);
  tuned.standard->measured = microseconds(4);
  EXPECT_EQ(tuned.pick().config.m, 32);
}

TEST(TuneApi, Products) {
  const auto tuning = tune({.gpu = "A100-SXM-80GB", .top = 3, .m = 256, .n = 4096, .k = 4096});
  ASSERT_TRUE(tuning.ok()) << tuning.error().line();
  ASSERT_EQ(tuning->tuned.best.size(), 3u);
  EXPECT_FALSE(tuning->tuned.standard);
  // No faster than the tensor pipe at its peak.
  EXPECT_GT(in_microseconds(tuning->tuned.pick().forecast), 2 * 256 * 4096.0 * 4096 / 312e6);
  EXPECT_THAT(line_of(tune({.gpu = "H200", .m = 16, .n = 64, .k = 64}, {.command = "exit 7;"})),
              testing::AllOf(HasSubstr("nothing was measured"), HasSubstr("status 7")));
}

TEST(TuneApi, FilesAsTheEnginesLookForThem) {
  const auto tuning = tune(kLayer);
  ASSERT_TRUE(tuning.ok());
  const auto files = engine_files(kLayer, *tuning);
  ASSERT_TRUE(files.ok()) << files.error().line();
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].engine, "vllm");
  EXPECT_EQ((*files)[0].path, "E=128,N=768,device_name=NVIDIA_H200.json");
  EXPECT_EQ((*files)[1].path, "configs/triton_3_6_0/E=128,N=768,device_name=NVIDIA_H200.json");
  const auto json = nlohmann::json::parse((*files)[0].text);
  EXPECT_EQ(json["1"]["BLOCK_SIZE_M"], tuning->tuned[0].pick().config.m);
  EXPECT_EQ(json["4096"]["num_stages"], tuning->tuned[1].pick().config.stages);
  EXPECT_THAT((*engine_files(kLayer, *tuning, {.device_name = "My Card"}))[0].path, HasSubstr("device_name=My_Card"));
  const auto no_version = engine_files(kLayer, *tuning, {.triton = "new"});
  ASSERT_FALSE(no_version.ok());
  EXPECT_EQ(no_version.error().field, "triton") << no_version.error().line();
  MoeTuneQuery described = kLayer;
  described.gpu = R"({"like": "H200-SXM", "name": "mine"})";
  const auto no_device = engine_files(described, *tuning);
  ASSERT_FALSE(no_device.ok());
  EXPECT_EQ(no_device.error().field, "device-name") << no_device.error().line();
}

TEST(TuneApi, ErrorsNameTheirField) {
  const auto field = [](auto&& change, const Measuring& measuring = {}) {
    MoeTuneQuery query = kLayer;
    query.tokens = {8};
    change(query);
    const auto tuning = tune(query, measuring);
    return tuning ? std::string("fine") : tuning.error().field;
  };
  using Q = MoeTuneQuery;
  EXPECT_EQ(field([](Q& q) { q.gpu = ""; }), "gpu");
  EXPECT_EQ(field([](Q& q) { q.gpu = "H300"; }), "gpu");
  EXPECT_EQ(field([](Q& q) { q.dtype = "bf17"; }), "dtype");
  EXPECT_EQ(field([](Q& q) { q.top = 0; }), "top");
  EXPECT_EQ(field([](Q& q) { q.tokens = {0}; }), "tokens");
  EXPECT_EQ(field([](Q& q) { q.experts = 0; }), "experts");
  EXPECT_EQ(field([](Q& q) { q.topk = 129; }), "topk");
  EXPECT_EQ(field([](Q&) {}, {.command = "true", .seconds = 0}), "measure-seconds");
  EXPECT_EQ(tune({.gpu = "H200", .m = 0, .n = 1, .k = 1}).error().field, "m");
  EXPECT_THAT(line_of(tune({.gpu = "MI300X", .m = 1, .n = 1, .k = 1})), HasSubstr("NVIDIA"));
}

TEST(TuneApi, Arguments) {
  MoeTuneQuery moe = kLayer;
  moe.dtype = "fp8", moe.top = 7, moe.tp = 2, moe.ep = 4;
  expect_round_trip(moe);
  expect_round_trip(GemmTuneQuery{.gpu = "H200", .dtype = "fp16", .top = 3, .m = 1, .n = 2, .k = 3});
  expect_round_trip(Measuring{.command = "run", .seconds = 2.5, .progress = {}});
  expect_round_trip(EngineFilesQuery{.device_name = "NVIDIA H200", .triton = "3.5.0"});
  expect_examples_taken<MoeTuneQuery>();
  expect_examples_taken<GemmTuneQuery>();
  expect_examples_taken<Measuring>();
  expect_examples_taken<EngineFilesQuery>();
  EXPECT_THAT(refusal_of<MoeTuneQuery>("top", "101"), StartsWith("top: must lie between 1 and 100"));
  EXPECT_THAT(refusal_of<GemmTuneQuery>("m", "16777217"), StartsWith("m: must lie between 1 and 16777216"));
}

}  // namespace
}  // namespace tilecast
