#include "diagnose/diagnose.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "diagnose/recording_maker.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "kernel/moe.h"
#include "test_paths.h"
#include "tune/rank.h"

namespace tilecast {
namespace {

Gpu h200() { return *built_in_gpu("H200-SXM"); }

using Maker = RecordingMaker;

Diagnosis diagnosis(Maker& maker) { return *diagnose(maker.recording(), h200(), &shipped_models()); }

double us(Seconds t) { return in_microseconds(t); }

TEST(Timeline, SplitsIdleTimeByCause) {
  Maker m;
  m.kernel("a", 0, 10);                       // busy 0..10
  m.kernel("b", 14, 6).launched(2, 3);        // idle 10..14, launched in time; busy 14..20
  m.kernel("c", 30, 5).launched(22, 6);       // idle 20..30: the host until 28, then the way; busy 30..35
  m.kernel("d", 33, 7, 0, 8).launched(1, 1);  // another stream, overlaps until 40
  m.kernel("e", 50, 1);                       // idle 40..50, nobody knows; busy 50..51
  const Recording r = m.recording();
  const auto lines = timelines(r, std::vector<WorkFamily>(r.kinds.size(), WorkFamily::gemm));
  ASSERT_EQ(lines.size(), 1u);
  const DeviceTimeline& t = lines[0];
  EXPECT_NEAR(us(t.window), 51, 1e-9);
  EXPECT_NEAR(us(t.busy), 10 + 6 + 10 + 1, 1e-9);
  EXPECT_NEAR(us(t.idle_host_late), 8, 1e-9);
  EXPECT_NEAR(us(t.idle_launched), 4 + 2, 1e-9);
  EXPECT_NEAR(us(t.idle_unexplained), 10, 1e-9);
  EXPECT_NEAR(us(t.idle), us(t.idle_host_late + t.idle_launched + t.idle_unexplained), 1e-9);
  EXPECT_EQ(t.gaps, 3);
  ASSERT_EQ(t.longest_gaps.size(), 3u);
  EXPECT_NEAR(us(t.longest_gaps[0].length), 10, 1e-9);
  EXPECT_GE(t.longest_gaps[0].length, t.longest_gaps[1].length);
  double active = 0;
  for (const float part : t.activity) active += part;
  EXPECT_NEAR(active / static_cast<double>(t.activity.size()), 27.0 / 51, 1e-4);
}

TEST(Timeline, HostSpansEndWhereWorkIsQueued) {
  Maker m;
  double at = 0;
  for (int i = 0; i < 5; ++i, at += 10) m.kernel("k", at, 2).launched(at - 4, 3);  // 8 idle, the host 7 of them
  m.kernel("k", 41 + 2, 2).launched(0, 1);                                         // queued long before
  const Recording r = m.recording();
  const DeviceTimeline t = timelines(r, {WorkFamily::gemm})[0];
  ASSERT_EQ(t.host_bound_spans.size(), 1u);
  EXPECT_EQ(t.host_bound_spans[0].launches, 4);
  EXPECT_NEAR(us(t.host_bound_spans[0].start), 2, 1e-9);
  EXPECT_NEAR(us(t.host_bound_spans[0].length), 40, 1e-9);
  EXPECT_NEAR(us(t.host_bound_spans[0].busy), 8, 1e-9);
}

TEST(Timeline, ExposedCollectivesRanAlone) {
  Maker m;
  m.kernel("nvjet", 0, 10).kernel("ncclDevKernel_AllReduce", 5, 20, 0, 9).kernel("nvjet", 20, 10);
  Diagnosis d = diagnosis(m);
  EXPECT_NEAR(us(d.timelines[0].exposed_collectives), 10, 1e-9);  // 10..20
  EXPECT_NEAR(us(d.timelines[0].busy), 30, 1e-9);
  EXPECT_THAT(d.advice, testing::Contains(testing::Field(&Suggestion::title, testing::HasSubstr("Exchange"))));
}

TEST(Diagnose, KernelsOfOneCallAreComparedTogether) {
  OperatorCall mm;
  mm.name = "aten::mm";
  mm.dims = {{16, 3584}, {3584, 3584}};
  mm.types = {"c10::BFloat16", "c10::BFloat16"};
  Maker m;
  for (std::uint64_t call = 1; call <= 3; ++call) {
    const double at = 100.0 * static_cast<double>(call);
    m.again(call, "mm", mm);
    m.kernel("nvjet_sm90_tst_64x16_64x16_4x1_v_bz_splitK_TNT", at, 12, call);
    m.kernel("void cublasLt::splitKreduce_kernel<32>()", at + 12, 2, call);
    m.kernel("Memset (Device)", at + 20, 1, call, 7, Activity::fill);
  }
  const Diagnosis d = diagnosis(m);
  ASSERT_EQ(d.groups.size(), 2u);
  const WorkGroup& g = d.groups[0];
  EXPECT_EQ(g.calls, 3);
  EXPECT_EQ(g.launches, 6);
  EXPECT_NEAR(us(g.per_call()), 14, 1e-9);
  EXPECT_EQ(g.name, "nvjet_sm90_tst_64x16_64x16_4x1_v_bz_splitK_TNT");
  ASSERT_TRUE(g.comparison);
  EXPECT_EQ(dims_text(g.comparison->kernel.shape), "m=16;n=3584;k=3584");
  EXPECT_GE(g.comparison->ceiling, g.comparison->bound);
  EXPECT_GE(g.comparison->forecast, g.comparison->ceiling);
  EXPECT_NEAR(us(g.lost()), std::max(0.0, 3 * (14 - us(g.comparison->ceiling))), 1e-6);
  EXPECT_FALSE(d.groups[1].comparison);  // the fill of a workspace is no product
}

TEST(Diagnose, SumsAreKept) {
  Maker m;
  m.op(1, "aten::mm", {{512, 4096}, {4096, 6144}}).kernel("nvjet_a", 0, 100, 1);
  m.op(2, "aten::add", {{512, 4096}, {512, 4096}}).kernel("void at::native::elementwise_kernel<1>", 100, 30, 2);
  m.kernel("mystery", 130, 20).kernel("Memcpy DtoH (Device -> Pageable)", 150, 5, 0, 7, Activity::copy);
  const Diagnosis d = diagnosis(m);
  EXPECT_NEAR(us(d.total), 155, 1e-9);
  EXPECT_NEAR(us(d.recognised), 135, 1e-9);
  EXPECT_NEAR(us(d.compared), 130, 1e-9);
  Seconds families, groups, lost;
  for (const FamilyTotal& f : d.families) families += f.total, lost += f.lost;
  for (const WorkGroup& g : d.groups) groups += g.total;
  EXPECT_NEAR(us(families), us(d.total), 1e-9);
  EXPECT_NEAR(us(groups), us(d.total), 1e-9);
  EXPECT_NEAR(us(lost), us(d.lost), 1e-9);
  EXPECT_EQ(d.groups.back().total <= d.groups.front().total, true);
}

TEST(Diagnose, OnlyWhatIsClearlySlowerUnderperforms) {
  const auto seen = shape_of_text("gemm bf16 m=4096;n=4096;k=4096");
  const Comparison c = *compare(*seen, "cuBLAS", h200(), &shipped_models());
  for (const auto& [factor, flagged] : {std::pair{0.9, false}, {1.1, false}, {1.3, true}}) {
    WorkGroup g;
    g.calls = 10;
    g.comparison = c;
    g.total = c.ceiling * factor * 10;
    EXPECT_EQ(g.underperforms(), flagged) << factor;
    EXPECT_NEAR(us(g.lost()), us(c.ceiling) * 10 * std::max(0.0, factor - 1), 1e-6);
  }
}

TEST(Diagnose, NothingIsCalledSlowByItsBoundAlone) {
  const auto seen = shape_of_text("kv_write bf16 tokens=4096;kv-heads=8;head-dim=128");
  ASSERT_TRUE(seen) << seen.error().line();
  const Comparison c = *compare(*seen, "vLLM", h200(), &shipped_models());
  EXPECT_EQ(c.ceiling_from, CeilingOrigin::forecast);
  EXPECT_EQ(c.ceiling, c.forecast);
  EXPECT_LT(c.bound, c.forecast);
  EXPECT_EQ(compare(*shape_of_text("gemm bf16 m=512;n=512;k=512"), "cuBLAS", h200(), &shipped_models())->ceiling_from,
            CeilingOrigin::kernels);
}

// A Triton kernel's ceiling is what the tuner's best configuration is forecast to take, its two products alone.
TEST(Diagnose, TilesOfExpertsAreComparedWithTheTunersBest) {
  const auto compared = [](const std::string& dims, std::string_view library) {
    return *compare(*shape_of_text("moe bf16 tokens=8192;hidden=4096;inter=768;experts=128;topk=8" + dims), library,
                    h200(), &shipped_models());
  };
  const Comparison both = compared(";style=triton", "Triton");
  EXPECT_EQ(both.ceiling_from, CeilingOrigin::tuner);
  const Moe shape = both.kernel.shape.as<Moe>();
  const Format bf16 = both.kernel.format;
  const auto ranked = rank_fused_moe(shape, bf16, h200(), triton_configs(bf16, h200()));
  ASSERT_TRUE(ranked);
  EXPECT_EQ(both.ceiling, ranked->front().forecast);
  const auto standard = std::find_if(ranked->begin(), ranked->end(), [&](const RankedConfig& one) {
    return one.config == vllm_default(shape, bf16, DType::bf16);
  });
  ASSERT_NE(standard, ranked->end());
  EXPECT_EQ(both.forecast, standard->forecast);
  EXPECT_LE(both.bound, both.ceiling);
  EXPECT_LE(both.ceiling, both.forecast);
  // data/measurements/README.md: an exhaustive search found 2240 us, vLLM's default takes 2627.
  EXPECT_NEAR(us(both.ceiling), 2240, 0.05 * 2240);
  EXPECT_NEAR(us(both.forecast), 2627, 0.05 * 2627);
  const Comparison up = compared(";style=triton;pass=up", "Triton"),
                   down = compared(";style=triton;pass=down", "Triton");
  EXPECT_NEAR(us(up.bound + down.bound), us(both.bound), 1e-6);
  EXPECT_LE(us(up.ceiling + down.ceiling), us(both.ceiling) + 1e-6);  // each with a configuration of its own
  EXPECT_EQ(compared(";style=grouped", "CUTLASS").ceiling_from, CeilingOrigin::kernels);
}

std::vector<std::string> titles(const Diagnosis& d) {
  std::vector<std::string> all;
  for (const Suggestion& a : d.advice) all.push_back(a.title);
  return all;
}

TEST(Advice, AFastProductNeedsNone) {
  Maker m;
  for (int i = 0; i < 20; ++i) {
    const auto id = static_cast<std::uint64_t>(i) + 1;
    m.op(id, "aten::mm", {{4096, 4096}, {4096, 4096}}).kernel("nvjet_a", i * 190.0, 180, id).launched(0, 1);
  }
  EXPECT_THAT(titles(diagnosis(m)), testing::IsEmpty());
}

TEST(Advice, FindsWhatIsWrong) {
  Maker late;
  for (int i = 0; i < 20; ++i) late.kernel("nvjet_a", i * 100.0, 10).launched(i * 100.0 - 20, 15);
  EXPECT_THAT(titles(diagnosis(late)), testing::Contains(testing::HasSubstr("waits for the host")));

  Maker fp32;
  fp32.op(1, "aten::mm", {{4096, 4096}, {4096, 4096}}, "float")
      .kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8", 0, 2900, 1);
  const Diagnosis slow = diagnosis(fp32);
  ASSERT_THAT(titles(slow), testing::Contains(testing::HasSubstr("fp32 products")));
  EXPECT_GT(us(slow.advice[0].at_stake), 1500);  // 137 GFLOP: at most 500 us with TF32
  EXPECT_LT(us(slow.advice[0].at_stake), 2900);

  Maker pieces;
  pieces.op(1, "aten::bmm", {{32, 1024, 128}, {32, 128, 1024}}).kernel("nvjet_a", 0, 30, 1);
  pieces.op(2, "aten::_softmax", {{1, 32, 1024, 1024}, {}, {}}).kernel("softmax_warp_forward", 40, 60, 2);
  EXPECT_THAT(titles(diagnosis(pieces)), testing::Contains(testing::HasSubstr("in pieces")));

  Maker flash;
  OperatorCall attention;
  attention.name = "aten::_flash_attention_forward";
  attention.dims = {{1, 8192, 32, 128}, {1, 8192, 8, 128}, {1, 8192, 8, 128}};
  attention.types.assign(3, "c10::BFloat16");
  attention.scalars = {"", "", "", "", "", "", "", "", "True"};
  flash.again(1, "flash", attention)
      .kernel("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", 0, 2100, 1);
  EXPECT_THAT(titles(diagnosis(flash)), testing::Contains(testing::HasSubstr("FlashAttention 2")));

  Maker odd;
  odd.op(1, "aten::mm", {{8192, 1024}, {1024, 50257}})
      .kernel("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1", 0, 4000, 1);
  EXPECT_THAT(titles(diagnosis(odd)), testing::Contains(testing::HasSubstr("cannot load in full")));

  Maker copies;
  copies.kernel("Memcpy HtoD (Pageable -> Device)", 0, 100, 0, 7, Activity::copy).kernel("nvjet", 100, 100);
  EXPECT_THAT(titles(diagnosis(copies)), testing::Contains(testing::HasSubstr("pageable")));
}

// A bound that the recorded work beats is a shape misread.
TEST(Diagnose, NoBoundOfTheMeasuredProgramsIsBeaten) {
  int traces = 0, compared = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(TILECAST_SOURCE_DIR "/data/measurements/traces/h200_programs")) {
    const auto recording = read_recording(file.path().string());
    ASSERT_TRUE(recording) << recording.error().line();
    const auto found = diagnose(*recording, h200(), &shipped_models());
    ASSERT_TRUE(found) << found.error().line();
    ++traces;
    const bool convolves = std::any_of(found->families.begin(), found->families.end(), [](const FamilyTotal& family) {
      return family.family == WorkFamily::convolution && family.compared > seconds(0);
    });
    EXPECT_EQ(convolves, file.path().filename().string().starts_with("vit")) << file.path();
    for (const WorkGroup& group : found->groups) {
      if (!group.comparison) continue;
      ++compared;
      EXPECT_LE(group.comparison->bound / group.per_call(), 1.02) << file.path().filename() << " " << group.name;
    }
  }
  EXPECT_GE(traces, 16);
  EXPECT_GT(compared, 200);
}

TEST(Diagnose, AttentionOfAnUnknownMaskIsNotJudged) {
  const auto compared = [](std::vector<std::string> scalars) {
    Maker m;
    OperatorCall attention;
    attention.name = "aten::_flash_attention_forward";
    attention.dims = {{1, 8192, 32, 128}, {1, 8192, 8, 128}, {1, 8192, 8, 128}};
    attention.types.assign(3, "c10::BFloat16");
    attention.scalars = std::move(scalars);
    m.again(1, "flash", attention).kernel("fmha_cutlassF_bf16_aligned_64x128_rf_sm80", 0, 2100, 1);
    return diagnosis(m);
  };
  const Diagnosis unknown = compared({}), known = compared({"", "", "", "", "", "", "", "", "True"});
  EXPECT_FALSE(unknown.groups[0].comparison);
  EXPECT_THAT(unknown.notes, testing::Contains(testing::HasSubstr("does not tell its mask")));
  EXPECT_TRUE(known.groups[0].comparison);
  EXPECT_TRUE(known.notes.empty());
}

Diagnosis experts(Count tokens, double per_call, std::string_view gpu = {}) {
  Maker m;
  m.op(1, "vllm::inplace_fused_experts",
       {{tokens, 4096}, {128, 1536, 4096}, {128, 4096, 768}, {tokens, 8}, {tokens, 8}});
  m.kernel("fused_moe_kernel", 0, per_call * 0.6, 1).kernel("fused_moe_kernel", per_call * 0.6, per_call * 0.4, 1);
  return *diagnose(m.recording(), h200(), &shipped_models(), gpu);
}

TEST(Advice, SaysHowToTuneALayer) {
  const Diagnosis slow = experts(8192, 4640);
  ASSERT_THAT(titles(slow), testing::ElementsAre("The fused-MoE kernel's tiles do not fit the layer"));
  EXPECT_THAT(slow.advice[0].action,
              testing::StartsWith("tilecast tune fused-moe --gpu H200-SXM --experts 128 --hidden 4096 --inter 768 "
                                  "--topk 8 -o tuned "));
  EXPECT_NEAR(us(slow.advice[0].at_stake), 4640 - us(slow.groups[0].comparison->ceiling), 1e-6);
  EXPECT_THAT(experts(8192, 4640, "my gpu.json").advice[0].action, testing::HasSubstr("--gpu 'my gpu.json' "));
  EXPECT_THAT(titles(experts(8192, 2280)), testing::IsEmpty());  // as measured with the tuner's pick
  EXPECT_THAT(titles(experts(64, 554)), testing::IsEmpty());     // nothing to gain: the weights are read once
}

// Traces of a real H200 (data/measurements/README.md says how they were made).
TEST(Diagnose, RealTracesAreRecognised) {
  const std::string folder = TILECAST_SOURCE_DIR "/data/measurements/traces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const char* file :
       {"h200_eager.json.gz", "h200_serving.json.gz", "h200_compiled.json.gz", "h200_moe_sglang_default.json.gz",
        "h200_moe_tuned.json.gz", "h200_serving_ncu_raw.csv.gz", "h200_serving_ncu_details.csv.gz"}) {
    const auto recording = read_recording(folder + file);
    ASSERT_TRUE(recording) << recording.error().line();
    const Diagnosis d = *diagnose(*recording, h200(), &shipped_models());
    EXPECT_GT(d.recognised / d.total, 0.99) << file;
    for (const DeviceTimeline& t : d.timelines) {
      EXPECT_LE(t.busy, t.window) << file;
      EXPECT_NEAR(us(t.idle), us(t.idle_host_late + t.idle_launched + t.idle_unexplained), 1e-3) << file;
    }
    for (const WorkGroup& g : d.groups)
      if (g.comparison && g.comparison->from == ShapeOrigin::operator_dims && g.family == WorkFamily::gemm) {
        EXPECT_GE(g.per_call(), g.comparison->bound) << g.op;  // no run beats the bound
      }
  }
}

// docs/walkthrough.md.
TEST(Diagnose, ATunedLayerIsNoLongerFlagged) {
  const std::string folder = TILECAST_SOURCE_DIR "/data/measurements/traces/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const auto& [file, flagged] : {std::pair{"h200_moe_sglang_default.json.gz", 1}, {"h200_moe_tuned.json.gz", 0}}) {
    const auto recording = read_recording(folder + file);
    ASSERT_TRUE(recording) << recording.error().line();
    const Diagnosis d = *diagnose(*recording, h200(), &shipped_models());
    const auto slow = [](const WorkGroup& g) { return g.family == WorkFamily::moe && g.underperforms(); };
    EXPECT_EQ(std::count_if(d.groups.begin(), d.groups.end(), slow), flagged) << file;
    EXPECT_EQ(testing::Value(titles(d), testing::Contains(testing::HasSubstr("fused-MoE"))), flagged == 1) << file;
  }
}

// A ceiling is what others reached, or the forecast where nobody measured: a kernel that is faster stands at its own.
TEST(Diagnose, AKernelFasterThanItsCeilingIsAtIt) {
  const auto recorded = [](double us) {
    Maker m;
    m.op(1, "aten::_softmax_backward_data", {{8192, 16384}, {8192, 16384}});
    m.kernel("void cunn_SoftMaxBackward<8, c10::BFloat16, float, c10::BFloat16>", 0, us, 1);
    return diagnosis(m);
  };
  const Diagnosis slow = recorded(1e6);
  ASSERT_EQ(slow.groups.size(), 1u);
  ASSERT_TRUE(slow.groups[0].comparison);
  const Comparison usual = *slow.groups[0].comparison;
  EXPECT_NE(usual.ceiling_from, CeilingOrigin::recorded);
  EXPECT_TRUE(slow.groups[0].underperforms());
  ASSERT_LT(us(usual.bound), us(usual.ceiling));
  const double between = (us(usual.bound) + us(usual.ceiling)) / 2;
  const Diagnosis fast = recorded(between);
  const WorkGroup& group = fast.groups[0];
  EXPECT_EQ(group.comparison->ceiling_from, CeilingOrigin::recorded);
  EXPECT_NEAR(us(group.comparison->ceiling), between, 1e-3);
  EXPECT_EQ(us(group.lost()), 0);
  EXPECT_FALSE(group.underperforms());
  // Nothing beats the bound: what seems to has been read wrongly.
  EXPECT_NEAR(us(recorded(us(usual.bound) / 2).groups[0].comparison->ceiling), us(usual.bound), 1e-3);
}

TEST(Recording, EveryDeviceAndStreamIsALaneOfItsOwn) {
  RecordingBuilder builder("made", "made");
  WorkSeen seen;
  seen.name = "a", seen.duration = 1;
  for (const auto& [device, stream] : {std::pair<Count, Count>(1, 0), {0, Count{1} << 32}, {0, -1}, {1, 0}}) {
    seen.device = device, seen.stream = stream;
    builder.work(seen);
  }
  const auto recording = std::move(builder).finish();
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->lanes.size(), 3u);
}

}  // namespace
}  // namespace tilecast
