// NeuSight's formulas against numbers worked out by hand from the paper's, its donors, and its weight files.
#include "estimate/neusight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/registry.h"
#include "kernel/copy.h"
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/softmax.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

const Format& fp32() {
  static const Format format = *format_from("fp32");
  return format;
}

NeusightDevice device(std::string_view gpu, bool product) { return *neusight_device(*find_gpu(gpu), fp32(), product); }

TEST(Neusight, DevicesAreItsOwn) {
  const NeusightDevice v100 = device("V100-PCIe", true);
  EXPECT_FLOAT_EQ(v100.sms, 80);
  EXPECT_FLOAT_EQ(v100.peak, 14029);  // 1370 MHz, where the data sheet says 1380
  EXPECT_FLOAT_EQ(v100.memory, 32);
  EXPECT_NEAR(v100.bandwidth, 900, 3);
  EXPECT_FLOAT_EQ(v100.l2, 6);
  EXPECT_FLOAT_EQ(device("P4", true).sms, 40);                 // the chip has 20
  EXPECT_NEAR(device("A100-PCIe-40GB", true).peak, 19492, 1);  // ours is the same
  EXPECT_NEAR(device("T4", false).peak, 8141, 1);
  // AMD: products on the matrix pipe, the rest on the vector pipe, half as fast.
  EXPECT_NEAR(device("MI100", true).peak, 46100, 50);
  EXPECT_NEAR(device("MI100", false).peak, 23100, 50);
}

// y[1024,4096] = x[1024,1000] w on V100 in tiles of 128 x 64: 8 x 64 blocks on 80 SMs are 7 waves; a tile is
// 2*128*1000*64 = 16.384 MFLOP and 4*(128000+64000+8192) B = 0.76367 MiB; its roof is the peak.
TEST(Neusight, ProductByHand) {
  const auto call = neusight_call({Gemm{1024, 4096, 1000}, fp32()});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->predictor, "linear");
  const NeusightTerms terms = neusight_terms(*call, {128, 64, 0}, device("V100-PCIe", true));
  EXPECT_DOUBLE_EQ(terms.waves, 7);
  EXPECT_NEAR(terms.at_full.base(), 6.540053e-4, 1e-9);  // 7 * 80 * 0.016384 / 14029
  EXPECT_NEAR(terms.features[0], -3.41998, 1e-4);        // log2(0.016384 / (14.029 / 80))
  EXPECT_NEAR(terms.features[1], -3.87762, 1e-3);        // log2(0.76367 / (898 / 80))
  EXPECT_NEAR(terms.features[2], -6.25969, 1e-4);        // log2(7 * 0.76367 / (32 * 1024 / 80))
  EXPECT_NEAR(terms.features[3], -3.84465, 1e-4);        // log2(7 * 0.76367 / (6 * 1024 / 80))
  // sigmoid(ln 3) - sigmoid(0) / 7 = 0.75 - 0.5 / 7; the middle output has no say.
  const std::array<float, 3> outputs = {0, 9, 1.0986123f};
  EXPECT_NEAR(neusight_utilisation(outputs, terms.waves), 0.6785714, 1e-6);
  EXPECT_NEAR(neusight_time(terms, outputs).base(), 9.63797e-4, 1e-8);
  EXPECT_EQ(neusight_time(terms, std::array<float, 3>{5, 0, -5}), seconds(0));  // not positive: zero, as in NeuSight
}

TEST(Neusight, BatchesMultiplyBlocks) {
  const auto call = neusight_call({Bmm{10, 100, 200, 64}, fp32()});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->op, "bmm");
  EXPECT_THAT(call->dims(), testing::ElementsAre(10, 100, 64, 200));  // N is the reduction
  // 10 * ceil(100/32) * ceil(200/128) = 80 blocks.
  EXPECT_DOUBLE_EQ(neusight_terms(*call, {32, 128, 0}, device("T4", true)).waves, 2);
}

// A row of 1000 a block: 10000 blocks on 40 SMs are 250 waves. Five operations and eight bytes an element: the roof is
// memory, 320 GB taken for GiB, so the time at full use is 8e7 B / (320 * 2^30 B/s).
TEST(Neusight, SoftmaxByHand) {
  const auto call = neusight_call({Softmax{10000, 1000}, fp32()});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->predictor, "softmax");
  const NeusightTerms terms = neusight_terms(*call, {0, 0, 1000}, device("T4", false));
  EXPECT_DOUBLE_EQ(terms.waves, 250);
  EXPECT_NEAR(terms.at_full.base(), 2.328306e-4, 1e-9);
  EXPECT_NEAR(terms.features[3], -5.74649, 1e-4);  // log2(250 * 8000 / 2^20 / (4 * 1024 / 40))
}

TEST(Neusight, PointwiseOperatorsByInputs) {
  const auto add = neusight_call({Elementwise{.elements = 6000, .inputs = 2}, fp32()}, 20, 300);
  ASSERT_TRUE(add);
  EXPECT_EQ(add->op, "add");
  EXPECT_EQ(add->predictor, "vec");
  EXPECT_DOUBLE_EQ(add->bytes_per_output, 12);
  EXPECT_THAT(add->dims(), testing::ElementsAre(20, 300, 0, 0));
  EXPECT_EQ(neusight_call({Elementwise{.elements = 6000, .inputs = 1}, fp32()})->op, "addu");
  // 300 elements in tiles of 512: a block each, padded.
  EXPECT_DOUBLE_EQ(neusight_terms(*add, {0, 0, 512}, device("T4", false)).waves, 1);
  EXPECT_FALSE(neusight_call({Elementwise{.elements = 64, .op = PointwiseOp::silu}, fp32()}));
  EXPECT_FALSE(neusight_call({Softmax{16, 16, true}, fp32()}));  // backward: its memory rule
}

TEST(Neusight, DonorsAreNearestInRawFigures) {
  NeusightDonors donors;
  donors.devices = {device("A100-PCIe-40GB", true), device("T4", true)};
  donors.donors = {
      {{1, 64, 64, 64}, {32, 32, 0}, 0}, {{1, 4096, 64, 64}, {128, 128, 0}, 0}, {{1, 64, 64, 64}, {64, 64, 0}, 1}};
  // A100 80 GB: the card of nearest peak lends, whatever the dimensions say.
  EXPECT_FLOAT_EQ(donors.nearest({1, 3000, 64, 64}, device("A100-PCIe-80GB", true))->m, 128);
  EXPECT_FLOAT_EQ(donors.nearest({1, 70, 64, 64}, device("A100-PCIe-80GB", true))->m, 32);
  EXPECT_FLOAT_EQ(donors.nearest({1, 4096, 64, 64}, device("T4", true))->m, 64);
  EXPECT_FALSE(NeusightDonors{}.nearest({1, 1, 1, 1}, donors.devices[0]));
}

// A network that always answers (0, 0, ln 3): utilisation 0.75 - 0.5 / waves.
NeusightWeights constant_weights() {
  NeusightWeights weights;
  TrainedMlp predictor;
  predictor.network = Mlp({{4, 3, std::vector<float>(12, 0.0f), {0, 0, 1.0986123f}, false, {}, {}}});
  predictor.seen["V100-PCIe"] = 7;
  weights.predictors["nvidia/linear/fp32"] = predictor;
  weights.donors["nvidia/linear/fp32"] = {{device("V100-PCIe", true)}, {{{1, 1024, 1000, 4096}, {128, 64, 0}, 0}}};
  weights.sources["test"] = 7;
  return weights;
}

TEST(Neusight, ForecastsWhatItKnows) {
  const NeusightWeights weights = constant_weights();
  const Gpu v100 = *find_gpu("V100-PCIe");
  const Kernel linear{Gemm{1024, 4096, 1000}, fp32()}, bmm{Bmm{8, 64, 64, 64}, fp32()};
  const Context context;
  EXPECT_NEAR(neusight_forecast(weights, linear, *plan(linear, v100, context), v100)->base(), 9.63797e-4, 1e-8);
  EXPECT_FALSE(neusight_forecast(weights, bmm, *plan(bmm, v100, context), v100));
  // No network of its own: 4 MiB read and written at 898 GB taken for GiB.
  const Kernel copy{Copy{.elements = 1 << 20}, fp32()};
  EXPECT_NEAR(neusight_forecast(weights, copy, *plan(copy, v100, context), v100)->base(), 8.0 / 1024 / 898, 1e-9);
}

TEST(Neusight, WeightFiles) {
  const std::string good = to_bytes(constant_weights());
  const auto back = neusight_from_bytes(good, "n.weights");
  ASSERT_TRUE(back) << back.error().line();
  EXPECT_EQ(back->predictors.at("nvidia/linear/fp32").seen.at("V100-PCIe"), 7);
  EXPECT_FLOAT_EQ(back->donors.at("nvidia/linear/fp32").donors[0].tile.k, 64);
  EXPECT_EQ(to_bytes(*back), good);
  const auto refusal = [](std::string_view bytes) {
    const auto weights = neusight_from_bytes(bytes, "n.weights");
    return weights ? "accepted" : weights.error().line();
  };
  EXPECT_THAT(refusal("GIF89a"), HasSubstr("n.weights: is not a Tilecast weight file"));
  EXPECT_THAT(refusal(std::string_view(good).substr(0, good.size() - 1)), HasSubstr("is truncated"));
  std::string damaged_bytes = good;
  damaged_bytes.back() = static_cast<char>(damaged_bytes.back() ^ 1);
  EXPECT_THAT(refusal(damaged_bytes), HasSubstr("is damaged"));
  PackWriter other;
  EXPECT_THAT(refusal(pack("synperf", other)),
              HasSubstr("n.weights: holds weights of the method synperf, not neusight (take --method synperf"));
  EXPECT_THAT(refusal(pack("neusight", other)), HasSubstr("its contents do not parse"));
}

}  // namespace
}  // namespace tilecast
