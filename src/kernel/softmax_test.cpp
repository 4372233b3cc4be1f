#include "kernel/softmax.h"

#include <gtest/gtest.h>

#include "kernel/plan_testing.h"

namespace tilecast {
namespace {

TEST(Softmax, ShortRowsShareAWarp) {
  // 3 columns: padded to 4 lanes, 32 such warps a CTA, two rows each: 64 rows a CTA.
  const Launch launch = only_launch(Softmax{77, 3}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  EXPECT_EQ(launch.ctas, 2);
  EXPECT_EQ(launch.cta.threads, 128);
  EXPECT_EQ(launch.tasks[0].each.l2_load, bytes(64 * 12));
  EXPECT_EQ(launch.tasks[1].each.l2_load, bytes(13 * 12));
  // Four padded elements at 1 + 6 + 8 slots, and two reductions of two steps over four lanes: 76 slots a row.
  EXPECT_EQ(launch.total().vector, ops(2 * 76 * 77));
  EXPECT_EQ(launch.total().xu, ops(2 * 4 * 77));
  EXPECT_EQ(launch.total().l2_store, bytes(77 * 12));
}

TEST(Softmax, WarpGrids) {
  EXPECT_EQ(only_launch(Softmax{127, 168}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB")).ctas,
            32);  // a warp a row, four warps
  EXPECT_EQ(only_launch(Softmax{223, 114}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB")).ctas,
            28);                                                                                 // two rows a warp
  EXPECT_EQ(only_launch(Softmax{127, 168}, "fp32", "MI100", measured_torch("MI100")).ctas, 64);  // two warps of 64
  EXPECT_EQ(planned(Softmax{Count{1} << 21, 1024}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"))
                .launches.size(),
            2u);  // 2^30 a launch
  // fp64 rows leave the warp kernel beyond 4096 bytes.
  EXPECT_EQ(only_launch(Softmax{100, 512}, "fp64", "V100-PCIe", measured_torch("V100-PCIe")).ctas, 25);
  EXPECT_EQ(only_launch(Softmax{100, 513}, "fp64", "V100-PCIe", measured_torch("V100-PCIe")).ctas, 100);
}

TEST(Softmax, LongRowsAreReadThriceUnlessACacheKeepsThem) {
  const double row = 4096 * 4;
  const Launch ampere = only_launch(Softmax{64, 4096}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"));
  EXPECT_EQ(ampere.ctas, 64);
  EXPECT_EQ(ampere.cta.threads, 512);
  EXPECT_EQ(ampere.tasks[0].each.l2_load, bytes(row));  // one row on an SM stays in its L1
  EXPECT_EQ(only_launch(Softmax{64, 4096}, "fp32", "P4", measured_torch("P4")).tasks[0].each.l2_load, bytes(3 * row));
  EXPECT_EQ(only_launch(Softmax{4096, 65536}, "fp32", "A100-PCIe-40GB", measured_torch("A100-PCIe-40GB"))
                .tasks[0]
                .each.l2_load,
            bytes(3 * 4.0 * 65536));
}

TEST(Softmax, LaterWalksGoToDramAsTheRowsOfAllSmsOutgrowTheCaches) {
  const auto input = [](Count cols, const char* gpu) {
    return only_launch(Softmax{16384, cols}, "fp32", gpu, measured_torch(gpu)).operands.begin()[0];
  };
  EXPECT_EQ(input(4096, "V100-PCIe").passes, 1);  // four rows of 16 KiB stay in L1
  const Operand long_rows = input(16384, "V100-PCIe");
  EXPECT_EQ(long_rows.passes, 3);
  // Four CTAs of 512 threads on each of 80 SMs; a third of the walks writes.
  EXPECT_NEAR(in_bytes(long_rows.reuse_distance), 80 * 4 * 65536.0 * 4 / 3, 1);
  EXPECT_EQ(input(2048, "P4").passes, 3);  // no L1 for global loads
}

TEST(Softmax, RowsThatVectorsDoNotDivideTakeMoreSteps) {
  const auto steps = [](Count cols) {
    return only_launch(Softmax{64, cols}, "fp32", "T4", measured_torch("T4")).tasks[0].steps;
  };
  EXPECT_EQ(steps(2048), 3 * 2);  // 256 threads: two vectors each
  EXPECT_EQ(steps(1280), 3 * 2);  // a vector and a single element each
  // 2049: rows begin 0, 1, 2 and 3 elements past a boundary. The first: two vectors and a rest; the others: a step up
  // to the boundary, a vector, and 770 to 772 elements one by one.
  EXPECT_EQ(steps(2049), 3 * (3 + 3 * (1 + 1 + 4)) / 4.0);
}

TEST(Softmax, CurrentReleasesKeepTheRow) {
  // Dispatch and shared memory as PyTorch 2.11 on an H200 shows them (data/measurements/h200_kernels.csv.gz).
  EXPECT_EQ(only_launch(Softmax{2048, 2048}, "fp32", "H200-SXM").ctas, 512);  // still a warp a row
  EXPECT_EQ(only_launch(Softmax{2048, 2049}, "fp32", "H200-SXM").ctas, 2048);
  const Launch registers = only_launch(Softmax{4096, 8192}, "bf16", "H200-SXM");
  EXPECT_EQ(registers.cta.threads, 1024);
  EXPECT_EQ(registers.cta.shared_memory, bytes(128));
  EXPECT_EQ(registers.tasks[0].each.l2_load, bytes(16384));
  const Launch shared = only_launch(Softmax{4096, 16384}, "bf16", "H200-SXM");
  EXPECT_EQ(shared.cta.shared_memory, bytes(32896));
  EXPECT_EQ(shared.tasks[0].each.shared, bytes(3 * 32768));
  EXPECT_EQ(shared.tasks[0].each.l2_load, bytes(32768));
  const Launch plain = only_launch(Softmax{4096, 16384}, "fp32", "H200-SXM");  // 64 KiB: too long a row
  EXPECT_EQ(plain.cta.shared_memory, bytes(128));
  EXPECT_EQ(plain.tasks[0].each.shared, bytes(0));
  // The gradient: its warp kernel ends at 1024, then g in shared memory, then nothing kept.
  const auto gradient = [](Count cols, std::string_view type) {
    return planned(Softmax{64, cols, true}, type, "H200-SXM").launches.back().cta;
  };
  EXPECT_EQ(gradient(2048, "bf16").shared_memory, bytes(4112));
  EXPECT_EQ(gradient(2048, "bf16").threads, 128);
  EXPECT_EQ(gradient(8192, "fp32").shared_memory, bytes(32832));
  EXPECT_EQ(gradient(16384, "fp32").shared_memory, bytes(2048));
  EXPECT_EQ(gradient(16384, "fp32").threads, 512);
}

TEST(Softmax, AmdKeepsTheRowInSharedMemory) {
  const Launch launch = only_launch(Softmax{64, 4096}, "fp32", "MI100", measured_torch("MI100"));
  EXPECT_EQ(launch.cta.threads, 1024);
  EXPECT_EQ(launch.cta.shared_memory, kibibytes(64));
  EXPECT_EQ(launch.tasks[0].each.shared, bytes(3 * 16384));
  EXPECT_EQ(only_launch(Softmax{64, 4097}, "fp32", "MI100", measured_torch("MI100")).tasks[0].each.shared,
            bytes(0));  // no whole vectors
}

TEST(Softmax, GradientIsAProductAndARowKernel) {
  const Plan plan = planned(Softmax{10, 2048, true}, "bf16", "H100-SXM");
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].ctas, 20);  // 20480 elements, 1024 a CTA
  EXPECT_EQ(plan.launches[1].ctas, 10);
  EXPECT_EQ(plan.launches[1].cta.threads, 128);  // 2048 / 8 / 2
  EXPECT_EQ(operand_bytes(plan.launches[0], false), bytes(2 * 40960));
  EXPECT_EQ(operand_bytes(plan.launches[0], true), bytes(0));  // the product is workspace
  EXPECT_EQ(operand_bytes(plan.launches[1], true), bytes(40960));
  EXPECT_EQ(plan.launches[1].total().l2_load, bytes(2 * 40960));
}

TEST(Softmax, RefusesImpossibleShapes) {
  EXPECT_FALSE((Softmax{0, 5}).check());
  EXPECT_FALSE((Softmax{Count{1} << 31, 5}).check());
  EXPECT_FALSE((Softmax{Count{1} << 30, Count{1} << 30}).check());
}

}  // namespace
}  // namespace tilecast
