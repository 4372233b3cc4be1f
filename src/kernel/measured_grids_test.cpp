// Planned grids and CTA sizes against the measured ones of NeuSight's vector kernels (shared/data, not in this
// repository).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "gpu/registry.h"
#include "kernel/elementwise.h"
#include "kernel/kernel.h"
#include "kernel/layernorm.h"
#include "kernel/plan_testing.h"
#include "kernel/softmax.h"
#include "support/csv.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const std::string kFolder = TILECAST_SOURCE_DIR "/../shared/data/neusight/";

const std::map<std::string, std::string, std::less<>> kDevices = {{"NVIDIA A100-PCIE-40GB", "A100-PCIe-40GB"},
                                                                  {"NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"},
                                                                  {"Tesla P100-PCIE-16GB", "P100-PCIe"},
                                                                  {"Tesla P4", "P4"},
                                                                  {"Tesla T4", "T4"},
                                                                  {"Tesla V100-PCIE-32GB", "V100-PCIe"},
                                                                  {"AMD Instinct MI100", "MI100"},
                                                                  {"AMD Instinct MI210", "MI210"}};

Shape shape_of(std::string_view op, Count rows, Count cols) {
  if (op == "softmax") return Softmax{rows, cols};
  if (op == "ln") return LayerNorm{rows, cols};
  Elementwise shape;
  shape.rows = rows;
  shape.cols = cols;
  const bool two = op == "add" || op == "mul" || op == "div" || op == "pow";
  if (op.ends_with("u") && op != "relu" && op != "gelu") op.remove_suffix(1);
  shape.inputs = two ? 2 : 1;
  for (std::size_t i = 0; i < kPointwiseOpNames.size(); ++i)
    if (kPointwiseOpNames[i] == op) shape.op = static_cast<PointwiseOp>(i);
  return shape;
}

struct Tally {
  Count rows = 0, right = 0;
};

// Rows per device, and those whose grid and threads the plan's main launch has.
std::map<std::string, Tally> compare(const std::string& path, std::string_view op) {
  std::map<std::string, Tally> tallies;
  auto file = CsvReader::open(path);
  EXPECT_TRUE(file) << (file ? "" : file.error().line());
  if (!file) return tallies;
  std::map<std::string, std::size_t> at;
  for (const char* name : {"device", "B", "H", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"})
    at[name] = *file->column(name);
  const auto number = [&](const char* name) { return to_count((*file)[at[name]]).value_or(0); };
  const Format fp32 = *format_from("fp32");
  std::map<std::string, Gpu> gpus;
  for (const auto& [device, name] : kDevices) gpus.emplace(device, *find_gpu(name));
  while (true) {
    const auto more = file->next();
    EXPECT_TRUE(more);
    if (!more || !*more) break;
    const std::string device((*file)[at["device"]]);
    const auto gpu = gpus.find(device);
    EXPECT_NE(gpu, gpus.end()) << device;
    if (gpu == gpus.end()) continue;
    const auto planned =
        plan({shape_of(op, number("B"), number("H")), fp32}, gpu->second, measured_torch(gpu->second.name));
    EXPECT_TRUE(planned);
    Tally& tally = tallies[device];
    ++tally.rows;
    const Launch& launch = planned->launches.front();
    tally.right += launch.ctas == number("grid_x") * number("grid_y") * number("grid_z") &&
                   launch.cta.threads == number("block_x") * number("block_y") * number("block_z");
  }
  return tallies;
}

class MeasuredGrids : public testing::TestWithParam<std::string> {};

TEST_P(MeasuredGrids, PlansMatchAtLeast95PercentOnEveryGpu) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "no measured rows: " << kFolder << " is not there";
  Count rows = 0;
  for (const char* part : {"kernels_train/", "kernels_test/"})
    for (const auto& [device, tally] : compare(kFolder + part + GetParam() + ".csv.gz", GetParam())) {
      rows += tally.rows;
      const double share = static_cast<double>(tally.right) / static_cast<double>(tally.rows);
      EXPECT_GE(share, 0.95) << part << GetParam() << " on " << device << ": " << tally.right << " of " << tally.rows;
      RecordProperty(std::string(part) + device, std::to_string(tally.right) + "/" + std::to_string(tally.rows));
    }
  EXPECT_GT(rows, 10000);  // the smallest table, LayerNorm, has 10256: an empty comparison proves nothing
}

INSTANTIATE_TEST_SUITE_P(NeuSight, MeasuredGrids,
                         testing::Values("add", "addu", "mul", "mulu", "div", "divu", "pow", "powu", "relu", "gelu",
                                         "tanh", "softmax", "ln"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tilecast
