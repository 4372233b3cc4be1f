#include "model/program_inline.h"

#include <gtest/gtest.h>

#include "kernel/elementwise.h"
#include "model/program_fuse.h"
#include "model/program_testing.h"

namespace tilecast {
namespace {

const std::string kSquare = test_layout("fp32", "64,64", "64,1");
const char* kOne = R"([["self","tensor",0]])";
const char* kTwo = R"([["self","tensor",0],["other","tensor",0]])";
const char* kProduct = R"([["self","tensor",0],["mat2","tensor",0]])";
constexpr double kSquareBytes = 64 * 64 * 4;

// Storages of these bytes, on the card.
std::string sized_lists(const std::string& bytes, const std::string& born, const std::string& dies, int count) {
  std::string device, role;
  for (int i = 0; i < count; ++i) device += i ? R"(,"cuda")" : R"("cuda")", role += i ? R"(,"other")" : R"("other")";
  return fmt::format(R"({{"bytes":[{}],"device":[{}],"role":[{}],"born":[{}],"dies":[{}]}})", bytes, device, role, born,
                     dies);
}

std::string four_lists(const std::string& born, const std::string& dies, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += i ? ",16384" : "16384";
  return sized_lists(bytes, born, dies, count);
}

// A program whose calls are in these graphs.
Result<ProgramFile> in_graphs(const std::vector<TestOperator>& operators, const std::string& storages,
                              const std::string& graphs) {
  std::string text = test_program_text({kSquare}, operators, storages);
  const std::string calls = R"("calls":{)";
  text.replace(text.find(calls), calls.size(), calls + R"("graph":[)" + graphs + "],");
  return program_from_json(text, "test");
}

double read_by(const FusedProgram& fused, std::size_t group) {
  const auto& shape = fused.groups[group].kernels.front().kernel.shape.as<Elementwise>();
  return static_cast<double>(shape.elements * shape.inputs) * 4;
}

TEST(ProgramInline, WhatTwoKernelsNeedIsComputedInBoth) {
  // exp(x) is read by a sum with y and one with z on either side of a product: nobody writes it.
  const auto program = in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"},
                                  {"aten.mm", kProduct, "[0]", "[0,0]", "[2]"},
                                  {"aten.add.Tensor", kTwo, "[0]", "[1,0]", "[3]"},
                                  {"aten.mul.Tensor", kTwo, "[0]", "[1,2]", "[4]"}},
                                 four_lists("-1,0,1,2,3", "-1,3,3,-1,-1", 5), "0,0,0,0");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  EXPECT_TRUE(fused.inlined[0]);
  EXPECT_TRUE(fused.inside[1]) << "never made";
  ASSERT_EQ(fused.groups.size(), 2u);
  EXPECT_EQ(read_by(fused, 0), kSquareBytes) << "x alone, though its negative is added to it";
}

TEST(ProgramInline, ProductsAndOtherGraphsFindItInMemory) {
  const auto product =
      in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"}, {"aten.mm", kProduct, "[0]", "[1,1]", "[2]"}},
                four_lists("-1,0,1", "-1,1,-1", 3), "0,0");
  ASSERT_TRUE(product) << product.error().line();
  EXPECT_FALSE(fuse(*product).inlined[0]);
  const auto later = in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"}, {"aten.exp", kOne, "[0]", "[1]", "[2]"}},
                               four_lists("-1,0,1", "-1,1,-1", 3), "0,1");
  ASSERT_TRUE(later) << later.error().line();
  EXPECT_FALSE(fuse(*later).inlined[0]) << "kept for the backward graph";
}

TEST(ProgramInline, WhatNoCompilerSawRunsAsItIs) {
  const auto program = in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"}, {"aten.exp", kOne, "[0]", "[1]", "[2]"}},
                                 four_lists("-1,0,1", "-1,1,-1", 3), "-1,-1");
  ASSERT_TRUE(program) << program.error().line();
  EXPECT_TRUE(fuse(*program).groups.empty());
}

TEST(ProgramInline, AKernelWritesIntoThePlaceOfItsLastInput) {
  const auto program = in_graphs({{"aten.mm", kProduct, "[0]", "[0,0]", "[1]"},
                                  {"aten.relu", kOne, "[0]", "[1]", "[2]"},
                                  {"aten.mm", kProduct, "[0]", "[2,0]", "[3]"}},
                                 four_lists("-1,0,1,2", "-1,1,2,-1", 4), "0,0,0");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  EXPECT_TRUE(fused.inside[2]) << "it lies where the product's result lay";
  EXPECT_EQ(fused.dies[1], 2) << "which is held until the second product has read it";
}

TEST(ProgramInline, LargeProductsWaitUntilTheyAreNeeded) {
  const auto program = in_graphs({{"aten.mm", kProduct, "[0]", "[0,0]", "[1]"},
                                  {"aten.mm", kProduct, "[0]", "[0,0]", "[2]"},
                                  {"aten.mm", kProduct, "[0]", "[2,0]", "[3]"},
                                  {"aten.mm", kProduct, "[0]", "[1,3]", "[4]"}},
                                 sized_lists("64,9000,900,800,64", "-1,0,1,2,3", "-1,3,2,3,-1", 5), "0,0,0,0");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  EXPECT_EQ(fused.born[1], 2) << "it runs third, where the third of the record stood";
  EXPECT_EQ(fused.step_of_call, (std::vector<int>{2, 0, 1, 3}));
}

TEST(ProgramInline, AResultTakesThePlaceOfWhatWasLetGo) {
  const auto program = in_graphs({{"aten.mm", kProduct, "[0]", "[0,0]", "[1]"},
                                  {"aten.mm", kProduct, "[0]", "[1,0]", "[2]"},
                                  {"aten.mm", kProduct, "[0]", "[2,0]", "[3]"}},
                                 sized_lists("64,4096,64,4096", "-1,0,1,2", "-1,1,2,-1", 4), "0,0,0");
  ASSERT_TRUE(program) << program.error().line();
  const FusedProgram fused = fuse(*program);
  EXPECT_TRUE(fused.inside[3]);
  EXPECT_EQ(fused.dies[1], -1) << "held for what outlives the step";
}

TEST(ProgramInline, NoPlaceIsHeldWhereThatWouldRaiseThePeak) {
  const auto program =
      in_graphs({{"aten.mm", kProduct, "[0]", "[0,0]", "[1]"},
                 {"aten.mm", kProduct, "[0]", "[1,0]", "[2]"},
                 {"aten.mm", kProduct, "[0]", "[2,0]", "[3]"},
                 {"aten.mm", kProduct, "[0]", "[3,0]", "[4]"},
                 {"aten.mm", kProduct, "[0]", "[4,0]", "[5]"}},
                sized_lists("64,10000,1000,9500,10000,64", "-1,0,1,2,3,4", "-1,1,2,3,4,-1", 6), "0,0,0,0,0");
  ASSERT_TRUE(program) << program.error().line();
  EXPECT_FALSE(fuse(*program).inside[4])
      << "the first product's place would stand beside the third's operand and result";
}

TEST(ProgramInline, GraphsAreAsManyAsCalls) {
  EXPECT_FALSE(in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"}}, four_lists("-1,0", "-1,-1", 2), "0,0"));
  EXPECT_FALSE(in_graphs({{"aten.neg", kOne, "[0]", "[0]", "[1]"}}, four_lists("-1,0", "-1,-1", 2), "-2"));
}

}  // namespace
}  // namespace tilecast
