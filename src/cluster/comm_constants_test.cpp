#include "cluster/comm_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"

namespace tilecast {
namespace {

TEST(Curve, FlatBeforeSlopeOneAfterAndNeverFalls) {
  const Curve curve{-1, {1, 3, 2, 4}};  // at -1, 0, 1, 2; falls at 1
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, -50), 1);
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, -0.5), 2);
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, 0.5), 3);
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, 1.5), 3.5);
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, 2), 4);
  EXPECT_DOUBLE_EQ(curve_at(curve, nullptr, 5), 7);
  const Curve own{0, {0.5, 0}};  // from 1 on: nothing
  EXPECT_DOUBLE_EQ(curve_at(curve, &own, -1), 1.5);
  EXPECT_DOUBLE_EQ(curve_at(curve, &own, 0), 3.5);
  EXPECT_DOUBLE_EQ(curve_at(curve, &own, 2), 4);
}

CommConstants small() {
  CommConstants c;
  c.machines[{"H100-SXM", "aiconfigurator", "nccl"}] = {"nvlink", -0.5, 0.1};
  c.machines[{"B200", "aiconfigurator", "nccl"}] = {"nvlink", 0.1, -0.1};
  c.machines[{"L40S", "aiconfigurator", "nccl"}] = {"pcie", 0.9, 0.2};
  c.curves[{"nccl", "nvlink", "all_reduce", 2, false}] = {0, {1, 2}};
  c.curves[{"nccl", "nvlink", "all_reduce", 8, false}] = {0, {3, 4}};
  c.own[{{"H100-SXM", "aiconfigurator", "nccl"}, {"nccl", "nvlink", "all_reduce", 2, false}}] = {0, {0.25, 0.25}};
  c.host_us[{"H100-SXM", "vllm"}] = 20;
  c.host_us[{"B200", "vllm"}] = 80;
  c.spreads[{"nccl", "nvlink", kAkin}] = {-0.25, 0.25};
  return c;
}

TEST(CommConstants, ScalesComeFromTheNearestMachines) {
  const CommConstants c = small();
  const auto latency = [&](const char* gpu, bool pcie) {
    return c.scale_of(*built_in_gpu(gpu), kPlainSource, "nccl", pcie).latency;
  };
  EXPECT_DOUBLE_EQ(latency("H100-SXM", false), -0.5);
  EXPECT_DOUBLE_EQ(latency("H200-SXM", false), -0.5);       // its architecture's
  EXPECT_DOUBLE_EQ(latency("A100-SXM-80GB", false), -0.2);  // the mean of NVLink's
  EXPECT_DOUBLE_EQ(latency("A40", true), 0.9);              // the only one on PCIe
  EXPECT_DOUBLE_EQ(c.scale_of(*built_in_gpu("A40"), kPlainSource, "vllm", true).latency, 0);
  EXPECT_EQ(c.machine_of("L40S", "synperf", "nccl").source, "aiconfigurator");  // measured otherwise
  EXPECT_EQ(c.machine_of("A40", "synperf", "nccl").source, "synperf");          // not measured
  EXPECT_TRUE(c.has_run("H100-SXM", {"nccl", "nvlink", "all_reduce", 8, false}));
  EXPECT_FALSE(c.has_run("H100-SXM", {"nccl", "nvlink", "all_gather", 8, false}));
  EXPECT_FALSE(c.has_run("B200", {"nccl", "nvlink", "all_reduce", 8, false}));
  EXPECT_DOUBLE_EQ(c.spread_of({"nccl", "nvlink", kAkin}).high, 0.25);
}

TEST(CommConstants, HostsOfTheNearestTimeAndKind) {
  CommConstants c = small();
  c.host_us[{"GB200", "vllm"}] = 300;
  c.host_us[{"H200-SXM", "vllm"}] = 45;
  const auto us = [&](const char* gpu, const char* library = "vllm") { return c.host_of(*built_in_gpu(gpu), library); };
  EXPECT_DOUBLE_EQ(us("B200"), 80);
  EXPECT_DOUBLE_EQ(us("B300"), 80);            // Blackwell's, but not Grace's
  EXPECT_DOUBLE_EQ(us("GB300"), 300);          // Grace's
  EXPECT_NEAR(us("H20"), 30, 1e-9);            // the geometric mean of Hopper's
  EXPECT_NEAR(us("A100-SXM-80GB"), 30, 1e-9);  // Hopper is nearer than Blackwell
  EXPECT_DOUBLE_EQ(us("B200", "sglang"), 30);  // none measured
}

TEST(CommConstants, LevelsGoBetweenRanksAndStandIn) {
  const CommConstants c = small();
  const std::vector<MachineKey> other{{"B200", "aiconfigurator", "nccl"}}, h100{{"H100-SXM", "aiconfigurator", "nccl"}};
  EXPECT_EQ(c.kin_of(*built_in_gpu("H200-SXM"), {"H200-SXM", "aiconfigurator", "nccl"}, false), h100);
  EXPECT_EQ(c.kin_of(*built_in_gpu("B200"), other[0], false), other);
  EXPECT_EQ(c.most_ranks({"nccl", "nvlink", "all_reduce", 2, false}), 8);
  EXPECT_EQ(c.most_ranks({"nccl", "pcie", "all_reduce", 2, false}), 0);
  EXPECT_DOUBLE_EQ(c.level({"nccl", "nvlink", "all_reduce", 2, false}, other, 0), 1);
  EXPECT_DOUBLE_EQ(c.level({"nccl", "nvlink", "all_reduce", 2, false}, h100, 0), 1.25);
  EXPECT_DOUBLE_EQ(c.level({"nccl", "nvlink", "all_reduce", 4, false}, other, 0), 2);  // log2: halfway
  EXPECT_DOUBLE_EQ(c.level({"nccl", "nvlink", "all_reduce", 64, false}, other, 0), 3);
  EXPECT_DOUBLE_EQ(c.level({"nccl", "nvls", "all_reduce", 8, true}, other, 1), 4);
  // No curve at all: steps, then bytes at three quarters of the peak.
  EXPECT_NEAR(CommConstants{}.level({"nccl", "nvlink", "all_reduce", 2, false}, other, -40), 0, 1e-9);
  EXPECT_NEAR(CommConstants{}.level({"nccl", "nvlink", "all_reduce", 2, false}, other, 40), 40 + std::log2(4.0 / 3),
              1e-9);
}

TEST(CommConstants, TextReadsBack) {
  const std::string text = comm_constants_text(small());
  const auto again = parse_comm_constants(text, "c.txt");
  ASSERT_TRUE(again.ok()) << again.error().line();
  EXPECT_EQ(comm_constants_text(*again), text);
  EXPECT_EQ(comm_constants_text(shipped_comm_constants()),
            comm_constants_text(*parse_comm_constants(comm_constants_text(shipped_comm_constants()), "shipped")));
  EXPECT_FALSE(shipped_comm_constants().curves.empty());
  for (const char* bad : {"curve nccl", "machine a b", "curve nccl nvlink all_reduce 2 0 0 1 x", "host H100 vllm -3",
                          "host H100 vllm 0.009", "host H100 vllm 3 us", "what",
                          "curve nccl nvlink all_reduce 2 0 0 nan", "spread nccl nvlink akin 0.1 0.2"}) {
    const auto parsed = parse_comm_constants(std::string("# head\n") + bad, "c.txt");
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_THAT(parsed.error().line(), testing::StartsWith("c.txt:2: ")) << bad;
  }
}

}  // namespace
}  // namespace tilecast
