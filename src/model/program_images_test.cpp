#include "model/program_images.h"

#include <gtest/gtest.h>

#include "model/program_testing.h"

namespace tilecast {
namespace {

// One convolution of an image of 64 x 64, with `more` pointwise calls behind it, in graph 0.
ProgramFile graph_of(const std::string& filter, Count groups, int more, const std::string& phase = "forward") {
  const std::string image = test_layout("fp16", "1,128,64,64", "524288,4096,64,1");
  const std::string arguments =
      R"([["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],["padding","ints",[1,1]],)"
      R"(["dilation","ints",[1,1]],["transposed","bool",false],["groups","int",)" +
      std::to_string(groups) + "]]";
  std::vector<TestOperator> calls = {{"aten.convolution", arguments, "[0]", "[0,1]", "[2]"}};
  std::string graphs = "0";
  for (int i = 0; i < more; ++i) calls.push_back({"aten.relu", R"([["self","tensor",0]])", "[0]", "[2]", "[2]"}), graphs += ",0";
  std::string text = test_program_text({image, filter}, calls, test_storages(3));
  text.insert(text.find("\"writes\""), R"("graph":[)" + graphs + "],");
  text.replace(text.find("\"forward\""), 9, "\"" + phase + "\"");
  auto program = program_from_json(text, "test");
  return program ? *std::move(program) : ProgramFile{};
}
std::string filter_of(const std::string& shape) { return test_layout("fp16", shape, "1152,9,3,1"); }

TEST(ProgramImages, OrdinaryConvolutionsTurnTheirImages) {
  EXPECT_EQ(graphs_with_images_last(graph_of(filter_of("128,128,3,3"), 1, 10)), std::vector<bool>{true});
}

TEST(ProgramImages, OneConvolutionAmongThreeHundredNodesDoesNot) {
  EXPECT_EQ(graphs_with_images_last(graph_of(filter_of("128,128,3,3"), 1, 290)), std::vector<bool>{true});
  EXPECT_EQ(graphs_with_images_last(graph_of(filter_of("128,128,3,3"), 1, 300)), std::vector<bool>{false});
}

TEST(ProgramImages, GroupsAndFiltersThatShrinkStayChannelsFirst) {
  EXPECT_EQ(graphs_with_images_last(graph_of(filter_of("128,16,3,3"), 8, 10)), std::vector<bool>{false});
  EXPECT_EQ(graphs_with_images_last(graph_of(filter_of("128,1,3,3"), 128, 10)), std::vector<bool>{true}) << "depthwise";
  const std::string shrinks = filter_of("32,128,3,3");
  EXPECT_EQ(graphs_with_images_last(graph_of(shrinks, 1, 10, "backward")), std::vector<bool>{false}) << "while training";
  EXPECT_EQ(graphs_with_images_last(graph_of(shrinks, 1, 10)), std::vector<bool>{true}) << "inference gains";
}

}  // namespace
}  // namespace tilecast
