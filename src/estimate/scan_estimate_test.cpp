// State-space kernels that no table holds: their physics against an H200's own times, and who is asked about them.
#include <gtest/gtest.h>

#include <array>

#include "estimate/estimate.h"
#include "estimate/price.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/scan.h"

namespace tilecast {
namespace {

Scan update(Count batch, Count heads, Count groups, Count state, StateType type) {
  Scan s;
  s.kind = ScanKind::state_update, s.phase = ScanPhase::generation;
  s.batch = batch, s.heads = heads, s.head_dim = 64, s.key_heads = groups, s.key_dim = state, s.state = type;
  return s;
}
Context under(Launcher engine) {
  Context context;
  context.engine = engine;
  return context;
}

// vLLM's Triton kernel in a CUDA graph, states of several layers in turn.
TEST(ScanEstimate, MambasUpdateAsAnH200RunsIt) {
  struct Timed {
    Count batch, heads, groups, state;
    StateType type;
    double us;
  };
  constexpr std::array kTimed = {
      Timed{8, 128, 8, 128, StateType::fp32, 21.1},   Timed{64, 128, 8, 128, StateType::fp32, 154.4},
      Timed{256, 128, 8, 128, StateType::fp32, 621},  Timed{64, 32, 1, 128, StateType::fp32, 40.8},
      Timed{64, 128, 8, 64, StateType::fp32, 75.5},   Timed{64, 128, 8, 16, StateType::fp32, 20.5},
      Timed{16, 256, 8, 256, StateType::fp32, 161.4}, Timed{64, 128, 8, 128, StateType::bf16, 148.8},
      Timed{8, 128, 8, 128, StateType::bf16, 20.7},   Timed{512, 64, 8, 128, StateType::bf16, 588},
  };
  const Gpu gpu = *find_gpu("H200-SXM");
  for (const Timed& t : kTimed) {
    const Kernel kernel{update(t.batch, t.heads, t.groups, t.state, t.type), *format_from("bf16")};
    const auto priced = price(kernel, gpu, under(Launcher::vllm), Method::tilecast, &shipped_models());
    ASSERT_TRUE(priced.ok());
    const Estimate& e = priced->estimate;
    EXPECT_NEAR(in_microseconds(e.latency) / t.us, 1, 0.2) << t.batch << " " << t.heads << " " << t.state;
    EXPECT_GE(t.us, in_microseconds(e.interval.low));
    EXPECT_LE(t.us, in_microseconds(e.interval.high));
  }
}

// Rows of convolutions and delta rules say nothing of Mamba-2's kernels, on however many cards they were measured.
TEST(ScanEstimate, KindsWithoutRowsAreNotSeen) {
  const Gpu gpu = *find_gpu("H200-SXM");
  const auto seen = [&](const Scan& s, Launcher engine) {
    const auto priced = price({s, *format_from("bf16")}, gpu, under(engine), Method::tilecast, &shipped_models());
    return priced->estimate.seen;
  };
  Scan chunks = update(1, 128, 8, 128, StateType::fp32);
  chunks.kind = ScanKind::ssd_chunk, chunks.phase = ScanPhase::context, chunks.seq_len = 4096;
  Scan rule = update(64, 32, 16, 128, StateType::fp32);
  rule.kind = ScanKind::recurrent_gated_delta;
  for (const Launcher engine : {Launcher::vllm, Launcher::sglang, Launcher::trtllm}) {
    EXPECT_EQ(seen(update(64, 128, 8, 128, StateType::fp32), engine), Seen::no);
    EXPECT_EQ(seen(chunks, engine), Seen::no);
    EXPECT_EQ(seen(rule, engine), Seen::yes);
  }
}

TEST(ScanEstimate, AScanIsForecastByRowsOfWhatItComputes) {
  const FamilyModel* model = shipped_models().find("scan/bf16");
  ASSERT_NE(model, nullptr);
  const Gpu gpu = *find_gpu("H200-SXM");
  const auto stands = [&](ScanKind kind, ScanPhase phase, bool fused) {
    Scan s;
    s.kind = kind, s.phase = phase, s.fused = fused;
    const Shape shape(s);
    return stand_in(*model, under(Launcher::vllm), gpu, &shape).kernel_source.text();
  };
  EXPECT_EQ(stands(ScanKind::recurrent_gated_delta, ScanPhase::generation, false),
            "fused_recurrent_gated_delta_rule_packed_decode");
  EXPECT_EQ(stands(ScanKind::chunk_gated_delta, ScanPhase::context, true), "chunk_gated_delta_rule_flashinfer");
  EXPECT_EQ(stands(ScanKind::conv1d, ScanPhase::generation, false), "causal_conv1d_update");
  EXPECT_EQ(stands(ScanKind::conv1d, ScanPhase::context, false), "causal_conv1d_fn");
}

}  // namespace
}  // namespace tilecast
