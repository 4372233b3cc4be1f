#include "model/program_lower.h"

#include <gtest/gtest.h>

#include "kernel/conv2d.h"
#include "kernel/copy.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "model/program_collectives.h"
#include "model/program_testing.h"
#include "test_paths.h"

namespace tilecast {
namespace {

// The kernels of one operator on tensors of these layouts.
LoweredOperator lowered(const std::vector<std::string>& layouts, const TestOperator& op, const ProgramCard& card = {},
                        const std::string& more = "") {
  static std::vector<ProgramFile> kept;
  TestOperator one = op;
  one.reads = "[]", one.writes = "[]";
  auto program = program_from_json(test_program_text(layouts, {one}, test_storages(0), more), "test");
  if (!program) return ADD_FAILURE() << program.error().line(), LoweredOperator{};
  kept.push_back(*std::move(program));
  return lower_operator(kept.back(), kept.back().operators[0], card);
}

std::vector<std::string> kernel_names(const LoweredOperator& found) {
  std::vector<std::string> names;
  for (const ProgramKernel& kernel : found.kernels) names.push_back(kernel.name);
  return names;
}

TEST(ProgramLower, ALinearLayerIsOneProductByLayout) {
  const auto found = lowered({test_layout("bf16", "64,256", "256,1"), test_layout("bf16", "256,512", "1,256"),
                              test_layout("bf16", "64,512", "512,1"), test_layout("bf16", "512", "1")},
                             {"aten.addmm", R"([["self","tensor",3],["mat1","tensor",0],["mat2","tensor",1]])", "[2]"});
  ASSERT_EQ(found.kernels.size(), 1u);
  const auto& gemm = found.kernels[0].kernel.shape.as<Gemm>();
  EXPECT_EQ(gemm.m, 64);
  EXPECT_EQ(gemm.n, 512);
  EXPECT_EQ(gemm.k, 256);
  EXPECT_EQ(gemm.layout, Layout::tn) << "the weight is stored by rows of outputs";
  EXPECT_EQ(found.kernels[0].kernel.format.name, "bf16");
}

// Convolutions that are priced as products are cuDNN's.
TEST(ProgramLower, ProductsAloneTakeTheWorkspaceOfCublas) {
  for (const char* product : {"aten.mm.default", "aten.addmm.default", "aten.bmm.default", "aten._grouped_mm.default"})
    EXPECT_EQ(find_program_rule(product)->library, ProgramLibrary::cublas) << product;
  for (const char* other : {"aten.convolution.default", "aten.add.Tensor"})
    EXPECT_EQ(find_program_rule(other)->library, ProgramLibrary::none) << other;
}

TEST(ProgramLower, AWeightGradientIsNt) {
  const auto found = lowered({test_layout("bf16", "512,64", "1,512"), test_layout("bf16", "64,256", "256,1"),
                              test_layout("bf16", "512,256", "256,1")},
                             {"aten.mm", R"([["self","tensor",0],["mat2","tensor",1]])", "[2]"});
  EXPECT_EQ(found.kernels.at(0).kernel.shape.as<Gemm>().layout, Layout::nt);
}

TEST(ProgramLower, PointwiseKernelsGoByStrides) {
  const std::string row = test_layout("fp32", "8,16", "16,1"), turned = test_layout("fp32", "8,16", "1,8"),
                    bias = test_layout("fp32", "16", "1"), half = test_layout("bf16", "8,16", "16,1");
  const auto add = [&](const std::string& other) {
    return lowered({row, other}, {"aten.add.Tensor", R"([["self","tensor",0],["other","tensor",1]])", "[0]"});
  };
  const auto same = add(row);
  EXPECT_EQ(same.kernels.at(0).walk, TorchWalk::vectorized);
  EXPECT_EQ(same.kernels[0].kernel.shape.as<Elementwise>().inputs, 2);
  EXPECT_EQ(same.kernels[0].kernel.shape.as<Elementwise>().elements, 128);
  const auto broadcast = add(bias);
  EXPECT_EQ(broadcast.kernels.at(0).walk, TorchWalk::strided);
  EXPECT_EQ(broadcast.kernels[0].kernel.shape.as<Elementwise>().inputs, 1) << "a row is read once";
  EXPECT_TRUE(add(turned).kernels.at(0).kernel.shape.as<Copy>().transpose);
  EXPECT_EQ(add(half).kernels.at(0).manner, Manner::mixed);
}

TEST(ProgramLower, ConversionsAreKnownByTheNarrowSide) {
  const std::string wide = test_layout("fp32", "1024", "1"), half = test_layout("bf16", "1024", "1");
  const auto down = lowered({wide, half}, {"aten._to_copy", R"([["self","tensor",0]])", "[1]"});
  EXPECT_EQ(down.kernels.at(0).walk, TorchWalk::narrow);
  EXPECT_EQ(down.kernels.at(0).kernel.format.name, "bf16");
  const auto up = lowered({half, wide}, {"aten._to_copy", R"([["self","tensor",0]])", "[1]"});
  EXPECT_EQ(up.kernels.at(0).walk, TorchWalk::widen);
}

// Reduce.cuh: 8192 x 1024 in bf16 has a grid of 8 x 128 on an H200, as its profile shows.
TEST(ProgramLower, ColumnSumsHavePytorchsGrid) {
  const auto found = lowered({test_layout("bf16", "8192,1024", "1024,1"), test_layout("bf16", "1,1024", "1024,1")},
                             {"aten.sum.dim_IntList", R"([["self","tensor",0],["dim","ints",[0]]])", "[1]"});
  ASSERT_EQ(found.kernels.size(), 2u);
  EXPECT_EQ(found.kernels[0].kernel.shape.as<Custom>().ctas, 8 * 128);
  EXPECT_EQ(found.kernels[1].kernel.shape.as<Custom>().ctas, 8);
}

TEST(ProgramLower, ConvolutionsTurnImagesThatComeChannelsFirst) {
  const std::string filter = test_layout("fp16", "64,32,3,3", "288,9,3,1");
  const auto conv = [&](const std::string& in, const std::string& out) {
    return lowered(
        {in, filter, out},
        {"aten.convolution",
         R"([["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],["padding","ints",[1,1]],["dilation","ints",[1,1]],["transposed","bool",false],["groups","int",1]])",
         "[2]"});
  };
  const auto first =
      conv(test_layout("fp16", "4,32,8,8", "2048,64,8,1"), test_layout("fp16", "4,64,8,8", "4096,64,8,1"));
  const auto last =
      conv(test_layout("fp16", "4,32,8,8", "2048,1,256,32"), test_layout("fp16", "4,64,8,8", "4096,1,512,64"));
  EXPECT_EQ(kernel_names(first), (std::vector<std::string>{"layout change", "layout change", "convolution set-up",
                                                           "convolution", "layout change"}));
  ASSERT_EQ(kernel_names(last), (std::vector<std::string>{"convolution set-up", "convolution"}));
  const auto& shape = last.kernels[1].kernel.shape.as<Conv2d>();
  EXPECT_EQ(shape.in_channels, 64) << "128 bytes at a time";
  EXPECT_EQ(shape.out_channels, 64);
  EXPECT_EQ(shape.kernel_h, 3);
  EXPECT_EQ(shape.padding, 1);
}

// Channels last, the filter's gradient reads both images once; channels first, PyTorch's own kernel reads them for
// every tap.
TEST(ProgramLower, DepthwiseFilterGradientsFollowTheLayout) {
  const auto gradient = [&](const std::string& image) {
    return lowered(
        {image, test_layout("fp16", "64,1,3,3", "9,9,3,1")},
        {"aten.convolution_backward",
         R"([["grad_output","tensor",0],["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],["padding","ints",[1,1]],["dilation","ints",[1,1]],["groups","int",64],["output_mask","bools",[false,true,false]]])",
         "[1]"});
  };
  const double bytes = 2.0 * 2 * 8 * 64 * 16 * 16;
  const auto first = gradient(test_layout("fp16", "8,64,16,16", "16384,256,16,1"));
  const auto last = gradient(test_layout("fp16", "8,64,16,16", "16384,1,1024,64"));
  EXPECT_DOUBLE_EQ(first.kernels.at(0).kernel.shape.as<Custom>().l2_load_bytes, 9 * bytes);
  const auto& own = last.kernels.at(0).kernel.shape.as<Custom>();
  EXPECT_DOUBLE_EQ(own.load_bytes, bytes);
  EXPECT_LE(own.l2_load_bytes, bytes);
}

// In tf32 the filter lies across the sums of the data's gradient, which a transposed convolution is too; both operands
// across those of the filter's. Of 16 bits, either way is the same.
TEST(ProgramLower, GradientsInTf32AreKernelsOfTheirOwn) {
  const auto manner = [](const std::string& dtype, const std::string& transposed) {
    const std::string image = test_layout(dtype, "4,64,8,8", "4096,1,512,64");
    const auto found = lowered(
        {image, test_layout(dtype, "64,64,3,3", "576,1,192,64")},
        {"aten.convolution",
         R"([["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],["padding","ints",[1,1]],["dilation","ints",[1,1]],["transposed","bool",)" +
             transposed + R"(],["groups","int",1]])",
         "[0]"});
    return found.kernels.at(1).manner;
  };
  EXPECT_EQ(manner("fp32", "false"), Manner::plain);
  EXPECT_EQ(manner("fp32", "true"), Manner::tf32_data_gradient);
  EXPECT_EQ(manner("fp16", "true"), Manner::plain);
  const std::string image = test_layout("fp32", "4,64,8,8", "4096,1,512,64");
  const auto both = lowered(
      {image, test_layout("fp32", "64,64,3,3", "576,1,192,64")},
      {"aten.convolution_backward",
       R"([["grad_output","tensor",0],["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],["padding","ints",[1,1]],["dilation","ints",[1,1]],["groups","int",1],["output_mask","bools",[true,true,false]]])",
       "[0,1]"});
  std::vector<Manner> manners;
  for (const ProgramKernel& kernel : both.kernels)
    if (kernel.kernel.shape.is<Conv2d>()) manners.push_back(kernel.manner);
  EXPECT_EQ(manners, (std::vector<Manner>{Manner::tf32_data_gradient, Manner::tf32_filter_gradient}));
}

// Inductor lays images of two axes out channels last, and no others.
TEST(ProgramLower, CompiledConvolutionsOfThreeAxesAreTurned) {
  const auto conv = [&](const std::string& image, const std::string& filter, const std::string& each,
                        bool last = true) {
    ProgramCard card;
    card.compiled = true, card.images_last = last;
    return lowered({image, filter},
                   {"aten.convolution",
                    R"([["input","tensor",0],["weight","tensor",1],["stride","ints",[)" + each +
                        R"(]],["padding","ints",[)" + each + R"(]],["groups","int",1]])",
                    "[0]"},
                   card);
  };
  EXPECT_EQ(kernel_names(conv(test_layout("fp16", "2,64,8,8", "4096,64,8,1"),
                              test_layout("fp16", "64,64,3,3", "576,9,3,1"), "1,1"))
                .size(),
            3u)
      << "with the filter, which comes channels first";
  EXPECT_EQ(kernel_names(conv(test_layout("fp16", "2,64,8,8", "4096,64,8,1"),
                              test_layout("fp16", "64,64,3,3", "576,9,3,1"), "1,1", false))
                .size(),
            5u)
      << "a graph that leaves images as they are";
  EXPECT_EQ(kernel_names(conv(test_layout("fp16", "2,64,8,8,8", "32768,512,64,8,1"),
                              test_layout("fp16", "64,64,3,3,3", "1728,27,9,3,1"), "1,1,1"))
                .size(),
            5u);
}

// A convolution of one dtype over square images, channels first or last, as many channels out as in.
struct TestConvolution {
  std::string dtype = "fp16";
  Count batch = 32, channels = 64, side = 28, taps = 3, groups = 1;
  bool last = true;
};
LoweredOperator lowered_convolution(const TestConvolution& c) {
  const auto image = [&](Count channels, Count side) {
    const Count row = c.last ? side * channels : side, plane = side * side;
    const std::string strides = c.last ? fmt::format("{},1,{},{}", plane * channels, row, channels)
                                       : fmt::format("{},{},{},1", plane * channels, plane, row);
    return test_layout(c.dtype, fmt::format("{},{},{},{}", c.batch, channels, side, side), strides);
  };
  const Count each = c.channels / c.groups, area = c.taps * c.taps;
  const std::string filter = test_layout(c.dtype, fmt::format("{},{},{},{}", c.channels, each, c.taps, c.taps),
                                         fmt::format("{},{},{},1", each * area, area, c.taps));
  return lowered({image(c.channels, c.side), filter},
                 {"aten.convolution",
                  fmt::format(R"([["input","tensor",0],["weight","tensor",1],["stride","ints",[1,1]],)"
                              R"(["padding","ints",[{0},{0}]],["dilation","ints",[1,1]],["groups","int",{1}]])",
                              c.taps / 2, c.groups),
                  "[0]"});
}

// Sixteen channels a group: four groups fill the 64 channels of a tile, whose blocks beside the diagonal are for
// nothing.
TEST(ProgramLower, SmallGroupsShareTiles) {
  const auto made = lowered_convolution({.channels = 256, .groups = 16});
  ASSERT_EQ(kernel_names(made), std::vector<std::string>{"convolution"});
  const auto& shape = made.kernels[0].kernel.shape.as<Conv2d>();
  EXPECT_EQ(shape.groups, 4);
  EXPECT_EQ(shape.in_channels, 256);
}

// 24 channels become 32, by copies before and after; two such groups share a tile.
TEST(ProgramLower, OddGroupsArePaddedByCopies) {
  const auto last = lowered_convolution({.channels = 18 * 24, .groups = 18});
  ASSERT_EQ(kernel_names(last),
            (std::vector<std::string>{"cleared", "padded copy", "padded copy", "convolution", "padded copy"}));
  const auto& shape = last.kernels[3].kernel.shape.as<Conv2d>();
  EXPECT_EQ(shape.groups, 9);
  EXPECT_EQ(shape.in_channels, 18 * 32);
  const auto &image = last.kernels[1].kernel.shape.as<Custom>(), &filter = last.kernels[2].kernel.shape.as<Custom>();
  EXPECT_DOUBLE_EQ(image.vector_ops / filter.vector_ops, 32.0 * 28 * 28 / (32 * 9)) << "by padded elements";
  const auto first = lowered_convolution({.channels = 18 * 24, .groups = 18, .last = false});
  EXPECT_EQ(kernel_names(first),
            (std::vector<std::string>{"cleared", "layout change", "padded copy", "convolution", "layout change"}));
}

TEST(ProgramLower, GroupsThatCudnnPassesOverRunOneByOne) {
  const auto made = lowered_convolution({.channels = 14 * 56, .groups = 14});
  ASSERT_EQ(kernel_names(made), (std::vector<std::string>{"a group's channels", "one group", "a group's channels"}));
  for (const ProgramKernel& kernel : made.kernels) EXPECT_EQ(kernel.times, 14);
  EXPECT_DOUBLE_EQ(made.kernels[0].kernel.shape.as<Custom>().load_bytes, 2.0 * 32 * 56 * 28 * 28);
}

// Channels first, a filter of one tap is a product of every image, turned only where rows of fp32 are not aligned; its
// filter lies the same both ways. Images of one position are the rows of one product.
TEST(ProgramLower, FiltersOfOneTapAreProducts) {
  const auto names = [](const std::string& dtype, Count side) {
    return kernel_names(lowered_convolution({.dtype = dtype, .side = side, .taps = 1, .last = false}));
  };
  EXPECT_EQ(names("fp16", 7), std::vector<std::string>{"convolution as product"});
  EXPECT_EQ(names("fp32", 8), std::vector<std::string>{"convolution as product"});
  EXPECT_EQ(names("fp32", 7),
            (std::vector<std::string>{"layout change", "convolution set-up", "convolution", "layout change"}));
  const auto one = lowered_convolution({.batch = 96, .side = 1, .taps = 1, .last = false});
  ASSERT_EQ(one.kernels.size(), 1u);
  EXPECT_EQ(one.kernels[0].kernel.shape.as<Gemm>().m, 96);
}

// A CTA goes over a channel of all images, 512 numbers at a time; of 49 positions 64 threads take an image each turn.
TEST(ProgramLower, BatchStatisticsWalkOverAChannel) {
  const auto norm = [](const std::string& image) {
    return lowered({image}, {"aten.native_batch_norm", R"([["input","tensor",0],["training","bool",true]])", "[0]"});
  };
  const auto steps = [&](const std::string& image) {
    return norm(image).kernels.at(0).kernel.shape.as<Custom>().steps;
  };
  const double large = steps(test_layout("bf16", "16,64,32,32", "65536,1024,32,1"));
  const double small = steps(test_layout("bf16", "16,64,7,7", "3136,49,7,1"));
  EXPECT_DOUBLE_EQ(large / small, (16.0 * 1024 / 512) / (16.0 / 8));
  EXPECT_EQ(norm(test_layout("bf16", "16,64,7,7", "3136,49,7,1")).kernels.at(0).kernel.shape.as<Custom>().ctas, 64);
}

TEST(ProgramLower, CollectivesHaveNoKernelsOfTheirOwn) {
  const std::string part = test_layout("bf16", "128", "1"), whole = test_layout("bf16", "1024", "1");
  const auto text = test_program_text(
      {part, whole},
      {{"_c10d_functional.all_gather_into_tensor",
        R"([["input","tensor",0],["group_size","int",8],["group_name","text","0"]])", "[1]", "[]", "[]"},
       {"c10d._reduce_scatter_base_",
        R"([["output_tensor","tensor",0],["input_tensor","tensor",1],["process_group","text","3"]])", "[0]", "[]",
        "[]"},
       {"aten.add.Tensor", R"([["self","tensor",0],["other","tensor",0]])", "[0]", "[]", "[]"}},
      test_storages(0));
  const auto program = program_from_json(text, "test");
  ASSERT_TRUE(program) << program.error().line();
  const auto gather = collective_of(OperatorView(*program, program->operators[0]));
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather->op, "all_gather");
  EXPECT_EQ(gather->group, "0");
  EXPECT_TRUE(gather->waited_for);
  EXPECT_DOUBLE_EQ(gather->bytes, 2048) << "of what is gathered";
  const auto scatter = collective_of(OperatorView(*program, program->operators[1]));
  ASSERT_TRUE(scatter);
  EXPECT_EQ(scatter->op, "reduce_scatter");
  EXPECT_EQ(scatter->group, "3");
  EXPECT_FALSE(scatter->waited_for);
  EXPECT_DOUBLE_EQ(scatter->bytes, 2048) << "of what is scattered, not with what comes of it";
  EXPECT_FALSE(collective_of(OperatorView(*program, program->operators[2])));
  for (int i : {0, 1}) {
    const LoweredOperator found = lower_operator(*program, program->operators[static_cast<std::size_t>(i)]);
    EXPECT_TRUE(found.known);
    EXPECT_TRUE(found.kernels.empty());
  }
}

TEST(ProgramLower, UnknownOperatorsArePricedByTheirBytesOrAFormula) {
  const std::string pair = test_layout("bf16", "16,32", "32,1"), out = test_layout("bf16", "16,16", "16,1");
  const TestOperator op{"mine.gate", R"([["pair","tensor",0]])", "[1]"};
  const auto unknown = lowered({pair, out}, op);
  EXPECT_FALSE(unknown.known);
  ASSERT_EQ(unknown.kernels.size(), 1u);
  const auto told = lowered({pair, out}, op, {}, R"(,"formulas":[{"op":"mine.gate","read":2,"written":1,"flops":8}])");
  EXPECT_TRUE(told.known);
  const auto& shape = told.kernels.at(0).kernel.shape.as<Custom>();
  EXPECT_DOUBLE_EQ(shape.load_bytes, 2.0 * 16 * 32 * 2);
  EXPECT_DOUBLE_EQ(shape.store_bytes, 16.0 * 16 * 2);
  EXPECT_DOUBLE_EQ(shape.vector_ops, 8.0 * 16 * 16);
}

TEST(ProgramLower, BadFormulasAreRefused) {
  for (const char* bad : {R"([{"op":"a.b","read":-1,"written":1,"flops":0}])", R"([{"op":"a.b","read":1}])", R"({})"}) {
    const auto text = test_program_text({}, {}, test_storages(0), std::string(",\"formulas\":") + bad);
    EXPECT_FALSE(program_from_json(text, "test")) << bad;
  }
}

TEST(ProgramLower, ViewsAndMemoryLaunchNothing) {
  const std::string layout = test_layout("fp32", "4", "1");
  EXPECT_TRUE(lowered({layout}, {"aten.empty.memory_format", "[]", "[0]"}).kernels.empty());
  EXPECT_EQ(operator_base("aten.add_.Tensor"), "add");
  EXPECT_EQ(operator_base("mine.gate.default"), "mine.gate");
}

TEST(ProgramLower, ImpossibleSizesLaunchNothing) {
  const std::string image = test_layout("fp16", "4,32,8,8", "2048,64,8,1"),
                    filter = test_layout("fp16", "64,32,3,3", "288,9,3,1"),
                    none = test_layout("fp16", "64,32,0,3", "0,0,3,1"),
                    huge = test_layout("fp32", "1000000,1000000", "1000000,1");
  const auto conv = [&](const std::string& with, const char* stride) {
    return lowered({image, with, image},
                   {"aten.convolution",
                    std::string(R"([["input","tensor",0],["weight","tensor",1],["stride","ints",)") + stride +
                        R"(],["groups","int",1]])",
                    "[2]"});
  };
  EXPECT_TRUE(conv(filter, "[0,0]").kernels.empty());
  EXPECT_TRUE(conv(filter, "[4000000000000,1]").kernels.empty());
  EXPECT_TRUE(conv(none, "[1,1]").kernels.empty());
  EXPECT_EQ(lowered({huge}, {"aten.mm", R"([["self","tensor",0],["mat2","tensor",0]])", "[0]"}).kernels.size(), 1u);
  EXPECT_TRUE(lowered({image, image},
                      {"aten.native_layer_norm",
                       R"([["input","tensor",0],["normalized_shape","ints",[4000000000000,4000000000000]]])", "[1]"})
                  .kernels.empty());
}

// Every operator of the recorded programs has kernels that any checked shape may have.
TEST(ProgramLower, AllRecordedProgramsHaveSoundKernels) {
  for (const char* name : {"resnet50-training-eager-batch128", "lstm-training-eager-batch128_length256",
                           "qwen-moe-inference-eager-batch4_length2048_layers8", "generator-training-eager-batch256"}) {
    const auto program = program_from_file(std::string(TILECAST_SOURCE_DIR "/data/programs/") + name + ".json.gz");
    ASSERT_TRUE(program) << program.error().line();
    for (const ProgramOperator& op : program->operators) {
      const LoweredOperator found = lower_operator(*program, op);
      EXPECT_TRUE(found.known) << op.name;
      for (const ProgramKernel& kernel : found.kernels) {
        const auto again = shape_from(family_of(kernel.kernel.shape), dims_of(kernel.kernel.shape));
        EXPECT_TRUE(again) << op.name << " " << kernel.name << ": " << again.error().line();
      }
    }
  }
}

}  // namespace
}  // namespace tilecast
