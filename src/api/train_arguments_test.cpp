// How trainings are asked for: narrow products, adapters, pairs.
#include <functional>

#include "api/arguments_testing.h"
#include "tilecast/plan.h"
#include "tilecast/step.h"

namespace tilecast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

StepQuery training(const std::function<void(StepQuery&)>& change = {}) {
  StepQuery q;
  q.model = "Llama-3.2-1B", q.gpu = "H200-SXM", q.mode = Mode::train, q.batch = 2, q.seq = 2048;
  q.engine = EngineKind::cudagraph;
  if (change) change(q);
  return q;
}
std::string refused(const std::function<void(StepQuery&)>& change) { return line_of(forecast(training(change))); }
StepForecast answered(const std::function<void(StepQuery&)>& change = {}) {
  auto step = forecast(training(change));
  EXPECT_TRUE(step) << (step ? "" : step.error().line());
  return step ? *step : StepForecast{};
}

TEST(TrainArguments, NarrowProductsAreFasterThanWideOnes) {
  const Seconds wide = answered().time;
  for (const TrainPrecision p : {TrainPrecision::fp8_delayed, TrainPrecision::fp8_current}) {
    const Seconds narrow = answered([&](StepQuery& q) { q.train.precision = p; }).time;
    EXPECT_LT(narrow, wide) << name_of(p);
  }
  // A maximum is looked for first.
  EXPECT_LT(answered([](StepQuery& q) { q.train.precision = TrainPrecision::fp8_delayed; }).time,
            answered([](StepQuery& q) { q.train.precision = TrainPrecision::fp8_current; }).time);
  // Layers that stay wide are slower, all of them as slow as none narrow.
  const auto with_wide = [&](Count layers) {
    return answered([&](StepQuery& q) {
             q.train.precision = TrainPrecision::fp8_delayed, q.train.wide_layers = layers;
           })
        .time;
  };
  EXPECT_LT(with_wide(0), with_wide(4));
  EXPECT_LT(with_wide(4), with_wide(16));
  EXPECT_NEAR(with_wide(16) / wide, 1, 1e-3);
}

TEST(TrainArguments, CardsAndModelsThatCannotAreToldSo) {
  const auto on = [](const char* gpu, TrainPrecision p) {
    return [gpu, p](StepQuery& q) { q.gpu = gpu, q.train.precision = p; };
  };
  EXPECT_THAT(refused(on("H100-SXM", TrainPrecision::nvfp4)),
              StartsWith("train-precision: H100-SXM does not multiply nvfp4"));
  EXPECT_THAT(refused(on("H100-SXM", TrainPrecision::mxfp8)), HasSubstr("fp8-current"));
  EXPECT_THAT(refused(on("A100-SXM-80GB", TrainPrecision::fp8_current)), HasSubstr("does not multiply fp8-current"));
  EXPECT_EQ(refused(on("B200", TrainPrecision::nvfp4)), "fine");
  EXPECT_THAT(refused([](StepQuery& q) { q.train.precision = TrainPrecision::fp8_current, q.dtype = "fp8"; }),
              StartsWith("train-precision: casts products of a 16-bit model"));
  EXPECT_THAT(refused([](StepQuery& q) { q.train.precision = TrainPrecision::fp8_current, q.train.wide_layers = 17; }),
              StartsWith("wide-layers: the model has 16 layers"));
  EXPECT_THAT(refused([](StepQuery& q) { q.train.rank = 8; }), StartsWith("lora-rank: has no effect"));
  EXPECT_THAT(refused([](StepQuery& q) { q.train.fp8_attention = true; }), StartsWith("fp8-attention: has no effect"));
  EXPECT_THAT(refused([](StepQuery& q) { q.mode = Mode::prefill, q.train.tune = FineTune::lora; }),
              StartsWith("tune: has no effect with mode prefill"));
}

TEST(TrainArguments, AdaptersNeedLittleMemoryBesideTheModel) {
  const StepForecast full = answered(), lora = answered([](StepQuery& q) { q.train.tune = FineTune::lora; });
  EXPECT_LT(lora.time, full.time);
  // 16 layers of 2048: rank 16 beside queries and output (2048 to 2048), keys and values (to 512), gate and up (to 8192)
  // and down (from 8192), two bytes each.
  const double params = 16.0 * 16 * (2 * (2048 + 2048) + 2 * (2048 + 512) + 3 * (2048 + 8192));
  EXPECT_DOUBLE_EQ(in_bytes(lora.memory.need.gradients), 2 * params);
  EXPECT_DOUBLE_EQ(in_bytes(lora.memory.need.optimizer), 4 * params);
  EXPECT_LT(in_bytes(lora.memory.need.activations), in_bytes(full.memory.need.activations));
  const StepForecast qlora = answered([](StepQuery& q) { q.train.tune = FineTune::qlora; });
  EXPECT_LT(in_bytes(qlora.memory.need.weights), 0.6 * in_bytes(lora.memory.need.weights));
  EXPECT_GT(qlora.time, lora.time);
}

TEST(TrainArguments, PairsAreTwoSequencesAndAReference) {
  const StepForecast plain = answered([](StepQuery& q) { q.batch = 4; });
  const StepForecast pairs = answered([](StepQuery& q) { q.batch = 2, q.train.objective = Objective::dpo; });
  EXPECT_GT(pairs.time, plain.time * 1.2);
  EXPECT_LT(pairs.time, plain.time * 1.5);
  EXPECT_DOUBLE_EQ(in_bytes(pairs.memory.need.weights), 2 * in_bytes(plain.memory.need.weights));
  const auto both = [](StepQuery& q) { q.batch = 2, q.train.objective = Objective::dpo, q.train.tune = FineTune::lora; };
  const StepForecast adapted = answered([](StepQuery& q) { q.batch = 4, q.train.tune = FineTune::lora; });
  EXPECT_DOUBLE_EQ(in_bytes(answered(both).memory.need.weights), in_bytes(adapted.memory.need.weights));
}

TEST(TrainArguments, RanksExchangeAdaptersAlone) {
  const auto spread = [](StepQuery& q) {
    q.gpu = "", q.cluster = "hgx-h200", q.layout.dp = 8, q.batch = 8, q.layout.overlap = false;
  };
  const StepForecast full = answered(spread), lora = answered([&](StepQuery& q) {
    spread(q);
    q.train.tune = FineTune::lora;
  });
  ASSERT_TRUE(full.many && lora.many);
  EXPECT_LT(lora.many->exposed, full.many->exposed * 0.2);
}

TEST(TrainArguments, PlansTakeThemToo) {
  PlanTrainQuery q;
  q.model = "Llama-3.1-8B", q.gpus = "8xH100-SXM", q.global_batch = 64, q.seq = 4096;
  const auto wide = plan_train(q);
  ASSERT_TRUE(wide) << wide.error().line();
  q.train.precision = TrainPrecision::fp8_delayed;
  const auto narrow = plan_train(q);
  ASSERT_TRUE(narrow) << narrow.error().line();
  EXPECT_LT(narrow->ranked.front().step, wide->ranked.front().step);
  q.train.precision = TrainPrecision::nvfp4;
  EXPECT_THAT(line_of(plan_train(q)), StartsWith("train-precision: H100-SXM does not multiply nvfp4"));
}

TEST(TrainArguments, HeadsForFurtherTokensCostALayerAndALossEach) {
  const auto heads = [](Count n) { return answered([n](StepQuery& q) { q.train.mtp_heads = n; }); };
  const StepForecast none = heads(0), one = heads(1), two = heads(2);
  EXPECT_LT(none.time, one.time);
  EXPECT_NEAR((two.time - one.time) / (one.time - none.time), 1, 0.02);
  // Llama-3.2-1B: a layer of 60.8 M weights, a product of 2 x 2048 to 2048 and two norms; its head and table are shared.
  const double more = (one.memory.need.weights - none.memory.need.weights).base() / 2;
  EXPECT_NEAR(more, 2048.0 * (2048 + 2 * 512 + 2048 + 3 * 8192) + 2 * 2048 + 2.0 * 2048 * 2048 + 2 * 2048 + 2048, 1);
  EXPECT_THAT(refused([](StepQuery& q) { q.model = "bert-base", q.train.mtp_heads = 1, q.seq = 512; }),
              StartsWith("mtp-heads: needs a decoder"));
}

TEST(TrainArguments, HeadsForFurtherTokensStandOnTheLastRank) {
  const auto spread = [](Count heads, int tp) {
    return answered([=](StepQuery& q) {
      q.layout.tp = tp, q.layout.pp = 2, q.batch = StepQuery{}.batch, q.micro_batch = 1, q.global_batch = 8, q.train.mtp_heads = heads;
    });
  };
  for (const int tp : {1, 2}) {
    const StepForecast none = spread(0, tp), one = spread(1, tp);
    ASSERT_TRUE(one.many && none.many);
    EXPECT_EQ(none.many->stages[0].memory.need.weights, one.many->stages[0].memory.need.weights);
    EXPECT_GT(one.many->stages[1].memory.need.weights, none.many->stages[1].memory.need.weights);
  }
}

TEST(TrainArguments, TokensThatTravelOnceAreFaster) {
  const auto step = [](TokenDispatch d) {
    return answered([d](StepQuery& q) {
      q.model = "Qwen3-30B-A3B", q.layout.ep = 8, q.layout.dp = 8, q.batch = StepQuery{}.batch, q.micro_batch = 1, q.global_batch = 8,
      q.train.dispatch = d;
    });
  };
  EXPECT_LT(step(TokenDispatch::deepep).time, step(TokenDispatch::all_to_all).time);
}

}  // namespace
}  // namespace tilecast
