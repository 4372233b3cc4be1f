#include "cluster/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/fabric.h"
#include "cluster/registry.h"

namespace tilecast {
namespace {

constexpr std::array kAllOps = {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                CollectiveOp::all_to_all, CollectiveOp::broadcast,  CollectiveOp::send_recv};

Cluster on_fabric(const char* cluster, const std::string& fabric, int nodes) {
  Cluster found = *find_cluster(cluster);
  found.nodes = nodes;
  return fabric.empty() ? found : *with_fabric(found, fabric);
}

Collective across(CollectiveOp op, Bytes size, int ranks, int local = 0, int groups = 0) {
  Collective c;
  c.op = op, c.bytes = size, c.ranks = ranks, c.local = local, c.groups = groups;
  return c;
}

CollectiveForecast forecast_of(const Collective& c, const Cluster& on) {
  const auto forecast = forecast_collective(c, on, shipped_comm_constants());
  EXPECT_TRUE(forecast.ok()) << forecast.error().line();
  return *forecast;
}
double us_of(const Collective& c, const Cluster& on) { return in_microseconds(forecast_of(c, on).latency); }

// Calls over two and many nodes, whole ones and groups that share them, on every fabric.
template <class Use>
void for_each_crossing(Use&& use) {
  for (const char* name : {"hgx-h100-8", "hgx-a100-4", "l40s-pcie-8", "mi300x-8", "gb200-nvl72"})
    for (const Fabric& fabric : built_in_fabrics())
      for (const int nodes : {2, 5, 64})
        for (const CollectiveOp op : kAllOps) {
          const Cluster on = on_fabric(name, fabric.name, nodes);
          const bool pair = op == CollectiveOp::send_recv;
          if (!pair) use(across(op, bytes(0), on.gpus()), on);
          use(across(op, bytes(0), pair ? 2 : nodes, 1), on);
          use(across(op, bytes(0), pair ? 2 : nodes, 1, 1), on);
        }
}

TEST(Network, RingsCarryWhatARingOfAllRanksDoes) {
  // Two nodes of eight with 8 x 50 GB/s, 0.95 of it reached: a gigabyte gathered is 15/16 of it through the cards.
  const Cluster two = on_fabric("hgx-h100-8", "", 2);
  const auto ways = network_ways(across(CollectiveOp::all_gather, gigabytes(1), 16), two, {});
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[2].name, "ring Simple");
  EXPECT_NEAR(in_microseconds(ways[2].wire), 1e6 * 15 / 16 / 380, 1e-6);
  // LL sends as many flags as data.
  EXPECT_NEAR(in_microseconds(ways[0].wire), 1e6 * 15 / 16 / 380 * 2, 1e-6);
  // One hop between nodes, and 16 - 2 - 7 within the other node at 3.4 us, of which the described 0.5 us are 0.5 /
  // 0.47.
  EXPECT_NEAR(in_microseconds(ways[2].steps), 14 + 7 * 3.4 * 0.5 / 0.47, 1e-6);
  EXPECT_EQ(ways[2].start, seconds(0));
}

TEST(Network, TreesCarryBytesOnceOverTwoNodesAndTwiceOverMore) {
  const auto wire = [](int nodes, std::string_view name) {
    const Cluster on = on_fabric("hgx-h100-8", "", nodes);
    for (const NetworkWay& way :
         network_ways(across(CollectiveOp::all_reduce, gigabytes(1), 8 * nodes), on, NetworkConstants{}))
      if (way.name == name) return in_microseconds(way.wire);
    return 0.0;
  };
  EXPECT_NEAR(wire(2, "tree Simple"), 1e6 / 380 / 0.92, 1e-6);
  EXPECT_NEAR(wire(4, "tree Simple"), 2e6 / 380 / 0.92, 1e-6);
  EXPECT_NEAR(wire(2, "NVLS tree"), 1e6 / 380 * 6 / 5, 1e-6);
  EXPECT_EQ(wire(4, "collnet"), 0);  // no switch of this fabric adds
}

TEST(Network, SwitchesThatAddTakeTheBytesOnce) {
  Cluster four = on_fabric("hgx-h100-8", "", 4);
  const Collective call = across(CollectiveOp::all_reduce, gigabytes(4), 32);
  const double without = us_of(call, four);
  four.inter->sharp = true;
  EXPECT_EQ(forecast_of(call, four).algorithm, "collnet");
  EXPECT_LT(us_of(call, four), without);
  EXPECT_NEAR(in_microseconds(collective_bound(call, four)), 4e6 / 400 + 2.7, 1e-6);
}

TEST(Network, AmdRunsRccl) {
  const Cluster two = on_fabric("mi300x-8", "", 2);
  for (const NetworkWay& way : network_ways(across(CollectiveOp::all_reduce, kibibytes(1), 16), two, {}))
    EXPECT_TRUE(way.name.starts_with("RCCL")) << way.name;
}

// Eight GPUs below four cards of 25 GB/s.
TEST(Network, GroupsShareCards) {
  Cluster two = on_fabric("hgx-h100-8", "", 2);
  two.inter->bandwidth = gigabytes_per_second(12.5), two.inter->rails = 4;
  const auto peak = [&](int local, int groups) {
    const Collective call = across(CollectiveOp::all_gather, gigabytes(1), 2 * local, local, groups);
    return 1 / in_seconds(crossing_of(call, two).wire) * 0.5;  // half the bytes leave a node
  };
  EXPECT_NEAR(peak(8, 0), 100, 1e-9);   // the whole node
  EXPECT_NEAR(peak(1, 1), 25, 1e-9);    // alone: a whole card
  EXPECT_NEAR(peak(1, 0), 12.5, 1e-9);  // with seven others: half of one
  EXPECT_NEAR(peak(2, 1), 50, 1e-9);
  EXPECT_NEAR(peak(2, 2), 50, 1e-9);
  EXPECT_NEAR(peak(2, 4), 25, 1e-9);
  EXPECT_NEAR(peak(4, 1), 100, 1e-9);
  // More groups never make a call faster.
  for (double size = 1e3; size < 1e10; size *= 10) {
    double last = 0;
    for (const int groups : {1, 2, 4, 8}) {
      const double now = us_of(across(CollectiveOp::all_reduce, bytes(size), 2, 1, groups), two);
      EXPECT_GE(now, last);
      last = now;
    }
  }
}

TEST(Network, AMeasuredPairStandsForTheCard) {
  Cluster two = on_fabric("hgx-h100-8", "", 2);
  const Collective message = across(CollectiveOp::send_recv, gigabytes(10), 2, 1, 1);
  const double described = us_of(message, two);
  two = with_pair(two, gigabytes_per_second(20));
  EXPECT_TRUE(two.inter->gpudirect);
  EXPECT_NEAR(us_of(message, two), 10e6 / 20 + 22.4, 1);
  EXPECT_GT(us_of(message, two), described);
  // Below a 100 Gb/s card data goes through the hosts' memory, and the node shares it.
  two = with_pair(two, gigabytes_per_second(8));
  EXPECT_FALSE(two.inter->gpudirect);
  const auto rates =
      network_rates(crossing_of(across(CollectiveOp::all_reduce, bytes(1), 16), two), two, NetworkConstants{});
  EXPECT_NEAR(in_gigabytes_per_second(rates.group), 12, 1e-9);
  EXPECT_NEAR(in_gigabytes_per_second(rates.message), 8, 1e-9);
}

TEST(Network, SwitchesOnTheWayCost) {
  Cluster::Inter inter;
  inter.leaf_nodes = 8;
  EXPECT_EQ(switches_more(inter, 8), 0);
  EXPECT_EQ(switches_more(inter, 9), 2);
  EXPECT_EQ(switches_more(inter, 64), 2);
  EXPECT_EQ(switches_more(inter, 65), 4);
  inter.leaf_nodes = 0;
  EXPECT_EQ(switches_more(inter, 100000), 0);
  // Fewer nodes below a switch, slower switches and thinner uplinks are never faster.
  for (const CollectiveOp op : kAllOps)
    for (double size = 8; size < 2e10; size *= 30) {
      Cluster on = on_fabric("hgx-h100-8", "ndr400", 64);
      const Collective call =
          op == CollectiveOp::send_recv ? across(op, bytes(size), 2, 1) : across(op, bytes(size), on.gpus());
      const double flat = us_of(call, on);
      on.inter->hop = microseconds(2);
      const double slower = us_of(call, on);
      on.inter->leaf_nodes = 4;
      const double narrower = us_of(call, on);
      on.inter->oversubscription = 16;
      EXPECT_GE(slower, flat);
      EXPECT_GE(narrower, slower);
      EXPECT_GE(us_of(call, on), narrower);
    }
  // An exchange of all with all feels it in full: 15 / 15.75 of the bytes leave a leaf of four among 64 nodes.
  Cluster on = on_fabric("hgx-h100-8", "ndr400", 64);
  on.inter->leaf_nodes = 4;
  const Collective exchange = across(CollectiveOp::all_to_all, gigabytes(100), on.gpus());
  const double full = in_seconds(network_ways(exchange, on, {})[0].wire);
  on.inter->oversubscription = 3;
  EXPECT_NEAR(in_seconds(network_ways(exchange, on, {})[0].wire) / full, 3.0 * 60 / 63, 1e-9);
}

TEST(Network, NeverBelowTheBoundAndNeverFallsWithBytes) {
  for_each_crossing([](Collective c, const Cluster& on) {
    Seconds last;
    for (double size = 1; size < 3e10; size *= 6.7) {
      c.bytes = bytes(size);
      const CollectiveForecast f = forecast_of(c, on);
      ASSERT_GE(f.latency, f.bound);
      ASSERT_LE(f.low, f.latency);
      ASSERT_GE(f.low, f.bound);
      ASSERT_GE(f.high, f.latency);
      ASSERT_GE(f.latency.base(), last.base() * (1 - 1e-9)) << on.name << " " << name_of(c.op) << " " << size;
      last = f.latency;
    }
  });
}

TEST(Network, MoreBandwidthAndLessLatencyAreNeverSlower) {
  for_each_crossing([](Collective c, const Cluster& on) {
    Cluster faster = on, nearer = on, told = on;
    faster.inter->bandwidth = on.inter->bandwidth * 1.7;
    nearer.inter->latency = on.inter->latency * 0.3, nearer.inter->hop = on.inter->hop * 0.3;
    told.inter->pair = on.inter->pair * 1.7;
    for (double size = 1; size < 3e10; size *= 40) {
      c.bytes = bytes(size);
      const double now = us_of(c, on) * (1 + 1e-9);
      ASSERT_LE(us_of(c, faster), now) << on.name << " " << name_of(c.op) << " " << size;
      ASSERT_LE(us_of(c, nearer), now) << on.name << " " << name_of(c.op) << " " << size;
      ASSERT_LE(us_of(c, told), now) << on.name << " " << name_of(c.op) << " " << size;
    }
  });
}

// A network that is free leaves what happens within the nodes, and the hops between their ranks.
TEST(Network, AFreeNetworkLeavesTheNodes) {
  Cluster two = on_fabric("hgx-h100-8", "", 2);
  two.inter->bandwidth = gigabytes_per_second(1e12), two.inter->latency = microseconds(1e-9);
  Cluster one = two;
  one.nodes = 1;
  for (const CollectiveOp op : {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const double within = us_of(across(op, gigabytes(1), 8), one);
    EXPECT_NEAR(us_of(across(op, gigabytes(1), 16), two) / within, 1, 0.01) << name_of(op);
  }
  // One rank a node: nothing but the start of a call.
  EXPECT_NEAR(us_of(across(CollectiveOp::all_reduce, gigabytes(1), 2, 1, 1), two), 0, 10);
  EXPECT_NEAR(us_of(across(CollectiveOp::send_recv, gigabytes(1), 2, 1, 1), two), 8.4, 1);
}

// However its network is described, a call of one node is that node's.
TEST(Network, OneNodeIsOneNode) {
  for (const Fabric& fabric : built_in_fabrics())
    for (const CollectiveOp op : kAllOps)
      for (double size = 8; size < 1e10; size *= 100) {
        const int ranks = op == CollectiveOp::send_recv ? 2 : 8;
        EXPECT_EQ(us_of(across(op, bytes(size), ranks), on_fabric("hgx-h100-8", fabric.name, 4)),
                  us_of(across(op, bytes(size), ranks), on_fabric("hgx-h100-8", "", 1)));
      }
}

TEST(Network, CongestionWidensIntervals) {
  Cluster on = on_fabric("hgx-h100-8", "", 64);
  const Collective call = across(CollectiveOp::all_reduce, gigabytes(1), 512);
  const CollectiveForecast usual = forecast_of(call, on);
  EXPECT_NEAR(congestion_width(*on.inter, 2), congestion_width(*on.inter, 64) / 2, 1e-12);
  EXPECT_NEAR(congestion_width(*on.inter, 4), std::log2(1.8), 1e-12);
  EXPECT_EQ(congestion_width(*on.inter, 1), 0);
  on.inter->congestion = 4;
  const CollectiveForecast busy = forecast_of(call, on);
  EXPECT_EQ(busy.latency, usual.latency);
  EXPECT_NEAR(busy.high / usual.high, 4 / 1.8, 1e-9);
  EXPECT_LE(busy.low, usual.low);
}

TEST(Network, RefusesMoreGroupsThanGpus) {
  const auto refused = forecast_collective(across(CollectiveOp::all_reduce, bytes(8), 2, 1, 9),
                                           on_fabric("hgx-h100-8", "", 2), shipped_comm_constants());
  EXPECT_THAT(refused.error().line(), testing::HasSubstr("groups: 9 groups do not share a node of 8"));
}

}  // namespace
}  // namespace tilecast
