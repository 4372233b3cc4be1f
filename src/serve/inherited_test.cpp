// Cards made from others' descriptions (`like`): the same card under another name is the same card, a changed one is
// its parent moved by what the physics says of the change. And no card's name decides anything by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/run.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/gpu_file.h"
#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/rmsnorm.h"
#include "model/library.h"
#include "serve/step_cost.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

Gpu made(Json description) {
  auto gpu = parse_gpu(description.dump(), "mine.json", built_in_gpu_text);
  EXPECT_TRUE(gpu) << gpu.error().line();
  return *std::move(gpu);
}
Gpu same_as(const char* name) { return made({{"like", name}, {"name", "SAME"}}); }

Kernel kernel_of(Shape shape, const char* format = "bf16") { return {std::move(shape), *format_from(format)}; }

std::vector<Kernel> kernels() {
  Moe moe;
  moe.tokens = 64, moe.hidden = 2048, moe.inter = 768, moe.experts = 128, moe.topk = 8;
  AttentionDecode decode;
  decode.batch = 32, decode.kv_len = 2049, decode.heads = 32, decode.kv_heads = 8;
  RmsNorm norm;
  norm.rows = 4096, norm.cols = 4096;
  return {kernel_of(Gemm{16, 4096, 4096}), kernel_of(Gemm{4096, 4096, 4096}), kernel_of(moe), kernel_of(decode),
          kernel_of(norm)};
}

Context engine_context(const Kernel& kernel) {
  Context context;
  if (kernel.shape.is<AttentionDecode>()) context.engine = Launcher::vllm;
  return context;
}

Estimate forecast(const Kernel& kernel, const Gpu& gpu, Method method = Method::tilecast) {
  const auto priced = price(kernel, gpu, engine_context(kernel), method, &shipped_models());
  EXPECT_TRUE(priced) << priced.error().line();
  return priced->estimate;
}

constexpr const char* kCards[] = {"A100-SXM-80GB", "H100-SXM", "L40S", "B200", "RTX-4090", "MI300X"};

TEST(Inherited, TheSameCardUnderAnotherNameForecastsTheSame) {
  for (const char* name : kCards)
    for (const Kernel& kernel : kernels()) {
      const Estimate own = forecast(kernel, *built_in_gpu(name)), same = forecast(kernel, same_as(name));
      EXPECT_EQ(own.latency.base(), same.latency.base()) << name << " " << family_of(kernel.shape);
      EXPECT_EQ(own.interval.low.base(), same.interval.low.base()) << name;
      EXPECT_EQ(own.interval.high.base(), same.interval.high.base()) << name;
      EXPECT_EQ(own.ceiling.base(), same.ceiling.base()) << name;
      EXPECT_EQ(own.bound.base(), same.bound.base()) << name;
      EXPECT_EQ(own.seen, same.seen) << name;
    }
}

// A complete description under another name: what the physics makes of it must not change either.
TEST(Inherited, NoPhysicsGoesByTheName) {
  for (const Gpu& gpu : built_in_gpus()) {
    Json description = Json::parse(*built_in_gpu_text(gpu.name));
    description["name"] = "Something else";
    const Gpu renamed = made(description);
    for (const Kernel& kernel : {kernel_of(Gemm{16, 4096, 4096}, "fp16"), kernel_of(Gemm{2048, 2048, 2048}, "fp32")}) {
      const auto own = price(kernel, gpu, {}, Method::analytic, nullptr);
      const auto other = price(kernel, renamed, {}, Method::analytic, nullptr);
      ASSERT_EQ(own.ok(), other.ok()) << gpu.name;
      if (own) {
        EXPECT_EQ(own->estimate.latency.base(), other->estimate.latency.base()) << gpu.name;
      }
    }
  }
}

TEST(Inherited, AChangedCardIsItsParentMovedByThePhysics) {
  const Gpu& parent = *built_in_gpu("H100-SXM");
  for (const Json& change : {Json{{"dram", {{"gb_per_s", 6000}}}}, Json{{"sms", 96}}, Json{{"l2", {{"mib", 100}}}},
                             Json{{"clock_mhz", {{"quoted", 1400}, {"quoted_vector", 1400}, {"max", 1500}}}}}) {
    Json description = {{"like", "H100-SXM"}, {"name", "CHANGED"}};
    description.merge_patch(change);
    const Gpu child = made(description);
    for (const Kernel& kernel : kernels()) {
      const Estimate from = forecast(kernel, parent), to = forecast(kernel, child);
      // Both analytic forecasts speak of the kernel that the learned one stands on.
      const FamilyModel* model = shipped_models().find(kernel);
      ASSERT_NE(model, nullptr);
      const Context named = stand_in(*model, engine_context(kernel), parent);
      const double moved = price(kernel, child, named, Method::analytic, nullptr)->estimate.latency /
                           price(kernel, parent, named, Method::analytic, nullptr)->estimate.latency;
      const double expected = std::max(from.latency.base() * moved, to.assumed_bound.base());
      EXPECT_NEAR(to.latency.base() / expected, 1, 1e-9) << change << " " << family_of(kernel.shape);
      EXPECT_GE(to.latency.base(), to.bound.base());
      EXPECT_LE(to.interval.low, to.latency);
      EXPECT_GE(to.interval.high, to.latency);
      // The further it moves the less is certain.
      EXPECT_GE(to.interval.high / to.latency, from.interval.high / from.latency * (1 - 1e-6)) << change;
      if (from.seen == Seen::yes) {
        EXPECT_EQ(to.seen, Seen::sibling) << change;
      }
    }
  }
}

// Many kernels at once go another way through the forests.
TEST(Inherited, BatchesAgreeWithSingleForecasts) {
  const Gpu child = made({{"like", "H100-SXM"}, {"name", "CHANGED"}, {"dram", {{"gb_per_s", 6000}}}});
  const Kernel kernel = kernel_of(Gemm{16, 4096, 4096});
  const FamilyModel* model = shipped_models().find(kernel);
  ASSERT_NE(model, nullptr);
  const Context named = stand_in(*model, {}, child);
  const auto planned = plan(kernel, child, named);
  ASSERT_TRUE(planned);
  const Estimate analytic = estimate(*planned, child, named, Method::analytic);
  const LearnedInput input = learned_input(kernel, *planned, analytic, child, named);
  Seconds time;
  learned_times({&input, 1}, standing_of(*model, named, child), {&time, 1});
  EXPECT_NEAR(time / forecast(kernel, child).latency, 1, 1e-6);
}

TEST(Inherited, AnotherArchitectureTakesNothingOver) {
  const Gpu other =
      made({{"like", "H100-SXM"}, {"name", "OTHER"}, {"architecture", "blackwell"}, {"compute_capability", "10.0"}});
  EXPECT_NE(forecast(kernel_of(Gemm{4096, 4096, 4096}), other).seen, Seen::yes);
}

TEST(Inherited, WholeModelsAndServedStepsFollow) {
  const Gpu own = *built_in_gpu("H100-SXM"), same = same_as("H100-SXM");
  EngineOptions engine;
  engine.kind = EngineKind::vllm;
  engine.precision = *precision_from("bf16");
  const tilecast::Run run{*find_model("Qwen3-30B-A3B"), {Mode::decode, {{8, 1, 1000}}}, engine, {}};
  const auto prepared = prepare(run);
  ASSERT_TRUE(prepared);
  const auto a = forecast_run(run, *prepared, own, Method::tilecast, &shipped_models());
  const auto b = forecast_run(run, *prepared, same, Method::tilecast, &shipped_models());
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->step.total.base(), b->step.total.base());
  EXPECT_EQ(a->step.interval.high.base(), b->step.interval.high.base());
  EXPECT_EQ(a->memory.total().base(), b->memory.total().base());
  EXPECT_EQ(a->usable.base(), b->usable.base());
  StepBatch batch;
  batch.prefill = {{512, 0}}, batch.decodes = 8, batch.decode_context = 8000;
  const auto served = [&](const Gpu& gpu) {
    const auto table =
        StepTable::make(price_on(std::get<ModelSpec>(run.model), engine, gpu, Method::tilecast, &shipped_models()), 0);
    return (*table)->of(batch).base();
  };
  EXPECT_EQ(served(own), served(same));
}

// Sixteen tokens of 128 experts, eight each: whatever they choose, nobody is faster than the bound of their number.
TEST(MoeBound, NoRoutingBeatsIt) {
  for (const char* name : {"A100-SXM-80GB", "H100-SXM", "B200", "L40S", "MI300X"})
    for (const Count tokens : {1, 16, 256}) {
      Moe moe;
      moe.tokens = tokens, moe.hidden = 4096, moe.inter = 1536, moe.experts = 128, moe.topk = 8;
      const Seconds bound = forecast(kernel_of(moe), *built_in_gpu(name)).bound;
      std::vector<std::vector<Count>> routings;
      std::vector<Count> same(128, 0), skewed(128, 0), random(128, 0), even(128, 0);
      std::fill(same.begin(), same.begin() + 8, tokens);
      std::fill(skewed.begin(), skewed.begin() + 4, tokens);
      std::uint64_t state = 7;
      for (Count t = 0; t < tokens; ++t) {
        for (Count k = 0; k < 4; ++k) ++skewed[static_cast<std::size_t>(4 + (4 * t + k) % 124)];
        for (Count k = 0; k < 8; ++k) ++even[static_cast<std::size_t>((8 * t + k) % 128)];
        std::set<std::size_t> chosen;
        while (chosen.size() < 8) chosen.insert((state = state * 6364136223846793005u + 1442695040888963407u) >> 57);
        for (const std::size_t expert : chosen) ++random[expert];
      }
      moe.distribution = ExpertDistribution::given;
      for (const std::vector<Count>& counts : {same, skewed, random, even}) {
        moe.counts = counts;
        for (const Method method : {Method::tilecast, Method::analytic}) {
          const Estimate given = forecast(kernel_of(moe), *built_in_gpu(name), method);
          EXPECT_GE(given.latency.base(), bound.base() * (1 - 1e-12)) << name << " " << tokens;
          EXPECT_GE(given.bound.base(), bound.base() * (1 - 1e-12)) << name << " " << tokens;
        }
      }
      moe.counts.clear();
      for (const ExpertDistribution any : {ExpertDistribution::balanced, ExpertDistribution::power_law}) {
        moe.distribution = any;
        EXPECT_GE(forecast(kernel_of(moe), *built_in_gpu(name)).latency.base(), bound.base()) << name;
      }
    }
}

}  // namespace
}  // namespace tilecast
