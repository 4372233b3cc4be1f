#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "gpu/registry.h"
#include "schedule/hand_out.h"

namespace tilecast {
namespace {

Gpu gpu_of(std::string_view name, int sms = 0) {
  Gpu gpu = *find_gpu(name);
  if (sms > 0) gpu.sms = sms;
  return gpu;
}

// A launch whose tasks weigh what the pairs say, in clocks of the tensor pipe.
Launch launch_of(const std::vector<Batch>& batches, Dispatch dispatch, Order order = Order::grouped) {
  Launch launch;
  launch.math = {Pipe::tensor, DType::bf16, DType::fp32, 4096};
  launch.cta = {128, 255, bytes(0)};
  for (const Batch& batch : batches) {
    Demand each;
    each.tensor = ops(4096 * batch.weight);
    launch.tasks.push_back({batch.count, each, batch.weight});
    launch.ctas += batch.count;
  }
  launch.dispatch = dispatch;
  launch.order = order;
  return launch;
}

// The hand-out one task at a time, as plainly as it can be said: most work on one SM.
double plain_greedy(const std::vector<double>& tasks, Count sms, int resident) {
  std::vector<double> finish(static_cast<std::size_t>(sms * resident), 0.0), work(static_cast<std::size_t>(sms), 0.0);
  for (double weight : tasks) {
    const auto slot = std::min_element(finish.begin(), finish.end());  // the first of equals
    *slot += weight * resident;
    work[static_cast<std::size_t>(slot - finish.begin()) % work.size()] += weight;
  }
  return *std::max_element(work.begin(), work.end());
}

std::vector<double> in_order(const std::vector<Batch>& batches, Order order) {
  std::vector<double> tasks;
  if (order == Order::grouped) {
    for (const Batch& batch : batches) tasks.insert(tasks.end(), static_cast<std::size_t>(batch.count), batch.weight);
    return tasks;
  }
  for (Count round = 0;; ++round) {
    const std::size_t before = tasks.size();
    for (const Batch& batch : batches)
      if (round < batch.count) tasks.push_back(batch.weight);
    if (tasks.size() == before) return tasks;
  }
}

// Random batches with weights that are exact in the scheduler's ticks.
std::vector<Batch> random_batches(std::mt19937& random, int most_batches, int most_count) {
  std::vector<Batch> batches(1 + random() % static_cast<unsigned>(most_batches));
  for (Batch& batch : batches)
    batch = {1 + static_cast<Count>(random() % static_cast<unsigned>(most_count)),
             1.0 + static_cast<double>(random() % 1024)};
  batches.back().weight = 1024;
  return batches;
}

TEST(Schedule, EqualTasksFillWavesAndRemainder) {
  const Load load = schedule(launch_of({{10, 7}}, Dispatch::waves), gpu_of("H100-SXM", 4));
  EXPECT_EQ(load.occupancy, 2);  // 255 registers x 128 threads: two of them fill 65536
  EXPECT_EQ(load.waves, 2);      // ceil(10 / (4 x 2))
  EXPECT_EQ(load.tasks_busiest, 3);
  EXPECT_EQ(load.sms_used, 4);
  EXPECT_DOUBLE_EQ(in_ops(load.busiest.tensor), 3 * 7 * 4096.0);
  EXPECT_DOUBLE_EQ(load.steps_busiest, 21);
  EXPECT_DOUBLE_EQ(load.balance, 10.0 / 12.0);
}

TEST(Schedule, FewerTasksThanSms) {
  const Load load = schedule(launch_of({{3, 7}}, Dispatch::waves), gpu_of("H100-SXM"));
  EXPECT_EQ(load.sms_used, 3);
  EXPECT_EQ(load.tasks_busiest, 1);
  EXPECT_DOUBLE_EQ(load.balance, 3.0 / 132.0);
}

// Three SMs, tasks 1 1 1 then 4: in order the 4 lands on a used SM (5); longest first it has one for itself.
TEST(Schedule, LongestFirstBeatsLaunchOrder) {
  const Gpu gpu = gpu_of("H100-SXM", 3);
  const std::vector<Batch> batches = {{3, 1}, {1, 4}};
  EXPECT_DOUBLE_EQ(in_ops(schedule(launch_of(batches, Dispatch::waves), gpu).busiest.tensor), 4096 * 5.0);
  const Load sorted = schedule(launch_of(batches, Dispatch::longest_first), gpu);
  EXPECT_DOUBLE_EQ(in_ops(sorted.busiest.tensor), 4096 * 4.0);
  EXPECT_DOUBLE_EQ(sorted.balance, 7.0 / 3.0 / 4.0);
}

TEST(Schedule, WholeDemandIsConservedOnOneSm) {
  for (const Order order : {Order::grouped, Order::interleaved})
    for (const Dispatch dispatch : {Dispatch::waves, Dispatch::persistent, Dispatch::longest_first}) {
      const Launch launch = launch_of({{17, 3}, {5, 11}, {900, 2}}, dispatch, order);
      const Load load = schedule(launch, gpu_of("H100-SXM", 1));
      EXPECT_DOUBLE_EQ(in_ops(load.busiest.tensor), in_ops(launch.total().tensor));
      EXPECT_EQ(load.tasks_busiest, 922);
      EXPECT_DOUBLE_EQ(load.balance, 1);
    }
}

TEST(HandOut, GroupedAgreesWithOneByOne) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<Batch> batches = random_batches(random, 6, trial % 2 ? 40 : 2000);
    const Count sms = 1 + random() % 20;
    const Busiest busiest = hand_out_grouped(batches, sms);
    EXPECT_DOUBLE_EQ(busiest.weight, plain_greedy(in_order(batches, Order::grouped), sms, 1)) << trial;
    double sum = 0;
    for (std::size_t b = 0; b < batches.size(); ++b) sum += busiest.runs[b] * batches[b].weight;
    EXPECT_DOUBLE_EQ(sum, busiest.weight);
  }
}

TEST(HandOut, InterleavedAgreesWithOneByOne) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<Batch> batches = random_batches(random, 12, 60);
    const Count sms = 1 + random() % 20;
    const int resident = 1 + static_cast<int>(random() % 4);
    const Busiest busiest = hand_out_interleaved(batches, sms, resident);
    EXPECT_DOUBLE_EQ(busiest.weight, plain_greedy(in_order(batches, Order::interleaved), sms, resident)) << trial;
  }
}

// A causal mask's tiles, 128 lengths of 64 heads: beyond what is followed one by one, still within half a percent.
TEST(HandOut, LevelledStartChangesLittle) {
  std::vector<Batch> batches;
  for (int i = 1; i <= 128; ++i) batches.push_back({64, 8.0 * i});
  for (const auto& [sms, resident] : {std::pair<Count, int>{108, 2}, {142, 1}, {84, 3}}) {
    const double exact = plain_greedy(in_order(batches, Order::interleaved), sms, resident);
    EXPECT_NEAR(hand_out_interleaved(batches, sms, resident).weight / exact, 1, 0.005) << sms;
  }
}

// An SM gets a second resident CTA only after every SM has one.
TEST(HandOut, BreadthFirst) {
  const std::vector<Batch> batches = {{3, 5}, {3, 4}};
  EXPECT_DOUBLE_EQ(hand_out_interleaved(batches, 6, 2).weight, 5);
}

// Three SMs; tasks 0-4 weigh 2, tasks 5-7 weigh 1: SM 0 has 0, 3, 6 and SM 1 has 1, 4, 7.
TEST(HandOut, StridedIgnoresWeights) {
  const Busiest grouped = hand_out_strided(std::vector<Batch>{{5, 2}, {3, 1}}, 3, Order::grouped);
  EXPECT_DOUBLE_EQ(grouped.weight, 5);
  EXPECT_EQ(grouped.runs, (std::vector<double>{2, 1}));
  // In turn on two SMs, one gets all the heavy ones.
  const Busiest turned = hand_out_strided(std::vector<Batch>{{10, 3}, {10, 1}}, 2, Order::interleaved);
  EXPECT_DOUBLE_EQ(turned.weight, 30);
  EXPECT_EQ(turned.runs, (std::vector<double>{10, 0}));
}

// Every SM is at least as busy as the mean and the heaviest task, and greedy is never worse than twice that.
TEST(HandOut, ListSchedulingBounds) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const std::vector<Batch> batches = random_batches(random, 30, 3000);
    const Count sms = 1 + random() % 150;
    double sum = 0, heaviest = 0;
    for (const Batch& batch : batches) {
      sum += batch.weight * static_cast<double>(batch.count);
      heaviest = std::max(heaviest, batch.weight);
    }
    const double least = std::max(sum / static_cast<double>(sms), heaviest);
    for (const Busiest& busiest : {hand_out_grouped(batches, sms), hand_out_interleaved(batches, sms, 2)}) {
      EXPECT_GE(busiest.weight, least * (1 - 1e-9));
      EXPECT_LE(busiest.weight, sum / static_cast<double>(sms) + 2 * heaviest);
    }
  }
}

// CUDA's occupancy calculator.
TEST(Occupancy, KnownNumbers) {
  const Gpu a100 = gpu_of("A100-SXM-80GB"), h100 = gpu_of("H100-SXM"), l40s = gpu_of("L40S"), v100 = gpu_of("V100-SXM");
  EXPECT_EQ(occupancy({256, 32, bytes(0)}, a100), 8);  // threads: 2048 / 256
  EXPECT_EQ(occupancy({256, 32, bytes(0)}, l40s), 6);  // 1536 / 256
  EXPECT_EQ(occupancy({32, 16, bytes(0)}, a100), 32);  // CTAs
  EXPECT_EQ(occupancy({32, 16, bytes(0)}, l40s), 24);
  EXPECT_EQ(occupancy({128, 255, bytes(0)}, a100), 2);      // registers: 8 warps of 8192
  EXPECT_EQ(occupancy({384, 168, bytes(0)}, h100), 1);      // 12 warps of 5376
  EXPECT_EQ(occupancy({96, 40, bytes(0)}, a100), 16);       // 12 warps a quarter of the file, 48 in all
  EXPECT_EQ(occupancy({128, 64, kibibytes(64)}, a100), 2);  // 164 / (64 + 1)
  EXPECT_EQ(occupancy({128, 64, kibibytes(48)}, l40s), 2);  // 100 / (48 + 1)
  EXPECT_EQ(occupancy({128, 64, kibibytes(50)}, l40s), 1);  // 51 twice does not fit
  EXPECT_EQ(occupancy({128, 64, kibibytes(48)}, v100), 2);  // 96 / 48: nothing reserved before Ampere
  EXPECT_EQ(occupancy({128, 64, kibibytes(227)}, h100), 1);
  EXPECT_EQ(occupancy({128, 64, kibibytes(228)}, h100), 0);  // more than a CTA may have
  EXPECT_EQ(occupancy({1024, 128, bytes(0)}, a100), 0);      // 131072 registers
}

}  // namespace
}  // namespace tilecast
