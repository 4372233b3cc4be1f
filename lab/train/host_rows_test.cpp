// A host planted in rows is found, taken off them and put on again where it launches.
#include "lab/train/host_rows.h"

#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "lab/train/train.h"

namespace tilecast {
namespace {

struct Launched {
  std::vector<Measurement> rows;
  std::vector<PlannedRow> planned;
  std::vector<const PlannedRow*> used;

  // Sums of fp32 numbers, which take what the physics says, each launched by a host of 30 us and a gap of 18.
  explicit Launched(const std::vector<std::string_view>& cards) {
    for (const std::string_view gpu : cards)
      for (Count elements = 1024; elements <= (Count{1} << 28); elements = elements * 5 / 4) {
        Measurement row;
        row.gpu = gpu, row.engine = "pytorch", row.kernel_source = "vectorized_elementwise_kernel";
        row.context.runtime = Runtime::eager;
        Elementwise shape;
        shape.elements = elements, shape.inputs = 2, shape.op = PointwiseOp::add;
        row.kernel = {shape, *format_from("fp32")};
        rows.push_back(row);
      }
    std::vector<std::size_t> all(rows.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    planned = plan_rows(rows, all, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].latency = timed_by_host({30, 18}, microseconds(alone_us(planned[i])));
      used.push_back(&planned[i]);
    }
  }
  static double alone_us(const PlannedRow& row) { return tuned_time(row.input.in_graph->terms, Tuning{}, 1); }
};

TEST(HostRows, FloorsAreReadOffKernelsThatTakeNextToNothing) {
  const Launched launched({"V100-PCIe", "T4"});
  const auto hosts = host_timings(launched.used);
  for (const char* name : {"V100-PCIe", "T4", "nvidia", "T4/add 2", "nvidia/add 2"}) {
    ASSERT_TRUE(hosts.contains(name)) << name;
    EXPECT_NEAR(hosts.find(name)->second.floor_us, 30, 0.1) << name;
    EXPECT_NEAR(hosts.find(name)->second.gap_us, 18, 0.1) << name;
  }
  EXPECT_EQ(hosts.size(), 6u);
}

// Kernels that the physics calls the shortest take ten times as long as it says; those a little longer stand on the
// floor.
TEST(HostRows, NoFloorIsHigherThanTheFastestRows) {
  Launched launched({"V100-PCIe"});
  for (std::size_t i = 0; i < launched.rows.size(); ++i)
    if (i < 10) launched.rows[i].latency = microseconds(150);
  const auto hosts = host_timings(launched.used);
  ASSERT_TRUE(hosts.contains("V100-PCIe"));
  EXPECT_NEAR(hosts.find("V100-PCIe")->second.floor_us, 30, 0.5);
}

TEST(HostRows, KernelsAloneAreWhatIsLeft) {
  const Launched launched({"V100-PCIe"});
  const RowsWithoutHosts without(launched.used);
  ASSERT_EQ(without.rows().size(), launched.used.size());
  for (const PlannedRow* row : without.rows()) {
    const double alone = tuned_time(row->input.terms, Tuning{}, 1);
    EXPECT_NEAR(in_microseconds(row->kernel_time()), alone, 0.02 * alone);
    EXPECT_GE(row->weight, 0.2f);
    EXPECT_LE(row->weight, 1);
  }
}

// A row on the floor whose kernel the physics thinks long: no longer than 1.1 x 30 - 18 = 15 us.
TEST(HostRows, ARowOnTheFloorSaysThatItsKernelIsNoLonger) {
  Launched launched({"V100-PCIe"});
  for (Measurement& row : launched.rows) row.latency = microseconds(30);
  const RowsWithoutHosts without(launched.used);
  ASSERT_GT(launched.alone_us(*launched.used.back()), 100);
  EXPECT_NEAR(in_microseconds(without.rows().back()->kernel_time()), 15, 0.01);
  const double shortest = launched.alone_us(*launched.used.front());
  EXPECT_NEAR(in_microseconds(without.rows().front()->kernel_time()), shortest, 1e-6 * shortest);
}

TEST(HostRows, RowsOfGraphsStayAsTheyAre) {
  Launched launched({"V100-PCIe"});
  for (Measurement& row : launched.rows) row.context.runtime = Runtime::graph;
  std::vector<std::size_t> all(launched.rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  launched.planned = plan_rows(launched.rows, all, 1);
  for (std::size_t i = 0; i < all.size(); ++i) launched.used[i] = &launched.planned[i];
  const RowsWithoutHosts without(launched.used);
  EXPECT_TRUE(without.hosts().empty());
  ASSERT_EQ(without.rows().size(), launched.used.size());
  for (std::size_t i = 0; i < launched.used.size(); ++i) EXPECT_EQ(without.rows()[i], launched.used[i]);
}

// What a host takes to launch kernels one by one is no part of a kernel that a graph launches.
TEST(HostRows, AGraphDoesNotPayTheHostOfEagerRows) {
  const Launched launched({"V100-PCIe", "T4", "A100-PCIe-40GB"});
  TrainOptions options;
  options.set_trees(10);
  const FamilyModel model = train_family(launched.used, options);
  // A card with rows and one without; a kernel of 3 us or less.
  for (const char* card : {"V100-PCIe", "L40S"}) {
    const Gpu& gpu = *built_in_gpu(card);
    for (const Count elements : {Count{4096}, Count{1} << 26}) {
      Elementwise shape;
      shape.elements = elements, shape.inputs = 2, shape.op = PointwiseOp::add;
      const Kernel kernel{shape, *format_from("fp32")};
      const auto time = [&](Runtime runtime) {
        Context context;
        context.engine = Launcher::pytorch;
        context.kernel_source = KernelSource::named("vectorized_elementwise_kernel");
        context.runtime = runtime;
        const auto planned = plan(kernel, gpu, context);
        const Estimate analytic = estimate(*planned, gpu, context, Method::analytic);
        const Seconds one = corrected(analytic, model, kernel, *planned, gpu, context).latency;
        const LearnedInput input = learned_input(kernel, *planned, analytic, gpu, context);
        Seconds many;
        learned_times({&input, 1}, standing_of(model, context, gpu), {&many, 1});
        EXPECT_NEAR(many / one, 1, 1e-6);
        return in_microseconds(one);
      };
      const double graph = time(Runtime::graph), eager = time(Runtime::eager);
      EXPECT_NEAR(eager, elements == 4096 ? 30 : graph + 18, 1.5) << card << " " << elements << " " << graph;
      if (elements == 4096) {
        EXPECT_LT(graph, 5) << card;
      }
    }
  }
}

}  // namespace
}  // namespace tilecast
