#include "diagnose/retime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cluster/registry.h"
#include "diagnose/exchange.h"
#include "diagnose/json_events.h"
#include "diagnose/recording_maker.h"
#include "diagnose/transfer.h"
#include "estimate/shipped_weights.h"
#include "gpu/registry.h"
#include "support/statistics.h"
#include "support/test_files.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kTraces = TILECAST_SOURCE_DIR "/data/measurements/traces/";

Gpu card(std::string_view name) { return *built_in_gpu(name); }

std::vector<std::string> event_texts(const std::string& path) {
  std::vector<std::string> texts;
  const auto scanned = scan_events(
      path,
      [&](std::string_view text) -> Status {
        texts.emplace_back(text);
        return Ok{};
      },
      [&](std::string_view key, std::string_view value) {
        texts.push_back(std::string(key) + " " + std::string(value));
      });
  EXPECT_TRUE(scanned.ok()) << scanned.error().line();
  return texts;
}

struct Asked {
  Recording recording;
  GroupedWork work;
  std::vector<RetimedGroup> groups;
  Retimed times;
};
Asked retimed(const std::string& path, const Gpu& from, const Gpu& to) {
  auto recording = read_recording(path);
  EXPECT_TRUE(recording.ok()) << recording.error().line();
  GroupedWork work = group_work(*recording);
  auto groups = *retime_groups(work, {from, to, nullptr, nullptr, &shipped_models()});
  auto times = retime(*recording, work, groups);
  EXPECT_TRUE(times.ok());
  return {*std::move(recording), std::move(work), std::move(groups), *std::move(times)};
}

// The law: a trace re-timed for its own card is itself, to the nanosecond and to the letter.
TEST(Retime, ATraceForItsOwnCardIsItself) {
  const TestFolder folder;
  for (const char* name :
       {"h200_eager.json.gz", "h200_compiled.json.gz", "h200_serving.json.gz", "h200_moe_tuned.json.gz",
        "h200_programs/gpt2-training-eager-batch4_length1024_layers4.json.gz"}) {
    const std::string path = kTraces + name;
    const Asked asked = retimed(path, card("H200-SXM"), card("H200-SXM"));
    for (const RetimedGroup& group : asked.groups) {
      EXPECT_EQ(group.ratio, 1);
      EXPECT_EQ(group.low, 1);
      EXPECT_EQ(group.high, 1);
    }
    for (std::size_t i = 0; i < asked.recording.events.size(); ++i) {
      ASSERT_EQ(asked.times.schedule.events[i].start, asked.recording.events[i].start) << name << " " << i;
      ASSERT_EQ(asked.times.schedule.events[i].duration, asked.recording.events[i].duration);
    }
    const std::string copy = folder.file("copy.json.gz");
    ASSERT_TRUE(write_retimed(asked.recording, asked.times.schedule, copy).ok());
    EXPECT_EQ(event_texts(copy), event_texts(path)) << name;
  }
}

// What is written can be read again, and shows the new times.
TEST(Retime, TheWrittenTraceShowsTheNewTimes) {
  const TestFolder folder;
  const std::string path = kTraces + "h200_eager.json.gz", copy = folder.file("b200.json");
  const Asked asked = retimed(path, card("H200-SXM"), card("B200"));
  ASSERT_TRUE(write_retimed(asked.recording, asked.times.schedule, copy).ok());
  const auto again = read_recording(copy);
  ASSERT_TRUE(again.ok()) << again.error().line();
  ASSERT_EQ(again->events.size(), asked.recording.events.size());
  const auto lines = timelines(*again, group_work(*again).families);
  ASSERT_EQ(lines.size(), asked.times.retimed.size());
  EXPECT_NEAR(lines[0].window / asked.times.retimed[0].window, 1, 1e-9);
  EXPECT_NEAR(lines[0].busy / asked.times.retimed[0].busy, 1, 1e-9);
  EXPECT_LT(lines[0].busy, asked.times.recorded[0].busy);
  // Arrows from launches still end where their work starts.
  EXPECT_EQ(event_texts(copy).size(), event_texts(path).size());
}

TEST(Retime, KernelsTakeTheRatioOfTheirForecasts) {
  RecordingMaker m;
  m.op(1, "aten::mm", {{512, 4096}, {4096, 6144}}).kernel("nvjet_sm90_tst_192x128", 0, 50, 1);
  m.kernel("mystery", 60, 20);
  m.kernel("rotary_embedding_kernel", 90, 40);
  m.kernel("Memcpy HtoD (Pageable -> Device)", 140, 10, 0, 7, Activity::copy);
  m.kernel("ampere_sgemm_128x64", 160, 10);
  const GroupedWork work = group_work(m.recording());
  const Gpu from = card("H200-SXM"), to = card("B200");
  const auto groups = *retime_groups(work, {from, to, nullptr, nullptr, &shipped_models()});
  int found = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string& name = work.groups[i].group.full_name;
    const RetimedGroup& g = groups[i];
    if (name == "nvjet_sm90_tst_192x128") {
      const auto before = compare(*work.groups[i].shape, "cuBLAS", from, &shipped_models());
      const auto after = compare(*work.groups[i].shape, "cuBLAS", to, &shipped_models());
      EXPECT_DOUBLE_EQ(g.ratio, after->forecast / before->forecast);
      EXPECT_LT(g.ratio, 0.8);
      EXPECT_LE(g.low, g.ratio);
      EXPECT_GE(g.high, g.ratio);
      EXPECT_EQ(g.from, RetimeBasis::shape);
      ++found;
    } else if (name == "rotary_embedding_kernel") {
      EXPECT_EQ(g.from, RetimeBasis::stream);
      ++found;
      EXPECT_NEAR(g.ratio, from.dram.bandwidth / to.dram.bandwidth, 0.15) << "a stream of 40 us is mostly memory";
    } else {
      EXPECT_EQ(g.from, RetimeBasis::recorded) << name;
      EXPECT_EQ(g.ratio, 1);
      EXPECT_FALSE(g.why.empty());
      ++found;
    }
  }
  EXPECT_EQ(found, 5);
}

TEST(RecordedExchange, SizesAreThoseOfNcclTests) {
  const auto reduce = exchange_from("allreduce|1024|1024|BFloat16|8|[0, 1, 2, 3, 4, 5, 6, 7]");
  ASSERT_TRUE(reduce);
  EXPECT_EQ(reduce->op, CollectiveOp::all_reduce);
  EXPECT_EQ(reduce->bytes, bytes(2048));
  EXPECT_EQ(reduce->gpus_needed(), 8);
  EXPECT_EQ(reduce->local_on(8), 0);
  const auto gather = exchange_from("_allgather_base|1024|8192|Float|8|");
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->bytes, bytes(32768));
  EXPECT_EQ(gather->gpus_needed(), 8);
  const auto scatter = exchange_from("_reduce_scatter_base|8192|1024|Float|8|");
  EXPECT_EQ(scatter->bytes, bytes(32768));
  // Cut lists go on in the same steps.
  const auto spread = exchange_from("allreduce|10|10|Float|4|[1, 5, ...]");
  ASSERT_TRUE(spread);
  EXPECT_THAT(spread->members, testing::ElementsAre(1, 5, 9, 13));
  EXPECT_EQ(spread->gpus_needed(), 14);
  EXPECT_EQ(spread->local_on(8), 2);
  EXPECT_EQ(spread->local_on(4), 1);
  EXPECT_EQ(exchange_from("send|10|10|Float|8|[0, 1]")->ranks, 2);
  for (const char* none : {"", "barrier|1|1|Float|8|", "allreduce|x|x|Float|8|", "allreduce|4|4|Odd|8|",
                           "allreduce|4|4|Float|1|", "allreduce|4|4|Float|99999999|", "a|b", "allreduce|4|4|Float|8"})
    EXPECT_FALSE(exchange_from(none)) << none;
}

TEST(Retime, CollectivesTakeTheRatioOfTheClusters) {
  RecordingMaker m;
  m.exchange("ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
             "allreduce|33554432|33554432|BFloat16|8|[0, 1, 2, 3, 4, 5, 6, 7]", 0, 400);
  m.exchange("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "", 500, 100);
  const GroupedWork work = group_work(m.recording());
  EXPECT_EQ(gpus_of_exchanges(work), 8);
  ASSERT_EQ(work.groups.size(), 2u) << "by size";
  const auto h100 = cluster_of("hgx-h100"), b200 = cluster_of("hgx-b200");
  ASSERT_TRUE(h100.ok() && b200.ok());
  const auto groups = *retime_groups(work, {h100->gpu, b200->gpu, &*h100, &*b200, &shipped_models()});
  const std::size_t sized = work.groups[0].exchange.empty() ? 1 : 0;
  Collective call;
  call.bytes = bytes(67108864), call.ranks = 8;
  const auto before = forecast_collective(call, *h100, shipped_comm_constants());
  const auto after = forecast_collective(call, *b200, shipped_comm_constants());
  EXPECT_EQ(groups[sized].from, RetimeBasis::collective);
  EXPECT_DOUBLE_EQ(groups[sized].ratio, after->latency / before->latency);
  EXPECT_LT(groups[sized].ratio, 1);
  EXPECT_EQ(groups[1 - sized].from, RetimeBasis::recorded);
  const auto same = *retime_groups(work, {h100->gpu, h100->gpu, &*h100, &*h100, &shipped_models()});
  EXPECT_EQ(same[sized].ratio, 1);
  const auto unknown = *retime_groups(work, {h100->gpu, b200->gpu, &*h100, nullptr, &shipped_models()});
  EXPECT_EQ(unknown[sized].from, RetimeBasis::recorded);
}

// Kernels of a recording from those of another, of the same program at another batch or length. Figures with every pair
// of sizes: docs/accuracy/retime.md.
TEST(Transfer, KernelsAtAnotherBatchOrLength) {
  const std::string folder = kTraces + "h200_programs/";
  std::vector<double> errors;
  for (const auto& [from, to] :
       {std::pair{"gpt2-training-eager-batch4_length1024_layers4", "gpt2-training-eager-batch8_length2048_layers4"},
        std::pair{"llama-inference-eager-batch1_length4096_layers4_hidden4096",
                  "llama-inference-eager-batch2_length2048_layers4_hidden4096"}}) {
    const auto first = read_recording(folder + from + ".json.gz"), second = read_recording(folder + to + ".json.gz");
    ASSERT_TRUE(first.ok() && second.ok());
    const Transfer t = transfer(*first, *second, card("H200-SXM"), &shipped_models());
    EXPECT_GT(t.recorded, t.total * 0.5) << to;
    EXPECT_NEAR(t.forecast / t.recorded, 1, 0.15) << to;
    for (const TransferredWork& w : t.work) errors.push_back(std::abs(w.error()));
    const Transfer itself = transfer(*second, *second, card("H200-SXM"), &shipped_models());
    for (const TransferredWork& w : itself.work) EXPECT_NEAR(w.error(), 0, 1e-12) << "of itself";
    const auto strange =
        transfer(*second, *read_recording(kTraces + "h200_serving.json.gz"), card("H200-SXM"), nullptr);
    EXPECT_LE(strange.recorded, strange.total);
  }
  EXPECT_LT(median(errors), 0.15);
}

}  // namespace
}  // namespace tilecast
