// Features by name: what the program sees is pinned in feature_schema.txt, and any other order or name is another
// schema.
#include "estimate/feature_schema.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "gpu/registry.h"
#include "kernel/attention_decode.h"
#include "kernel/gemm.h"
#include "support/file.h"
#include "support/text.h"
#include "test_paths.h"

namespace tilecast {
namespace {

using testing::ElementsAre;

const std::string kPinned = TILECAST_SOURCE_DIR "/src/estimate/feature_schema.txt";

std::string as_text() {
  std::string text;
  const auto common = feature_schema("");
  const auto [shape, card] = std::pair(index_of(Feature::first_of_shape), index_of(Feature::card));
  text += "common: " + join({common.names.begin(), common.names.begin() + static_cast<std::ptrdiff_t>(shape)}, " ");
  text += " ... " + join({common.names.begin() + static_cast<std::ptrdiff_t>(card), common.names.end()}, " ") + "\n";
  for (const Family& family : families()) {
    const FeatureSchema schema = feature_schema(family.info.name);
    std::vector<std::string> fields(schema.names.begin() + static_cast<std::ptrdiff_t>(shape),
                                    schema.names.begin() + static_cast<std::ptrdiff_t>(card));
    text += fmt::format("{} {:016x}: {}\n", family.info.name, schema.hash(), join(fields, " "));
  }
  return text;
}

// A change here makes weight files of the families it touches unreadable: train them again, or carry the shipped file
// over with `tilecast-lab train --repack`, and take over the text this test prints.
TEST(FeatureSchema, IsThePinnedOne) {
  const auto pinned = read_text_file(kPinned, 1 << 20);
  ASSERT_TRUE(pinned) << pinned.error().line();
  // New families only: a line that changes is no matter of bringing a file up to date.
  const std::string now = as_text();
  const std::vector<std::string> lines = split(*pinned, '\n');
  const bool only_more = std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return contains("\n" + now, "\n" + line + "\n") || line.empty();
  });
  if (only_more && std::getenv("TILECAST_UPDATE_DOCS")) {
    std::ofstream(kPinned) << now;
    return;
  }
  EXPECT_EQ(*pinned, now) << "a new family: TILECAST_UPDATE_DOCS=1 build/release/src/test_estimate "
                             "--gtest_filter='FeatureSchema.*' adds its line";
}

TEST(FeatureSchema, NamesEveryFeatureOnce) {
  for (const Family& family : families()) {
    const FeatureSchema schema = feature_schema(family.info.name);
    ASSERT_EQ(schema.names.size(), static_cast<std::size_t>(kFeatureCount));
    std::set<std::string> names;
    for (const std::string& name : schema.names) {
      EXPECT_FALSE(name.empty()) << family.info.name;
      EXPECT_TRUE(name == kNoFeature || names.insert(name).second) << family.info.name << " " << name;
    }
  }
}

TEST(FeatureSchema, TakesFieldsInTheFamilysOrder) {
  EXPECT_THAT(shape_feature_names(Gemm{}), ElementsAre("log2(m)", "log2(n)", "log2(k)", "layout{tn|nn|nt|tt}"));
  EXPECT_LE(shape_feature_names(AttentionDecode{}).size(), static_cast<std::size_t>(kShapeFeatures));
}

// What `gemm` would be with its fields otherwise.
FeatureSchema gemm_with(const std::function<void(std::vector<std::string>&, std::size_t first)>& change) {
  FeatureSchema schema = feature_schema("gemm");
  change(schema.names, index_of(Feature::first_of_shape));
  return schema;
}

TEST(FeatureSchema, AnotherOrderNameOrFieldIsAnotherSchema) {
  const FeatureSchema own = feature_schema("gemm");
  const FeatureSchema swapped = gemm_with([](auto& names, std::size_t at) { std::swap(names[at], names[at + 1]); });
  const FeatureSchema renamed = gemm_with([](auto& names, std::size_t at) { names[at + 2] = "log2(depth)"; });
  const FeatureSchema longer = gemm_with([](auto& names, std::size_t at) { names[at + 4] = "transposed"; });
  const FeatureSchema choices = gemm_with([](auto& names, std::size_t at) { names[at + 3] = "layout{nn|tn|nt|tt}"; });
  FeatureSchema elsewhere = own;
  elsewhere.family = "bmm";
  std::set<std::uint64_t> hashes = {own.hash()};
  for (const FeatureSchema& other : {swapped, renamed, longer, choices, elsewhere})
    EXPECT_TRUE(hashes.insert(other.hash()).second);
  EXPECT_EQ(difference(own, own), "");
  EXPECT_EQ(difference(swapped, own), "has 'log2(n)' as feature 34, where this program has 'log2(m)'");
  EXPECT_EQ(difference(renamed, own), "has 'log2(depth)' where this program has 'log2(k)'");
  EXPECT_EQ(difference(longer, own), "has 'transposed', which this program has not");
  EXPECT_EQ(difference(own, longer), "lacks 'transposed', which this program has");
}

// Every name holds the quantity it names.
TEST(Features, StandUnderTheirNames) {
  const Gpu gpu = *find_gpu("H100-SXM");
  const Kernel kernel{Gemm{.m = 512, .n = 8192, .k = 4096, .layout = Layout::nt}, *format_from("bf16")};
  Context context;
  context.runtime = Runtime::eager;
  const auto planned = plan(kernel, gpu, context);
  ASSERT_TRUE(planned);
  const Estimate e = estimate(*planned, gpu, context, Method::analytic);
  const Features raw = raw_features(kernel, *planned, e, gpu, context);
  const Launch& launch = planned->launches.front();
  const LaunchEstimate& main = e.launches.front();
  const auto log2_us = [](Seconds t) { return std::log2(in_microseconds(t)); };
  EXPECT_NEAR(raw[Feature::tensor_time], log2_us(main.achieved[static_cast<std::size_t>(Resource::tensor)]), 1e-4);
  EXPECT_NEAR(raw[Feature::dram_time], log2_us(main.achieved[static_cast<std::size_t>(Resource::dram)]), 1e-4);
  EXPECT_NEAR(raw[Feature::bound_time], log2_us(e.bound), 1e-4);
  EXPECT_EQ(raw[Feature::math_bits], 16);
  EXPECT_EQ(raw[Feature::tile_m], std::log2(static_cast<float>(launch.tile.m)));
  EXPECT_EQ(raw[Feature::tile_n], std::log2(static_cast<float>(launch.tile.n)));
  EXPECT_NEAR(raw[Feature::ctas_per_sm], std::log2(static_cast<double>(launch.ctas) / gpu.sms), 1e-5);
  EXPECT_EQ(raw[Feature::eager_runtime], 1);
  EXPECT_THAT(std::vector<float>(raw.shape().begin(), raw.shape().begin() + 5), ElementsAre(9, 13, 12, 2, 0));
  const Features seen = relative_features(raw, e.bound, 0.5f, 3, 7);
  EXPECT_NEAR(seen[Feature::bound_time], 0, 1e-4);
  EXPECT_EQ(seen[Feature::source_code], 0.5f);
  EXPECT_EQ(seen[Feature::card], 3);
  EXPECT_EQ(seen[Feature::source_index], 7);
  EXPECT_EQ(seen[Feature::tile_m], raw[Feature::tile_m]);
}

}  // namespace
}  // namespace tilecast
