// Parameters and caches by hand, part for part.
#include "model/spec.h"

#include <gtest/gtest.h>

namespace tilecast {
namespace {

// One layer of width 64 and nothing else: no table, no norm, no head.
ModelSpec bare(LayerSpec layer, Count repeats = 1) {
  ModelSpec spec;
  spec.lm_head = false;
  spec.decoder = StackSpec{};
  spec.decoder->hidden = 64;
  spec.decoder->norm = NormKind::none;
  spec.decoder->layers = {{std::move(layer), repeats}};
  return spec;
}
Count size(const Mixer& mixer) { return parameters(bare({mixer, {}, {}})); }
Count size(const FeedForward& part) { return parameters(bare({{}, {}, part})); }

TEST(Spec, AttentionCountsHeadsOfEachKind) {
  AttentionSpec a{.heads = 4, .kv_heads = 2, .head_dim = 16};
  const Count products = 64 * 64 + 2 * 64 * 32 + 64 * 64;
  EXPECT_EQ(size(a), products);
  a.q_bias = a.kv_bias = a.out_bias = true;
  EXPECT_EQ(size(a), products + 64 + 2 * 32 + 64);
  a.key_bias = false;
  EXPECT_EQ(size(a), products + 64 + 32 + 64);
  a = {.heads = 4, .kv_heads = 2, .head_dim = 16, .v_head_dim = 8};
  EXPECT_EQ(size(a), 64 * 64 + 64 * 32 + 64 * 16 + 32 * 64);
  a = {.heads = 4, .kv_heads = 2, .head_dim = 16, .qk_norm = true, .gate = true, .sinks = true};
  EXPECT_EQ(size(a), products + 64 * 64 + 32 + 4);
  a.qk_norm_wide = true;
  EXPECT_EQ(size(a), products + 64 * 64 + 96 + 4);
  a.qk_norm_scale = false;
  EXPECT_EQ(size(a), products + 64 * 64 + 4);
}

TEST(Spec, LatentAttentionCountsItsRanksAndNorms) {
  MlaSpec m{.heads = 2, .q_rank = 0, .kv_rank = 32, .nope_dim = 16, .rope_dim = 8, .v_dim = 12};
  const Count keys = 64 * (32 + 8) + 32 + 32 * 2 * (16 + 12), out = 2 * 12 * 64;
  EXPECT_EQ(size(m), 64 * 2 * 24 + keys + out);
  m.q_rank = 20;
  EXPECT_EQ(size(m), 64 * 20 + 20 + 20 * 2 * 24 + keys + out);
  m.index_heads = 3, m.index_dim = 8, m.index_topk = 100;
  EXPECT_EQ(size(m), 64 * 20 + 20 + 20 * 2 * 24 + keys + out + 20 * 3 * 8 + 64 * 8 + 16 + 64 * 3);
}

TEST(Spec, ScansCountTheirConvolutionsAndGates) {
  const ScanSpec delta{ScanRule::gated_delta, 4, 8, 2, 16, 4, false};  // values 32, keys 32
  EXPECT_EQ(size(delta), 64 * (32 + 32 + 32 + 32 + 8) + 96 * 4 + 8 + 8 + 32 * 64);
  const ScanSpec mamba{ScanRule::mamba2, 4, 8, 2, 16, 4, true};  // inner 32, groups x state 32
  const ScanSpec kda{ScanRule::kda, 2, 16, 2, 16, 4, false};     // queries, keys and values 32 each
  EXPECT_EQ(size(kda), 64 * 96 + 96 * 4 + 2 * 64 * 16 + 16 * 64 + 64 * 2 + 32 + 2 + 16 + 32 * 64);
  EXPECT_EQ(size(mamba), 64 * (2 * 32 + 2 * 32 + 4) + 96 * 5 + 12 + 32 + 32 * 64);
}

TEST(Spec, ExpertsCountRouterSharedExpertAndGate) {
  MoeSpec m{.experts = 8, .topk = 2, .inter = 16};
  EXPECT_EQ(size(m), 8 * 3 * 64 * 16 + 64 * 8);
  EXPECT_EQ(active_parameters(bare({{}, {}, m})), 2 * 3 * 64 * 16 + 64 * 8);
  m.router_bias = m.shared_gate = true;
  m.shared_inter = 24;
  EXPECT_EQ(size(m), 8 * 3 * 64 * 16 + 64 * 8 + 8 + 3 * 64 * 24 + 64);
  m = {.experts = 8, .topk = 2, .inter = 16, .bias = true};
  EXPECT_EQ(size(m), 8 * (3 * 64 * 16 + 32 + 64) + 64 * 8);
  EXPECT_EQ(size(MlpSpec{.inter = 16, .gated = false, .bias = true}), 2 * 64 * 16 + 16 + 64);
}

TEST(Spec, NormsStandWhereTheArchitecturePutsThem) {
  const auto norms = [](NormPlace place, LayerSpec layer) {
    ModelSpec spec = bare(std::move(layer));
    const Count without = parameters(spec);
    spec.decoder->norm = NormKind::layer;
    spec.decoder->norm_bias = true;
    spec.decoder->place = place;
    return (parameters(spec) - without) / 128;  // the last norm is one of them
  };
  const LayerSpec both{AttentionSpec{4, 4, 16}, {}, MlpSpec{16}}, mixer{AttentionSpec{4, 4, 16}, {}, {}};
  LayerSpec crossed = both;
  crossed.cross = AttentionSpec{4, 4, 16};
  EXPECT_EQ(norms(NormPlace::before, both), 3);
  EXPECT_EQ(norms(NormPlace::after, both), 3);
  EXPECT_EQ(norms(NormPlace::both, both), 5);
  EXPECT_EQ(norms(NormPlace::shared, both), 2);
  EXPECT_EQ(norms(NormPlace::parallel, both), 3);
  EXPECT_EQ(norms(NormPlace::before, mixer), 2);
  EXPECT_EQ(norms(NormPlace::before, crossed), 4);
}

TEST(Spec, TablesAndHeadsAreCountedOnce) {
  ModelSpec spec = bare({{}, {}, {}});
  spec.decoder->final_norm = false;
  spec.vocab = 100;
  EXPECT_EQ(parameters(spec), 6400);
  EXPECT_EQ(active_parameters(spec), 0);
  spec.lm_head = true;
  EXPECT_EQ(parameters(spec), 12800);
  EXPECT_EQ(active_parameters(spec), 6400);
  spec.tied_head = true;
  EXPECT_EQ(parameters(spec), 6400);
  EXPECT_EQ(active_parameters(spec), 6400);
  spec.head_bias = true;
  EXPECT_EQ(parameters(spec), 6500);
  spec.decoder->positions = Positions::learned;
  spec.decoder->max_positions = 10;
  EXPECT_EQ(parameters(spec), 6500 + 640);
  spec.decoder->embedding_dim = 32;  // OPT-350m
  EXPECT_EQ(parameters(spec), 3200 + 100 + 640 + 2 * 32 * 64);
}

TEST(Spec, CachesKeepKeysAndValuesByWindow) {
  ModelSpec spec = bare({AttentionSpec{.heads = 8, .kv_heads = 2, .head_dim = 16}, {}, {}}, 3);
  spec.decoder->layers.push_back(
      {{AttentionSpec{.heads = 8, .kv_heads = 2, .head_dim = 16, .window = 128}, {}, {}}, 5});
  spec.decoder->layers.push_back({{MlaSpec{.heads = 8, .kv_rank = 512, .rope_dim = 64}, {}, {}}, 2});
  const ScanSpec scan{ScanRule::gated_delta, 4, 8, 2, 16, 4, false};
  spec.decoder->layers.push_back({{scan, {}, {}}, 7});
  LayerSpec crossed;
  crossed.cross = AttentionSpec{.heads = 8, .kv_heads = 8, .head_dim = 16};
  spec.decoder->layers.push_back({crossed, 1});
  const CacheNeed need = cache_need(spec);
  ASSERT_EQ(need.parts.size(), 2u);
  EXPECT_EQ(need.parts[0].window, 0);
  EXPECT_EQ(need.parts[0].per_token, 3 * 2 * 32 + 2 * 576);
  EXPECT_EQ(need.parts[1].window, 128);
  EXPECT_EQ(need.parts[1].per_token, 5 * 2 * 32);
  EXPECT_EQ(need.state, 7 * (4 * 8 * 16 + 96 * 3));
  EXPECT_EQ(need.per_source_token, 8 * 32);
}

TEST(Spec, EncodersKeepNothing) {
  ModelSpec spec = bare({AttentionSpec{8, 8, 8}, {}, MlpSpec{16}});
  std::swap(spec.encoder, spec.decoder);
  EXPECT_TRUE(cache_need(spec).parts.empty());
}

}  // namespace
}  // namespace tilecast
