// Replicas, tiers of the cache and layouts of pools through the public API.
#include "api/serving_fleet.h"

#include <gtest/gtest.h>

#include "support/test_files.h"

namespace tilecast {
namespace {

SimulateQuery small_fleet() {
  SimulateQuery query;
  query.model = "Llama-3.2-1B", query.gpu = "H100-SXM";
  query.load.rate = 20, query.load.input = "300", query.load.output = "20";
  query.num_prompts = 60;
  query.no_interval = true;
  return query;
}

TEST(FleetApi, ReadsAnAutoscaler) {
  const auto none = autoscale_from("", 4, seconds(9));
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto plain = autoscale_from("target=16", 6, seconds(9));
  ASSERT_TRUE(plain && *plain);
  EXPECT_EQ((*plain)->target, 16);
  EXPECT_EQ((*plain)->least, 1);
  EXPECT_EQ((*plain)->most, 6);
  EXPECT_EQ((*plain)->start_up, seconds(9));
  EXPECT_EQ((*plain)->cool_down, seconds(300));
  const auto full = autoscale_from("target=2.5,min=2,max=9,signal=queue,interval=30s,cooldown=0s,startup=500ms", 1, {});
  ASSERT_TRUE(full && *full);
  EXPECT_EQ((*full)->signal, AutoscaleSignal::queue);
  EXPECT_EQ((*full)->least, 2);
  EXPECT_EQ((*full)->most, 9);
  EXPECT_EQ((*full)->cool_down, seconds(0));
  EXPECT_DOUBLE_EQ((*full)->start_up.base(), 0.5);
  for (const char* bad : {"target", "target=", "target=0", "target=-1", "min=0", "min=5,max=2", "speed=1",
                          "interval=15", "signal=cpu", "max=1e9", "interval=0s", ",", "target=nan"}) {
    const auto refused = autoscale_from(bad, 4, seconds(9));
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().field, "autoscale");
  }
}

TEST(FleetApi, AutoscalesBesideAFixedNumber) {
  SimulateQuery query = small_fleet();
  query.num_prompts = 400, query.load.output = "200", query.load.rate = 40;
  query.router = Router::least_loaded, query.slo = "ttft=200ms";
  query.fleet.autoscale = "target=4,min=1,max=4,interval=1s,cooldown=5s,startup=1s";
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  const SimulatedLoad& load = result->loads.front();
  ASSERT_TRUE(load.outcome.fleet);
  ASSERT_TRUE(load.fixed);
  EXPECT_EQ(load.fixed_replicas, 1);
  EXPECT_EQ(load.metrics.completed, 400);
  EXPECT_TRUE(load.metrics.missed && load.fixed->missed);
  EXPECT_GT(load.metrics.gpu_hours, load.fixed->gpu_hours);
  EXPECT_LT(load.metrics.e2el.mean, load.fixed->e2el.mean);
}

TEST(FleetApi, RoutersServeEverybody) {
  for (const Router router : {Router::power_of_two, Router::prefix_aware}) {
    SimulateQuery query = small_fleet();
    query.dp = 3, query.router = router, query.load.prefixes = 5, query.load.prefix_tokens = 128;
    const auto result = simulate(query);
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->loads.front().metrics.completed, 60);
  }
}

// More different beginnings than the GPU's cache holds: from the host's memory they come sooner than computed.
TEST(FleetApi, OffloadFindsWhatTheCacheLost) {
  SimulateQuery query = small_fleet();
  query.gpu = "L4", query.model = "Llama-3.1-8B", query.dtype = "fp8";
  query.load.rate = 1, query.num_prompts = 150, query.load.input = "2200", query.load.output = "4";
  query.load.prefixes = 30, query.load.prefix_tokens = 2048, query.memory_fraction = 0.55;
  const auto without = simulate(query);
  ASSERT_TRUE(without) << without.error().line();
  query.fleet.offload_host = 40;
  const auto with = simulate(query);
  ASSERT_TRUE(with) << with.error().line();
  EXPECT_GT(with->loads.front().outcome.loaded[0], 0);
  EXPECT_GT(with->loads.front().metrics.hit_rate, without->loads.front().metrics.hit_rate);
  EXPECT_LT(with->loads.front().metrics.ttft.mean, without->loads.front().metrics.ttft.mean);
  query.fleet.offload_rate = 0;
  const auto none = simulate(query);
  ASSERT_TRUE(none) << none.error().line();
  EXPECT_EQ(none->loads.front().metrics.ttft.mean, without->loads.front().metrics.ttft.mean);
}

TEST(FleetApi, PoolsWithLayoutsOfTheirOwn) {
  SimulateQuery query = small_fleet();
  query.model = "Qwen3-30B-A3B", query.num_prompts = 20;
  query.attention_dp = 2, query.ep = 2, query.prefill_replicas = 1;
  query.prefill_tp = 2, query.fleet.prefill_attention_dp = 1, query.fleet.prefill_ep = 1, query.fleet.prefill_pp = 2;
  query.fleet.link = KvLinkKind::network;
  const auto result = simulate(query);
  ASSERT_TRUE(result) << result.error().line();
  // Two ranks that decode, one replica of four GPUs for prompts.
  EXPECT_EQ(result->loads.front().outcome.replicas, 3);
  EXPECT_EQ(result->loads.front().outcome.gpus, 6);
  query.fleet.link = KvLinkKind::nvlink;
  const auto nearer = simulate(query);
  ASSERT_TRUE(nearer) << nearer.error().line();
  EXPECT_LE(nearer->loads.front().metrics.e2el.mean, result->loads.front().metrics.e2el.mean);
}

TEST(FleetApi, ErrorsNameTheField) {
  const auto refused = [](const std::string& field, const auto& change) {
    SimulateQuery query = small_fleet();
    change(query);
    const auto result = simulate(query);
    ASSERT_FALSE(result) << field;
    EXPECT_EQ(result.error().field, field) << result.error().line();
  };
  refused("autoscale", [](SimulateQuery& q) { q.fleet.autoscale = "fast"; });
  refused("autoscale", [](SimulateQuery& q) { q.fleet.autoscale = "target=4", q.prefill_replicas = 1; });
  refused("autoscale",
          [](SimulateQuery& q) { q.fleet.autoscale = "target=4", q.sweep = "concurrency=1,2", q.load.rate.reset(); });
  refused("prefill-pp", [](SimulateQuery& q) { q.fleet.prefill_pp = 2; });
  refused("link-over", [](SimulateQuery& q) { q.fleet.link = KvLinkKind::network; });
  refused("offload-host", [](SimulateQuery& q) { q.fleet.offload_host = -1; });
  refused("no-prefix-caching", [](SimulateQuery& q) { q.fleet.offload_host = 1, q.no_prefix_caching = true; });
  refused("redundant-experts", [](SimulateQuery& q) { q.fleet.redundant_experts = 8; });
  refused("redundant-experts",
          [](SimulateQuery& q) { q.fleet.redundant_experts = 7, q.model = "Qwen3-30B-A3B", q.tp = 2, q.ep = 2; });
  refused("decode-context-parallel-size", [](SimulateQuery& q) { q.fleet.decode_cp = 2; });
  refused("decode-context-parallel-size", [](SimulateQuery& q) { q.fleet.decode_cp = 2, q.tp = 2; });
  refused("cache-threshold", [](SimulateQuery& q) { q.fleet.cache_threshold = 2; });
}

}  // namespace
}  // namespace tilecast
