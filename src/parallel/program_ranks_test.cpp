#include "parallel/program_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/registry.h"

namespace tilecast {
namespace {

// Two ranks of which each multiplies 4096 x 4096 x 4096 in bf16 and all-reduces `count` numbers.
ProgramFile two_ranks(Count count) {
  ProgramFile file;
  file.name = "two", file.world = 2, file.modules = {""}, file.phases = {"forward"};
  file.groups = {{"0", {0, 1}}};
  file.layouts = {{"bf16", true, {4096, 4096}, {4096, 1}}, {"bf16", true, {count}, {1}}};
  const auto tensor = [](const char* name, Count layout) {
    return ProgramArgument{name, ProgramValue::tensor, {layout}, {}, {}};
  };
  file.operators = {
      {"aten.mm", false, {tensor("self", 0), tensor("mat2", 0)}, {0}},
      {"_c10d_functional.all_reduce",
       false,
       {tensor("input", 1), {"group_name", ProgramValue::text, {}, {}, "0"}},
       {1}},
      {"_c10d_functional.wait_tensor", false, {tensor("tensor", 1)}, {1}},
      {"c10d.allreduce_",
       false,
       {{"tensors", ProgramValue::tensors, {1}, {}, {}}, {"process_group", ProgramValue::text, {}, {}, "0"}},
       {1}}};
  file.storages.assign(3, {1 << 25, true, StorageRole::other, -1, -1});
  return file;
}

ProgramCall rank_product(int stream = 0) { return {0, 0, 0, {0}, {1}, -1, stream}; }
ProgramCall rank_reduce() { return {1, 0, 0, {2}, {2}, -1, 0}; }
ProgramCall rank_wait() { return {2, 0, 0, {2}, {2}, -1, 0}; }
ProgramCall reduce_in_stream(int stream) { return {3, 0, 0, {2}, {2}, -1, stream}; }

struct RankRun {
  SpreadStep step;
  Seconds product;
};
RankRun ran_ranks(const ProgramFile& file, double pace = 1) {
  const Cluster cluster = *cluster_of("hgx-h100", 2);
  const RecordedProgram recorded = as_kernels(file, cluster.gpu);
  const RecordedForecast forecast = *forecast_recorded(recorded, cluster.gpu, Method::analytic, nullptr);
  const auto step = spread(file, recorded, forecast.step, pace, cluster);
  EXPECT_TRUE(step) << step.error().line();
  return {*step, forecast.step.calls.empty() ? seconds(0) : forecast.step.calls.front().each};
}

TEST(ProgramRanks, WhatIsWaitedForAtOnceIsExposedWhole) {
  ProgramFile file = two_ranks(1 << 20);
  file.calls = {rank_product(), rank_reduce(), rank_wait(), rank_product()};
  const RankRun found = ran_ranks(file);
  ASSERT_EQ(found.step.exchanges.size(), 1u);
  const ProgramExchange& all = found.step.exchanges.front();
  EXPECT_EQ(all.op, "all_reduce");
  EXPECT_EQ(all.ranks, 2);
  EXPECT_EQ(all.calls, 1);
  EXPECT_EQ(in_bytes(all.bytes), 2 << 20);
  EXPECT_NEAR(found.step.exposed / all.each, 1, 1e-9);
  EXPECT_LT(found.step.open.low, found.step.exposed);
  EXPECT_GT(found.step.open.high, found.step.exposed);
}

TEST(ProgramRanks, WorkBetweenACallAndItsWaitHidesIt) {
  ProgramFile file = two_ranks(1 << 20);
  file.calls = {rank_reduce(), rank_product(), rank_product(), rank_wait()};
  const RankRun found = ran_ranks(file);
  EXPECT_EQ(found.step.exposed, seconds(0));
  EXPECT_GT(found.step.exchanged, seconds(0));
}

TEST(ProgramRanks, OnlyWhatOutlastsTheWorkIsExposed) {
  ProgramFile file = two_ranks(1 << 28);  // half a gigabyte
  file.calls = {rank_reduce(), rank_product(), rank_wait()};
  const RankRun found = ran_ranks(file);
  EXPECT_NEAR((found.step.exposed + found.product) / found.step.exchanges.front().each, 1, 1e-9);
}

TEST(ProgramRanks, CollectivesOfAGroupRunOneAfterTheOther) {
  ProgramFile file = two_ranks(1 << 28);
  file.calls = {rank_reduce(), rank_reduce(), rank_wait()};
  const RankRun found = ran_ranks(file);
  EXPECT_NEAR(found.step.exposed / found.step.exchanges.front().each, 2, 1e-9);
}

TEST(ProgramRanks, StreamsRunBesideEachOtherUntilOneWaits) {
  ProgramFile file = two_ranks(1 << 28);
  file.calls = {reduce_in_stream(1), rank_product(), rank_product()};
  file.waits = {{2, 0, 1, 1}};  // before the second product, for the collective
  const RankRun waits = ran_ranks(file);
  EXPECT_NEAR((waits.step.exposed + waits.product) / waits.step.exchanges.front().each, 1, 1e-9);
  file.waits = {{1, 1, 0, 1}};  // the other stream, for what the first was given before: nothing
  const RankRun apart = ran_ranks(file);
  EXPECT_NEAR((apart.step.exposed + apart.product * 2) / apart.step.exchanges.front().each, 1, 1e-9);
}

TEST(ProgramRanks, AStreamWaitsForWhatWasGivenBeforeTheEventOnly) {
  ProgramFile file = two_ranks(1 << 20);
  file.calls = {rank_product(), rank_product(), reduce_in_stream(1)};
  file.waits = {{2, 1, 0, 1}};  // for the first product alone, so that the second hides it
  EXPECT_EQ(ran_ranks(file).step.exposed, seconds(0));
  file.waits = {{2, 1, 0, 2}};
  const RankRun both = ran_ranks(file);
  EXPECT_NEAR(both.step.exposed / both.step.exchanges.front().each, 1, 1e-9);
}

TEST(ProgramRanks, ASlowHostHidesMore) {
  ProgramFile file = two_ranks(1 << 28);
  file.calls = {rank_reduce(), rank_product(), rank_wait()};
  EXPECT_LT(ran_ranks(file, 4).step.exposed, ran_ranks(file).step.exposed);
}

TEST(ProgramRanks, OneRankAloneExchangesNothing) {
  ProgramFile file = two_ranks(1 << 20);
  file.groups = {{"0", {0}}};
  file.calls = {rank_reduce(), rank_wait()};
  EXPECT_TRUE(ran_ranks(file).step.exchanges.empty());
}

TEST(ProgramRanks, AGroupThatIsNotThereIsAnError) {
  ProgramFile file = two_ranks(1 << 20);
  file.groups.clear();
  file.calls = {rank_reduce()};
  const Cluster cluster = *cluster_of("hgx-h100", 2);
  const RecordedProgram recorded = as_kernels(file, cluster.gpu);
  const RecordedForecast forecast = *forecast_recorded(recorded, cluster.gpu, Method::analytic, nullptr);
  const auto step = spread(file, recorded, forecast.step, 1, cluster);
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().field, "ranks.groups");
}

}  // namespace
}  // namespace tilecast
