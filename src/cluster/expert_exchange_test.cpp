#include "cluster/expert_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cluster/registry.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

ExpertExchange exchange(ExchangeKind kind, ExchangeOp op, int tokens, int ranks = 8) {
  ExpertExchange x;
  x.kind = kind;
  x.op = op;
  x.tokens = tokens;
  x.ranks = ranks;
  return x;
}

Cluster on(const char* name, int nodes = 1) {
  Cluster cluster = *find_cluster(name);
  cluster.nodes = nodes;
  return cluster;
}

CollectiveForecast forecast(const ExpertExchange& x, const Cluster& cluster) {
  auto made = forecast_exchange(x, cluster, shipped_comm_constants());
  EXPECT_TRUE(made.ok()) << made.error().line();
  return made.ok() ? *made : CollectiveForecast{};
}

TEST(ExpertExchange, DistinctGroups) {
  EXPECT_DOUBLE_EQ(distinct_groups(1, 256, 8), 1);
  EXPECT_DOUBLE_EQ(distinct_groups(256, 256, 8), 8);
  EXPECT_NEAR(distinct_groups(2, 8, 8), 2, 1e-12);            // one expert a rank
  EXPECT_NEAR(distinct_groups(2, 4, 2), 2 - 1.0 / 3, 1e-12);  // the second of three others joins the first
  // Against drawing.
  std::mt19937 random(1);
  std::vector<int> experts(64);
  double sum = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < 64; ++i) experts[static_cast<std::size_t>(i)] = i;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t i = 0; i < 6; ++i)
      std::swap(experts[i], experts[i + std::uniform_int_distribution<std::size_t>(0, 63 - i)(random)]);
    std::set<int> ranks;
    for (std::size_t i = 0; i < 6; ++i) ranks.insert(experts[i] / 8);
    sum += static_cast<double>(ranks.size());
  }
  EXPECT_NEAR(distinct_groups(6, 64, 8), sum / kDraws, 0.03);
}

TEST(ExpertExchange, BoundsByHand) {
  const auto us = [](const ExpertExchange& x, const Cluster& cluster) {
    return in_microseconds(exchange_bound(x, cluster));
  };
  // Balanced, 8 experts on 8 ranks: 7 copies of 7168 x 2 bytes leave, 450 GB/s; 900,000 tokens: 200,704 us.
  ExpertExchange combine = exchange(ExchangeKind::deepep, ExchangeOp::combine, 900000);
  combine.balanced = true;
  EXPECT_NEAR(us(combine, on("hgx-h100-8")), 200704.5, 1e-6);
  // The way there, fp8 with scales: 7392 bytes.
  ExpertExchange dispatch = combine;
  dispatch.op = ExchangeOp::dispatch;
  EXPECT_NEAR(us(dispatch, on("hgx-h100-8")), 103488.5, 1e-6);
  // Four nodes: a token goes to the three other nodes, 50 GB/s: 900,000 x 3 x 7392 / 50e9.
  dispatch.ranks = 32;
  EXPECT_NEAR(us(dispatch, on("hgx-h100-8", 4)), 399168 + 2.7, 1e-6);
  // Held to two nodes, its own one of them half of the time: 2 x 3/4 copies leave the node.
  dispatch.most_nodes = 2;
  EXPECT_NEAR(us(dispatch, on("hgx-h100-8", 4)), 199584 + 2.7, 1e-6);
  // One expert drawn at random: 7/8 of a copy.
  ExpertExchange one = exchange(ExchangeKind::trtllm_one_sided, ExchangeOp::dispatch, 900000);
  one.topk = 1;
  one.element_bytes = kBf16Element;
  EXPECT_NEAR(us(one, on("gb200-nvl72")), 12544.5, 1e-6);
}

template <class Use>
void for_each_exchange(Use&& use) {
  for (const char* name : {"hgx-h100-8", "hgx-a100-4", "gb200-nvl72", "hgx-b300-8", "l40s-pcie-8"})
    for (const int nodes : {1, 2, 16})
      for (std::size_t kind = 0; kind < kExchangeKindNames.size(); ++kind)
        for (std::size_t op = 0; op < kExchangeOpNames.size(); ++op)
          for (const int topk : {1, 8}) {
            const Cluster cluster = on(name, nodes);
            ExpertExchange x = exchange(static_cast<ExchangeKind>(kind), static_cast<ExchangeOp>(op), 1,
                                        std::min(cluster.gpus(), 144));
            x.topk = topk;
            const bool across = nodes > 1 && x.kind != ExchangeKind::deepep && x.kind != ExchangeKind::deepep_ll;
            if (across || (x.op == ExchangeOp::prepare && x.kind != ExchangeKind::trtllm_two_sided)) continue;
            if (x.ranks % cluster.gpus_per_node == 0) use(x, cluster);
          }
}

TEST(ExpertExchange, NeverBelowItsBoundAndGrowsWithTokens) {
  int tried = 0;
  for_each_exchange([&](ExpertExchange x, const Cluster& cluster) {
    Seconds last;
    for (int tokens = 1; tokens < 1 << 20; tokens *= 5) {
      x.tokens = tokens;
      const CollectiveForecast f = forecast(x, cluster);
      ASSERT_GE(f.latency, f.bound) << cluster.name << name_of(x.kind) << name_of(x.op) << tokens;
      ASSERT_GE(f.low, f.bound);
      ASSERT_LE(f.low, f.latency);
      ASSERT_GE(f.high, f.latency);
      ASSERT_GE(f.latency.base(), last.base() * (1 - 1e-12)) << cluster.name << name_of(x.kind) << tokens;
      last = f.latency;
    }
    ++tried;
  });
  EXPECT_GT(tried, 50);
}

TEST(ExpertExchange, MoreBandwidthOrMoreSmsAreNeverSlower) {
  for_each_exchange([](ExpertExchange x, const Cluster& cluster) {
    Cluster faster = cluster;
    faster.intra.bandwidth = cluster.intra.bandwidth * 1.3;
    if (faster.inter) faster.inter->bandwidth = cluster.inter->bandwidth * 1.3;
    if (faster.host_bridge) faster.host_bridge->bandwidth = cluster.host_bridge->bandwidth * 1.3;
    for (const int tokens : {1, 64, 4096, 1 << 20}) {
      x.tokens = tokens;
      const double before = forecast(x, cluster).latency.base();
      ASSERT_LE(forecast(x, faster).latency.base(), before * (1 + 1e-12)) << cluster.name << name_of(x.kind) << tokens;
      ExpertExchange more = x;
      more.sms = 24;
      ASSERT_LE(forecast(more, cluster).latency.base(), before * (1 + 1e-12));
    }
  });
}

TEST(ExpertExchange, FormatsAndPlacesCount) {
  const Cluster h100 = on("hgx-h100-8"), many = on("hgx-h100-8", 8);
  const auto us = [](const ExpertExchange& x, const Cluster& cluster) {
    return in_microseconds(forecast(x, cluster).latency);
  };
  ExpertExchange ll = exchange(ExchangeKind::deepep_ll, ExchangeOp::dispatch, 1024);
  EXPECT_TRUE(forecast(ll, h100).seen);
  EXPECT_FALSE(forecast(ll, on("hgx-b300-8")).seen);
  ExpertExchange bf16 = ll;
  bf16.element_bytes = kBf16Element;
  EXPECT_GT(us(bf16, h100), 1.3 * us(ll, h100));
  // Sixty-four ranks over a network of a ninth of the links.
  ll.ranks = 64;
  EXPECT_GT(us(ll, many), 2 * us(exchange(ExchangeKind::deepep_ll, ExchangeOp::dispatch, 1024), h100));
  ExpertExchange normal = exchange(ExchangeKind::deepep, ExchangeOp::dispatch, 8192, 64), held = normal;
  held.most_nodes = 4;
  EXPECT_LT(us(held, many), us(normal, many));
  // B200 between nodes was not measured, H100 was.
  EXPECT_TRUE(forecast(normal, many).seen);
  EXPECT_FALSE(forecast(normal, on("hgx-b200-8", 8)).seen);
  EXPECT_EQ(us(exchange(ExchangeKind::deepep, ExchangeOp::dispatch, 8, 1), h100), 0);
}

TEST(ExpertExchange, RefusesWhatCannotBe) {
  const auto line = [](const ExpertExchange& x, const Cluster& cluster) {
    const auto made = forecast_exchange(x, cluster, shipped_comm_constants());
    return made.ok() ? "no error" : made.error().line();
  };
  ExpertExchange x;
  x.experts = 4;
  x.topk = 2;
  EXPECT_EQ(line(x, on("hgx-h100-8")), "ranks: 8 are more than the 4 experts (4 or fewer)");
  x = {};
  x.ranks = 16;
  EXPECT_THAT(line(x, on("hgx-h100-8")), HasSubstr("16 do not fit on the 8 GPUs of HGX-H100-8 (give it 2 nodes)"));
  x.ranks = 12;
  EXPECT_THAT(line(x, on("hgx-h100-8", 2)), HasSubstr("12 do not fill nodes of 8 (8 or 16 do)"));
  x.ranks = 16;
  x.kind = ExchangeKind::trtllm_one_sided;
  EXPECT_THAT(line(x, on("hgx-h100-8", 2)), HasSubstr("deepep crosses nodes"));
  x.kind = ExchangeKind::deepep;
  Cluster apart = on("hgx-h100-8", 2);
  apart.inter.reset();
  EXPECT_THAT(line(x, apart), HasSubstr("cannot reach each other"));
  x.topk = 300;
  EXPECT_THAT(line(x, on("hgx-h100-8", 2)), HasSubstr("topk: 300 are more than the experts a token can reach"));
  x = {};
  x.tokens = 0;
  EXPECT_THAT(line(x, on("hgx-h100-8")), HasSubstr("tokens: must be one or more"));
  x = {};
  x.op = ExchangeOp::prepare;
  EXPECT_THAT(line(x, on("hgx-h100-8")), HasSubstr("prepare"));
  EXPECT_EQ(*exchange_kind_from("DeepEP-LL"), ExchangeKind::deepep_ll);
  EXPECT_EQ(*exchange_kind_from("trtllm"), ExchangeKind::trtllm_one_sided);
  EXPECT_THAT(exchange_kind_from("deepop").error().line(), HasSubstr("did you mean deepep"));
  EXPECT_THAT(exchange_op_from("dispach").error().line(), HasSubstr("did you mean dispatch"));
}

}  // namespace
}  // namespace tilecast
