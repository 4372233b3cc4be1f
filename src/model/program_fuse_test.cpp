#include "model/program_fuse.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernel/elementwise.h"
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
  const auto& shape = fused.groups[0].kernels.front().kernel.shape.as<Elementwise>();
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

// By hand of choices.py: 132 multiprocessors of 2048 threads, 270336 in all.
TEST(ProgramFuse, FewLongSumsAreMadeOfParts) {
  const ProgramCard h200{132, 2048, true};
  EXPECT_EQ(parts_of_sum(524288, 264, h200), 1) << "sums enough for two on every multiprocessor";
  EXPECT_EQ(parts_of_sum(8192, 1, h200), 1) << "too short";
  EXPECT_EQ(parts_of_sum(65536, 128, h200), 8) << "32 elements a thread, 256 threads";
  EXPECT_EQ(parts_of_sum(131072, 128, h200), 4) << "five parts are wanted, of 103 a thread; 128 divides the sum";
  EXPECT_EQ(parts_of_sum(524288, 128, h200), 5) << "no divisor is near 410";
}

// A norm over 4 million numbers for two rows: sums in parts, then the rest in a kernel of its own.
TEST(ProgramFuse, WhatReadsASumOfPartsIsAnotherKernel) {
  const std::string wide = test_layout("fp32", "2,4194304", "4194304,1"), two = test_layout("fp32", "2,1", "1,1");
  const std::string sizes = R"({"bytes":[33554432,8,33554432],"device":["cuda","cuda","cuda"],"role":["other","other","other"],)"
                            R"("born":[-1,0,1],"dies":[-1,1,-1]})";
  std::string text = test_program_text(
      {wide, two},
      {{"aten.mean.dim", R"([["self","tensor",0],["dim","ints",[-1]],["keepdim","bool",true]])", "[1]", "[0]", "[1]"},
       {"aten.sub.Tensor", R"([["self","tensor",0],["other","tensor",1]])", "[0]", "[0,1]", "[2]"}},
      sizes);
  text.insert(text.find("\"writes\""), R"("graph":[0,0],)");
  const auto program = program_from_json(text, "test");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  ASSERT_EQ(fused.groups.size(), 2u);
  EXPECT_EQ(fused.groups[0].kernels.size(), 2u) << "the parts, and their sum";
}

// What a graph keeps for another dies with its last reader there, not when that graph ends.
TEST(ProgramFuse, WhatIsKeptForGradientsIsLetGoAfterItsLastReader) {
  std::string text = test_program_text({kRow},
                                       {{"aten.exp", kUnary, "[0]", "[0]", "[1]"},
                                        {"aten.mm", R"([["self","tensor",0],["mat2","tensor",0]])", "[0]", "[1,1]", "[2]"},
                                        {"aten.mm", R"([["self","tensor",0],["mat2","tensor",0]])", "[0]", "[2,2]", "[3]"},
                                        {"aten.mm", R"([["self","tensor",0],["mat2","tensor",0]])", "[0]", "[3,3]", "[4]"}},
                                       storages("-1,0,1,2,3", "-1,3,2,3,-1", 5));
  text.insert(text.find("\"writes\""), R"("graph":[0,1,1,1],)");
  text.replace(text.find(R"("phases":["forward"])"), std::strlen(R"("phases":["forward"])"), R"("phases":["forward","backward"])");
  text.replace(text.find(R"("phase":[0,0,0,0])"), std::strlen(R"("phase":[0,0,0,0])"), R"("phase":[0,1,1,1])");
  const auto program = program_from_json(text, "test");
  ASSERT_TRUE(program) << program.error().line();
  EXPECT_EQ(fuse(*program).dies[1], 1);
}

}  // namespace
}  // namespace tilecast
