#include "kernel/scan.h"

#include "constants/scan.h"
#include "gpu/registry.h"
#include "kernel/kernel.h"
#include "kernel/plan_bytes_testing.h"

namespace tilecast {
namespace {

// Qwen3.5's Gated DeltaNet: 16 key heads, 32 value heads of 128; 8192 channels convolved.
Scan gdn(ScanKind kind, ScanPhase phase, Count batch, Count length) {
  Scan s;
  s.kind = kind;
  s.phase = phase;
  s.batch = batch;
  s.seq_len = length;
  s.heads = 32;
  s.key_heads = 16;
  s.key_dim = 128;
  s.state = StateType::bf16;
  return s;
}

TEST(Scan, ConvolutionOfAPromptByHand) {
  const Plan plan = on_h100(gdn(ScanKind::conv1d, ScanPhase::context, 2, 20), "bf16");
  ASSERT_EQ(plan.launches.size(), 1u);
  const Launch& launch = plan.launches[0];
  EXPECT_EQ(launch.ctas, 2 * 3 * 32);  // ceil(20 / 8) pieces, 8192 / 256 blocks of channels
  EXPECT_DOUBLE_EQ(bytes_of(launch, "x"), 40.0 * 8192 * 2);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "conv_state"), 2.0 * 8192 * 3 * 2);
  EXPECT_DOUBLE_EQ(in_ops(launch.required.vector), 40.0 * 8192 * 4);
  // Each of 6 pieces loads the taps; the 4 that do not start a sequence load 3 tokens before them.
  EXPECT_NEAR(in_bytes(launch.total().l2_load), 8192 * 2.0 * (40 + 6 * 4 + 4 * 3), 1);
}

TEST(Scan, ConvolutionUpdateShiftsItsState) {
  const Launch launch = on_h100(gdn(ScanKind::conv1d, ScanPhase::generation, 64, 1), "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 64 * 32);
  const double x = 64.0 * 8192 * 2;
  EXPECT_DOUBLE_EQ(in_bytes(launch.total().l2_store), x + 3 * x);
}

TEST(Scan, ChannelsCanBeGivenAndSplit) {
  Scan s = gdn(ScanKind::conv1d, ScanPhase::context, 1, 8);
  s.channels = 2048;
  EXPECT_DOUBLE_EQ(bytes_of(on_h100(s, "bf16").launches[0], "x"), 8.0 * 2048 * 2);
  s.channels = 3072;
  s.convolutions = 3;
  const Plan plan = on_h100(s, "bf16");
  ASSERT_EQ(plan.launches.size(), 3u);
  EXPECT_DOUBLE_EQ(compulsory(plan).read, 8.0 * 3072 * 2 + 3072 * 4 * 2);
}

TEST(Scan, RecurrenceReadsAndWritesTheState) {
  const Launch launch = on_h100(gdn(ScanKind::recurrent_gated_delta, ScanPhase::generation, 4, 1), "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 4 * 32 * 4);  // 128 values in blocks of 32
  const double state = 4.0 * 32 * 128 * 128 * 2;
  EXPECT_DOUBLE_EQ(bytes_of(launch, "state"), state);
  EXPECT_NEAR(in_bytes(launch.total().l2_store), 2 * state + 4 * 32 * 128 * 2, 1);  // it leaves in fp32
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2 * 4 * 4.0 * 32 * 128 * 128);
}

TEST(Scan, VerifyKeepsAStatePerToken) {
  Scan s = gdn(ScanKind::recurrent_kda, ScanPhase::verify, 4, 8);
  s.key_heads = 32;
  const Launch launch = on_h100(s, "bf16").launches[0];
  EXPECT_DOUBLE_EQ(bytes_of(launch, "checkpoints"), 8 * bytes_of(launch, "state"));
  EXPECT_DOUBLE_EQ(bytes_of(launch, "gates"), 4.0 * 8 * 32 * 128 * 2);  // one gate per key channel
  EXPECT_EQ(launch.tasks[0].steps, constants::kRecurrentTrips.value + 7 * constants::kTokenTrips.value);
}

TEST(Scan, ChunkedProductsByHand) {
  const Plan plan = on_h100(gdn(ScanKind::chunk_gated_delta, ScanPhase::context, 1, 128), "bf16");
  ASSERT_EQ(plan.launches.size(), 8u);  // two norms, gates, scores, inverse, keys and values, states, output
  const Launch& states = plan.launches[6];
  EXPECT_EQ(states.ctas, 2 * 32);  // 128 values in blocks of 64
  EXPECT_EQ(states.tasks[0].steps,
            constants::kStageTrips.value + 2 * constants::kChunkTrips.value);  // two chunks of 64
  // w S and K^T v' for 128 tokens of 32 heads; no token is padding.
  EXPECT_DOUBLE_EQ(in_ops(states.total().tensor), 4.0 * 128 * 128 * 128 * 32);
  EXPECT_DOUBLE_EQ(in_ops(states.required.tensor), in_ops(states.total().tensor));
  EXPECT_DOUBLE_EQ(in_ops(plan.launches[3].total().tensor), 2.0 * 64 * 64 * 128 * 64);
  const double qk = 128.0 * 16 * 128 * 2, v = 128.0 * 32 * 128 * 2, state = 32.0 * 128 * 128 * 2;
  EXPECT_DOUBLE_EQ(compulsory(plan).read, 2 * qk + v + 128.0 * 32 * 2 + state);
  EXPECT_DOUBLE_EQ(compulsory(plan).written, v + state);
}

Plan on(std::string_view gpu, const Scan& s, std::string_view engine) {
  Context context;
  context.engine = Launcher::named(engine);
  return *plan(s, *format_from("bf16"), *find_gpu(gpu), context);
}

// TensorRT-LLM's kernel has a CTA for each channel of a sequence, 1024 tokens a round: 20 tokens cost as much as 1024,
// and more where they are no multiple of eight.
TEST(Scan, TrtllmConvolvesChannelByChannel) {
  const auto launch = [](Count length) {
    return on("H100-SXM", gdn(ScanKind::conv1d, ScanPhase::context, 2, length), "trtllm").launches[0];
  };
  EXPECT_EQ(launch(24).ctas, 2 * 8192);
  EXPECT_DOUBLE_EQ(in_ops(launch(24).total().vector), 2 * 2 * 8192 * 1024 * constants::kCudaConvSlots.value);
  EXPECT_DOUBLE_EQ(in_ops(launch(1024).total().vector), in_ops(launch(24).total().vector));
  EXPECT_DOUBLE_EQ(in_ops(launch(20).total().vector), in_ops(launch(24).total().vector) * constants::kScalarConv.value);
  EXPECT_DOUBLE_EQ(in_ops(launch(2048).total().vector), 2 * in_ops(launch(24).total().vector));
}

// Four diagonal blocks of 16 rows, 14 of them loaded one after another: in turn, or each by a CTA of its own.
TEST(Scan, InverseWaitsForItsRows) {
  const Scan s = gdn(ScanKind::chunk_gated_delta, ScanPhase::context, 1, 128);
  const double stage = constants::kStageTrips.value;
  const Plan served = on("L40S", s, "sglang"), older = on("L40S", s, "trtllm");
  EXPECT_EQ(served.launches[4].tasks[0].steps, stage + 4 * 14);
  EXPECT_EQ(older.launches[4].tasks[0].steps, stage + 14);
  EXPECT_EQ(older.launches[4].ctas, 4 * served.launches[4].ctas);
  EXPECT_EQ(older.launches.size(), served.launches.size() + 1);
}

TEST(Scan, ShortSequencesHaveShortChunks) {
  const Plan plan = on_h100(gdn(ScanKind::chunk_gated_delta, ScanPhase::context, 1, 20), "bf16");
  EXPECT_DOUBLE_EQ(in_ops(plan.launches[3].total().tensor), 2.0 * 32 * 32 * 128 * 32);
}

// KDA's gates are a number for each key channel: more bytes between its kernels than the gated delta rule's.
TEST(Scan, KdaMovesItsGates) {
  const auto moved = [](ScanKind kind) {
    Scan s = gdn(kind, ScanPhase::context, 1, 4096);
    s.key_heads = 32;
    double sum = 0;
    for (const Launch& launch : on_h100(s, "bf16").launches)
      sum += in_bytes(launch.total().l2_load + launch.total().l2_store);
    return sum;
  };
  EXPECT_GT(moved(ScanKind::chunk_kda), 1.5 * moved(ScanKind::chunk_gated_delta));
}

TEST(Scan, FusedFormNeedsTheSameAndIsOneLaunchAmongHelpers) {
  Scan s = gdn(ScanKind::chunk_gated_delta, ScanPhase::context, 2, 4096);
  const Plan stages = on_h100(s, "bf16");
  s.fused = true;
  const Plan fused = on_h100(s, "bf16");
  ASSERT_EQ(fused.launches.size(), 1u + static_cast<std::size_t>(constants::kFusedHelpers));
  EXPECT_DOUBLE_EQ(compulsory(fused).read, compulsory(stages).read);
  EXPECT_DOUBLE_EQ(compulsory(fused).written, compulsory(stages).written);
  double required = 0;
  for (const Launch& launch : stages.launches) required += in_ops(launch.required.tensor);
  EXPECT_NEAR(in_ops(fused.launches[0].required.tensor), required, 1e-6 * required);
}

TEST(Scan, ShortSequencesWithoutAStateNeedFewOperations) {
  Scan s = gdn(ScanKind::chunk_gated_delta, ScanPhase::context, 1, 1);
  s.fused = true;
  s.carry = false;
  EXPECT_DOUBLE_EQ(in_ops(on_h100(s, "bf16").launches[0].required.tensor), 256.0 * 32);  // (K + V) per head
}

TEST(Scan, RequiredNeverExceedsPlanned) {
  for (const ScanKind kind : {ScanKind::chunk_gated_delta, ScanKind::chunk_kda, ScanKind::ssd_chunk})
    for (const Count length : {1, 63, 64, 65, 1000})
      for (const bool fused : {false, true}) {
        Scan s = gdn(kind, ScanPhase::context, 3, length);
        s.fused = fused;
        for (const Launch& launch : on_h100(s, "bf16").launches) {
          EXPECT_LE(in_ops(launch.required.tensor), in_ops(launch.total().tensor) * (1 + 1e-9)) << launch.name;
          EXPECT_LE(in_ops(launch.required.vector), in_ops(launch.total().vector) * (1 + 1e-9)) << launch.name;
        }
      }
}

TEST(Scan, MambaStateUpdateByHand) {
  Scan s;
  s.kind = ScanKind::state_update;
  s.phase = ScanPhase::generation;
  s.batch = 2;
  s.heads = 64;
  s.head_dim = 64;
  s.key_heads = 8;
  s.key_dim = 128;
  const Launch launch = on_h100(s, "bf16").launches[0];
  EXPECT_EQ(launch.ctas, 2 * 64 * 16);  // four values a program at a state dimension of 128
  EXPECT_DOUBLE_EQ(in_ops(launch.total().vector), 2.0 * constants::kUpdateSlots.value * 128 * 2 * 64 * 16);
  EXPECT_EQ(launch.tasks[0].steps, constants::kUpdateTrips.value);
  EXPECT_DOUBLE_EQ(bytes_of(launch, "state"), 2.0 * 64 * 64 * 128 * 4);
}

TEST(Scan, ContradictionsAreRefused) {
  EXPECT_FALSE(gdn(ScanKind::chunk_kda, ScanPhase::generation, 1, 1).check());
  EXPECT_FALSE(gdn(ScanKind::recurrent_kda, ScanPhase::generation, 1, 2).check());
  Scan s = gdn(ScanKind::conv1d, ScanPhase::context, 1, 8);
  s.key_heads = 5;
  EXPECT_FALSE(s.check());
  s.key_heads = 16;
  s.fused = true;
  EXPECT_FALSE(s.check());
}

}  // namespace
}  // namespace tilecast
