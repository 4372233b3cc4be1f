#include "engine/memory.h"

#include <gtest/gtest.h>

#include "engine/run.h"
#include "gpu/registry.h"
#include "model/library.h"

namespace tilecast {
namespace {

tilecast::Run run_of(const char* model, Mode mode, Requests requests, EngineKind kind = EngineKind::vllm) {
  tilecast::Run run;
  run.model = *find_model(model);
  run.workload.mode = mode;
  run.workload.requests = {requests};
  run.engine.kind = kind;
  run.engine.precision = *precision_from("bf16");
  return run;
}

MemoryNeed need_of(const tilecast::Run& run) {
  const auto prepared = prepare(run);
  return memory_need(prepared->forward, run.workload, run.engine, prepared->cache, run.training, *load_gpu("H200-SXM"));
}

TEST(Memory, WeightsAndCacheByHand) {
  const MemoryNeed need = need_of(run_of("Llama-3.1-8B", Mode::decode, {16, 1, 4095}));
  EXPECT_DOUBLE_EQ(need.weights.base(), 2.0 * 8030261248);
  EXPECT_DOUBLE_EQ(need.cache.base(), 16.0 * 4096 * 2 * 32 * 2 * 8 * 128);  // bytes, layers, K and V, heads, width
  EXPECT_EQ(need.gradients.base(), 0);
}

TEST(Memory, QuantisedWeightsKeepTheHeadAndTheTable) {
  tilecast::Run run = run_of("Llama-3.1-8B", Mode::decode, {1, 1, 100});
  run.engine.precision = *precision_from("fp8");
  const double products = 32.0 * (4096.0 * 6144 + 4096.0 * 4096 + 3 * 4096.0 * 14336);
  const double rest = 8030261248.0 - products;
  EXPECT_NEAR(need_of(run).weights.base(), products * run.engine.precision.linear.weight_bits / 8 + 2 * rest, 1e6);
}

TEST(Memory, WindowsLatentsAndStatesKeepLess) {
  const Precision bf16 = *precision_from("bf16");
  // DeepSeek V3: 512 + 64 elements a token and layer.
  EXPECT_DOUBLE_EQ(cache_bytes(cache_need(*find_model("DeepSeek-V3")), 1000, bf16).base(), 1000 * 61 * 576 * 2.0);
  // A window caps what its layers keep.
  const CacheNeed gemma = cache_need(*find_model("Gemma-3-27B"));
  EXPECT_LT(cache_bytes(gemma, 100000, bf16).base(), 0.3 * 100 * cache_bytes(gemma, 1000, bf16).base());
  // fp8 halves keys and values.
  Precision fp8 = bf16;
  fp8.cache = CacheType::fp8;
  const CacheNeed llama = cache_need(*find_model("Llama-3.1-8B"));
  EXPECT_DOUBLE_EQ(2 * cache_bytes(llama, 77, fp8).base(), cache_bytes(llama, 77, bf16).base());
}

TEST(Memory, ADecoderKeepsItsEncoderAndWhatThatHasRead) {
  // Whisper large v3: 1,500 frames of a source, 32 layers, keys and values 1,280 wide, fp16; eight
  // requests of 101 tokens.
  tilecast::Run run = run_of("Whisper-Large-v3", Mode::decode, {8, 1, 100});
  run.workload.source_len = 1500;
  const Gpu h200 = *load_gpu("H200-SXM");
  const auto prepared = prepare(run);
  const auto memory = memory_of(run, *prepared, h200);
  ASSERT_TRUE(memory.ok()) << memory.error().line();
  EXPECT_DOUBLE_EQ(memory->need.cache.base(), 8.0 * (101 + 1500) * 2 * 32 * 1280 * 2);
  EXPECT_NEAR(memory->need.weights.base(), 2.0 * 1.5433e9, 2e6);  // all of its published 1,543 million
  // A source of text is as long as it is said to be.
  tilecast::Run text = run_of("T5-Base", Mode::decode, {8, 1, 100});
  text.workload.source_len = 512;
  EXPECT_DOUBLE_EQ(need_of(text).cache.base(), 8.0 * (101 + 512) * 2 * 12 * 768 * 2);
  // The largest batch pays for both.
  const auto largest = largest_that_fits(run, h200);
  ASSERT_TRUE(largest.ok());
  const double rest = memory->usable.base() - memory->need.weights.base();
  EXPECT_LE(static_cast<double>(largest->batch), rest / (memory->need.cache.base() / 8));
}

// Peaks of torch.cuda.max_memory_allocated on an H200 (data/measurements/h200_models.csv).
struct Measured {
  const char* model;
  const char* mixed;
  Count batch, length;
  bool recompute;
  double peak;
};
void PrintTo(const Measured& m, std::ostream* out) {
  *out << m.model << " " << m.mixed << " " << m.batch << " x " << m.length << (m.recompute ? " recomputed" : "");
}
class TrainingPeak : public testing::TestWithParam<Measured> {};

TEST_P(TrainingPeak, IsWithinEightPercentOfTheMeasuredOne) {
  const Measured& m = GetParam();
  tilecast::Run run = run_of(m.model, Mode::train, {m.batch, m.length, 0}, EngineKind::pytorch);
  run.engine.fused_norms = true;
  if (std::string_view(m.mixed) == "autocast") run.engine.precision.mixed = MixedPrecision::autocast;
  if (m.recompute) run.training.options.recompute = Recompute::full;
  EXPECT_NEAR(need_of(run).total().base() / m.peak, 1, 0.08);
}
INSTANTIATE_TEST_SUITE_P(H200, TrainingPeak,
                         testing::Values(Measured{"GPT-2-Medium", "autocast", 8, 1024, false, 1.728760e10},
                                         Measured{"GPT-2-Medium", "autocast", 8, 1024, true, 1.022647e10},
                                         Measured{"GPT-2-Large", "autocast", 8, 1024, false, 2.962349e10},
                                         Measured{"GPT-2-Large", "none", 8, 1024, false, 2.186098e10},
                                         Measured{"GPT-2-Large", "autocast", 4, 1024, true, 1.396309e10},
                                         Measured{"Llama-3.2-1B", "autocast", 8, 1024, false, 4.486020e10},
                                         Measured{"Llama-3.2-1B", "autocast", 2, 2048, true, 2.324370e10},
                                         Measured{"Llama-3.2-1B", "none", 8, 1024, false, 3.225591e10}));

TEST(Memory, TheLargestThatFitsIsTheLast) {
  const tilecast::Run run = run_of("Llama-3.1-8B", Mode::decode, {1, 1, 8191});
  const auto gpu = load_gpu("H100-SXM");
  ASSERT_TRUE(gpu);
  const auto largest = largest_that_fits(run, *gpu);
  ASSERT_TRUE(largest);
  const auto fits = [&](Count batch) {
    const tilecast::Run one = run_of("Llama-3.1-8B", Mode::decode, {batch, 1, 8191});
    const auto memory = memory_of(one, *prepare(one), *gpu);
    return memory->need.total() <= memory->usable;
  };
  EXPECT_TRUE(fits(largest->batch));
  EXPECT_FALSE(fits(largest->batch + 1));
  EXPECT_EQ(largest->length, 131072);
  EXPECT_TRUE(largest->by_model);
}

TEST(Memory, NothingFitsWhereWeightsAloneDoNot) {
  const auto gpu = load_gpu("L4");
  ASSERT_TRUE(gpu);
  const auto largest = largest_that_fits(run_of("Llama-3.1-70B", Mode::decode, {1, 1, 100}), *gpu);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->batch, 0);
  EXPECT_EQ(largest->length, 0);
}

}  // namespace
}  // namespace tilecast
