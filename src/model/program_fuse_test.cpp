#include "model/program_fuse.h"

#include <gtest/gtest.h>

#include "model/program_testing.h"

namespace tilecast {
namespace {

const std::string kRow = test_layout("fp32", "64,64", "64,1"), kSum = test_layout("fp32", "64,1", "1,1");
const char* kUnary = R"([["self","tensor",0]])";
const char* kBinary = R"([["self","tensor",0],["other","tensor",0]])";

// Storages: born at a call, dying after another; -1: before and after the step.
std::string storages(const std::string& born, const std::string& dies, int count) {
  std::string size, device, role;
  for (int i = 0; i < count; ++i) {
    const char* comma = i ? "," : "";
    size += comma + std::string("16384"), device += comma + std::string("\"cuda\""), role += comma + std::string("\"other\"");
  }
  return fmt::format(R"({{"bytes":[{}],"device":[{}],"role":[{}],"born":[{}],"dies":[{}]}})", size, device, role, born, dies);
}

TEST(ProgramFuse, APointwiseChainIsOneKernelThatReadsAndWritesOnce) {
  const auto program = program_from_json(
      test_program_text({kRow},
                        {{"aten.relu", kUnary, "[0]", "[0]", "[1]"},
                         {"aten.mul.Tensor", kBinary, "[0]", "[1,1]", "[2]"},
                         {"aten.exp", kUnary, "[0]", "[2]", "[3]"}},
                        storages("-1,0,1,2", "-1,1,2,-1", 4)),
      "test");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  ASSERT_EQ(fused.groups.size(), 1u);
  EXPECT_EQ(fused.groups[0].calls.size(), 3u);
  const auto& shape = std::get<Elementwise>(fused.groups[0].kernels.front().kernel.shape);
  EXPECT_EQ(shape.inputs, 1);
  EXPECT_EQ(shape.elements, 64 * 64) << "one tensor in, one out";
}

TEST(ProgramFuse, AReductionAndWhatFollowsItJoinTheirRow) {
  const auto program = program_from_json(
      test_program_text({kRow, kSum},
                        {{"aten.pow.Tensor_Scalar", kUnary, "[0]", "[0]", "[1]"},
                         {"aten.mean.dim", R"([["self","tensor",0],["dim","ints",[-1]],["keepdim","bool",true]])", "[1]", "[1]", "[2]"},
                         {"aten.rsqrt", R"([["self","tensor",1]])", "[1]", "[2]", "[3]"},
                         {"aten.mul.Tensor", R"([["self","tensor",0],["other","tensor",1]])", "[0]", "[0,3]", "[4]"}},
                        storages("-1,0,1,2,3", "-1,1,2,3,-1", 5)),
      "test");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  ASSERT_EQ(fused.groups.size(), 1u) << "a norm is one kernel";
  EXPECT_TRUE(fused.groups[0].reduces);
}

TEST(ProgramFuse, AProductStandsBetween) {
  const auto program = program_from_json(
      test_program_text({kRow},
                        {{"aten.relu", kUnary, "[0]", "[0]", "[1]"},
                         {"aten.mm", R"([["self","tensor",0],["mat2","tensor",0]])", "[0]", "[1,1]", "[2]"},
                         {"aten.add.Tensor", kBinary, "[0]", "[2,1]", "[3]"}},
                        storages("-1,0,1,2", "-1,2,2,-1", 4)),
      "test");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  EXPECT_EQ(fused.group_of_call[1], -1);
  ASSERT_EQ(fused.groups.size(), 2u);
  EXPECT_NE(fused.group_of_call[0], fused.group_of_call[2]);
}

}  // namespace
}  // namespace tilecast
