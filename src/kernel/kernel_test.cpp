// What all families share: shapes from named values and back.
#include "kernel/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gpu/registry.h"
#include "kernel/family_testing.h"

namespace tilecast {
namespace {

std::string refusal(std::string_view family, const Dims& dims) {
  const auto shape = shape_from(family, dims);
  return shape ? "accepted " + dims_text(*shape) : shape.error().line();
}

TEST(Families, HaveUniqueNamesAndDescribeThemselves) {
  std::set<std::string_view> names;
  for (const Family& family : families()) {
    EXPECT_TRUE(names.insert(family.info.name).second) << family.info.name;
    EXPECT_FALSE(family.info.summary.empty()) << family.info.name;
    EXPECT_FALSE(family.info.example.empty()) << family.info.name;
    std::set<std::string> fields;
    for (const FieldInfo& field : family.fields) {
      EXPECT_TRUE(fields.insert(name_key(field.name)).second) << family.info.name << " " << field.name;
      EXPECT_FALSE(field.help.empty()) << family.info.name << " " << field.name;
    }
  }
}

TEST(Families, TheListIsTheIssues) {
  for (const char* name : {"gemm",
                           "bmm",
                           "conv2d",
                           "attention_prefill",
                           "attention_decode",
                           "attention_backward",
                           "mla_prefill",
                           "mla_decode",
                           "moe",
                           "rmsnorm",
                           "layernorm",
                           "softmax",
                           "elementwise",
                           "gated_activation",
                           "rope",
                           "embedding",
                           "quantize",
                           "kv_write",
                           "reduction",
                           "copy",
                           "cross_entropy",
                           "optimizer",
                           "sampling",
                           "scan",
                           "custom"})
    EXPECT_TRUE(find_family(name)) << name;
}

TEST(Families, AreFoundWithHyphensAndSuggested) {
  EXPECT_EQ((*find_family("attention-prefill"))->info.name, "attention_prefill");
  EXPECT_EQ((*find_family("KV_Write"))->info.name, "kv_write");
  EXPECT_THAT(find_family("gem").error().line(), testing::HasSubstr("did you mean gemm"));
}

TEST(Shapes, ExamplesSurviveTheRoundTrip) {
  for (const Family& family : families()) {
    SCOPED_TRACE(family.info.name);
    const auto shape = shape_from(family.info.name, example_of(family).dims);
    ASSERT_TRUE(shape) << shape.error().line();
    EXPECT_EQ(family_of(*shape), family.info.name);
    const std::string text = dims_text(*shape);
    const auto dims = dims_from_text(text);
    ASSERT_TRUE(dims);
    EXPECT_EQ(*dims, dims_of(*shape));
    const auto again = shape_from(family.info.name, *dims);
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_EQ(dims_text(*again), text);
  }
}

TEST(Shapes, TextHoldsRequiredFieldsAndWhatDiffersFromDefaults) {
  EXPECT_EQ(dims_text(*shape_from("gemm", {{"k", "3"}, {"m", "1"}, {"n", "2"}})), "m=1;n=2;k=3");
  EXPECT_EQ(dims_text(*shape_from("gemm", {{"m", "1"}, {"n", "2"}, {"k", "3"}, {"layout", "NT"}})),
            "m=1;n=2;k=3;layout=nt");
  EXPECT_EQ(dims_text(*shape_from("gemm", {{"m", "1"}, {"n", "2"}, {"k", "3"}, {"layout", "tn"}})), "m=1;n=2;k=3");
}

TEST(Shapes, NamesForgiveUnderscoresAndCase) {
  EXPECT_EQ(dims_text(*shape_from("attention-prefill", {{"q_len", "64"}, {"Heads", "4"}})),
            dims_text(*shape_from("attention_prefill", {{"q-len", "64"}, {"heads", "4"}})));
}

TEST(Shapes, ListsRepeatWithX) {
  const auto written = shape_from("attention_prefill", {{"heads", "4"}, {"lens", "128,4x512,2x7"}});
  const auto spelled = shape_from("attention_prefill", {{"heads", "4"}, {"lens", "128,512,512,512,512,7,7"}});
  ASSERT_TRUE(written) << written.error().line();
  EXPECT_EQ(dims_text(*written), dims_text(*spelled));
  for (const char* wrong : {"128,", ",", "x", "4x", "x4", "1x2x3", "128;4", "a", "-1", "2x-1", "99999999x1", "1.5"})
    EXPECT_THAT(refusal("attention_prefill", {{"heads", "4"}, {"lens", wrong}}), testing::StartsWith("lens: "))
        << wrong;
}

TEST(Shapes, RefusalsNameTheField) {
  const auto gemm = [](std::string m) { return refusal("gemm", {{"m", std::move(m)}, {"n", "1"}, {"k", "1"}}); };
  for (const char* wrong :
       {"", " 1", "1 ", "0x10", "1.5", "8K", "nan", "inf", "-1", "99999999999999999999", "1099511627777"})
    EXPECT_THAT(gemm(wrong), testing::StartsWith("m: must ")) << wrong;
  EXPECT_EQ(gemm("0"), "m: must be a positive whole number, not 0 (for example m 4096, n 4096, k 4096)");
  EXPECT_EQ(refusal("gemm", {{"m", "1"}, {"n", "1"}}), "k: is missing (gemm needs it)");
  EXPECT_EQ(refusal("gemm", {{"m", "1"}, {"m", "1"}, {"n", "1"}, {"k", "1"}}), "m: is given twice (give it once)");
  EXPECT_THAT(refusal("gemm", {{"m", "1"}, {"n", "1"}, {"k", "1"}, {"heads", "1"}}),
              testing::StartsWith("heads: is no field of gemm"));
  EXPECT_THAT(refusal("gemm", {{"m", "1"}, {"n", "1"}, {"k", "1"}, {"layouts", "tn"}}),
              testing::HasSubstr("did you mean layout?"));
  for (const char* wrong : {"nan", "inf", "-1", "", "1e19", "x"})
    EXPECT_THAT(refusal("custom", {{"ctas", "1"}, {"vector-ops", wrong}}),
                testing::StartsWith("vector-ops: must be a finite"));
  EXPECT_THAT(refusal("softmax", {{"rows", "1"}, {"cols", "1"}, {"backward", "maybe"}}),
              testing::StartsWith("backward: "));
}

// Every count of every family: absurd values are refused or planned, never undefined.
TEST(Shapes, ExtremeCountsAreRefusedOrPlanned) {
  const auto check = [](const Family& family, const Example& example, std::string_view gpu) {
    const auto shape = shape_from(family.info.name, example.dims);
    if (!shape) return;
    SCOPED_TRACE(std::string(family.info.name) + " " + dims_text(*shape) + " on " + std::string(gpu));
    const auto planned = plan(Kernel{*shape, *format_from(example.dtype)}, *find_gpu(gpu), Context{});
    if (!planned) return;
    for (const Launch& launch : planned->launches) {
      EXPECT_GT(launch.ctas, 0);
      for (const TaskGroup& group : launch.tasks) EXPECT_GE(group.count, 0);
    }
  };
  for (const Family& family : families())
    for (const FieldInfo& field : family.fields) {
      if (field.kind != "count") continue;
      for (const char* value : {"0", "1", "1048577", "1099511627776"}) {
        Example example = example_of(family);
        std::erase_if(example.dims, [&](const auto& dim) { return dim.first == field.name; });
        example.dims.emplace_back(field.name, value);
        for (const char* gpu : {"V100-SXM", "A100-SXM-80GB", "H100-SXM", "B200", "MI300X"}) check(family, example, gpu);
      }
    }
}

TEST(DimsText, WantsKeyAndValue) {
  EXPECT_TRUE(dims_from_text("")->empty());
  EXPECT_EQ((*dims_from_text("a=1;b=")), (Dims{{"a", "1"}, {"b", ""}}));
  for (const char* wrong : {"a", "=1", "a=1;", ";a=1", "a=1;b"}) EXPECT_FALSE(dims_from_text(wrong)) << wrong;
}

}  // namespace
}  // namespace tilecast
