#include "cluster/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/registry.h"

namespace tilecast {
namespace {

using testing::HasSubstr;

Cluster cluster(const char* name, int nodes = 1) {
  Cluster found = *find_cluster(name);
  found.nodes = nodes;
  return found;
}

Collective call(CollectiveOp op, Bytes size, int ranks, CommLibrary library = CommLibrary::nccl) {
  Collective c;
  c.op = op;
  c.bytes = size;
  c.ranks = ranks;
  c.library = library;
  return c;
}

double bound_us(const Collective& c, const Cluster& on) { return in_microseconds(collective_bound(c, on)); }

// Every call that the laws below are tried on.
template <class Use>
void for_each_call(Use&& use) {
  for (const char* name : {"hgx-a100-8", "hgx-a100-4", "hgx-h100-8", "hgx-b300-8", "gb200-nvl72", "l40s-pcie-8"})
    for (const int nodes : {1, 3})
      for (std::size_t op = 0; op < kCollectiveNames.size(); ++op)
        for (std::size_t library = 0; library < kCommLibraryNames.size(); ++library)
          for (const bool variant : {false, true}) {
            const Cluster on = cluster(name, nodes);
            for (const int ranks : {2, 3, 4, 6, 8, 16, on.gpus()}) {
              if (ranks > on.gpus() || (static_cast<CollectiveOp>(op) == CollectiveOp::send_recv && ranks != 2))
                continue;
              Collective c = call(static_cast<CollectiveOp>(op), bytes(0), ranks, static_cast<CommLibrary>(library));
              c.integers = variant;
              c.eager = variant && c.library != CommLibrary::nccl;
              use(c, on);
              // Groups of one or half the node's GPUs, where the cluster has nodes for them.
              for (const int local : {1, on.gpus_per_node / 2}) {
                c.local = local;
                if (ranks <= local * on.nodes && variant) use(c, on);
              }
            }
          }
}

Seconds time_of(const Collective& c, const Cluster& on) {
  const auto forecast = forecast_collective(c, on, shipped_comm_constants());
  EXPECT_TRUE(forecast.ok()) << forecast.error().line();
  return forecast->latency;
}

TEST(CollectiveBound, WithinANode) {
  const Cluster a100 = cluster("hgx-a100-8"), h100 = cluster("hgx-h100-8");
  const Bytes size = gigabytes(0.9);
  // A100: 300 GB/s, half a microsecond a hop. 0.9 GB x 7/8 / 300 GB/s = 2625 us.
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_gather, size, 8), a100), 2625.5, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::reduce_scatter, size, 8), a100), 2625.5, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_to_all, size, 8), a100), 2625.5, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_reduce, size, 8), a100), 5250.5, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::broadcast, size, 8), a100), 3000.5, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::send_recv, size, 2), a100), 3000.5, 1e-6);
  // H100: 450 GB/s, and a switch that adds: each rank sends its bytes once. It cannot add integers.
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_reduce, size, 8), h100), 2000.5, 1e-6);
  Collective integers = call(CollectiveOp::all_reduce, size, 8);
  integers.integers = true;
  EXPECT_NEAR(bound_us(integers, h100), 3500.5, 1e-6);
  // A mesh of four: a third of the links to each peer.
  EXPECT_NEAR(bound_us(call(CollectiveOp::send_recv, size, 2), cluster("hgx-a100-4")), 9000.5, 1e-6);
}

TEST(CollectiveBound, AcrossBridgesAndNodes) {
  const Bytes size = gigabytes(0.9);
  // Two bridges of four L40S, 32 GB/s: an exchange sends 4 x 4/8 of the bytes across.
  const Cluster l40s = cluster("l40s-pcie-8");
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_to_all, size, 8), l40s), 56251.0, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_to_all, size, 4), l40s), 21094.75, 1e-6);
  // Two nodes of eight H100 with 8 x 50 GB/s: all-reduce moves the bytes once out of a node, 0.9 / 400 = 2250 us; an
  // exchange 8 x 8/16 of them, 9000 us.
  const Cluster two = cluster("hgx-h100-8", 2);
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_reduce, size, 16), two), 2252.7, 1e-6);
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_to_all, size, 16), two), 9002.7, 1e-6);
  // Ranks that fit into one node stay there.
  EXPECT_NEAR(bound_us(call(CollectiveOp::all_reduce, size, 8), two), 2000.5, 1e-6);
}

Collective spread(CollectiveOp op, Bytes size, int ranks, int local) {
  Collective c = call(op, size, ranks);
  c.local = local;
  return c;
}

// Data-parallel groups of stride tp: each has local x 50 GB/s of the node's network.
TEST(CollectiveBound, GroupsThatShareNodes) {
  const Bytes size = gigabytes(0.9);
  const Cluster four = cluster("hgx-h100-8", 4);
  // tp 4: two ranks a node, 8 over four nodes, 100 GB/s: all-reduce 0.9 x 6/4 / 100 = 13500 us, gathering half of it.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_reduce, size, 8, 2), four), 13502.7, 1e-6);
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_gather, size, 8, 2), four), 6752.7, 1e-6);
  EXPECT_NEAR(bound_us(spread(CollectiveOp::reduce_scatter, size, 8, 2), four), 6752.7, 1e-6);
  // An exchange: each rank sends 6/8 to other nodes.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_to_all, size, 8, 2), four), 13502.7, 1e-6);
  // tp 8: one rank a node, its own card: 0.9 x 6/4 / 50.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_reduce, size, 4, 1), four), 27002.7, 1e-6);
  // A pipeline's neighbours.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::send_recv, size, 2, 1), four), 18002.7, 1e-6);
  // All of a node's GPUs: as if nobody had said.
  EXPECT_EQ(collective_bound(spread(CollectiveOp::all_reduce, size, 32, 8), four),
            collective_bound(call(CollectiveOp::all_reduce, size, 32), four));
  // Within one node a switch serves all groups at once.
  EXPECT_EQ(collective_bound(spread(CollectiveOp::all_gather, size, 2, 2), four),
            collective_bound(call(CollectiveOp::all_gather, size, 2), four));
  // PCIe, two bridges of four L40S: four groups of two, one rank on each side, share 32 GB/s: 4 x 0.9 x 1/2 / 32.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_gather, size, 2, 2), cluster("l40s-pcie-8")), 56251.0, 1e-6);
  // Two groups of four, two on each side: all-reduce sends the bytes once across, 2 x 0.9 / 32.
  EXPECT_NEAR(bound_us(spread(CollectiveOp::all_reduce, size, 4, 4), cluster("l40s-pcie-8")), 56251.0, 1e-6);
}

// vLLM's and SGLang's own all-reduce joins two GPUs over PCIe and no more, TensorRT-LLM's none: the rest is NCCL's.
TEST(Collective, EnginesGiveMostOfPcieToNccl) {
  const Cluster l40s = cluster("l40s-pcie-8"), h100 = cluster("hgx-h100-8");
  for (const int ranks : {2, 4, 8})
    for (const CommLibrary library : {CommLibrary::vllm, CommLibrary::sglang, CommLibrary::trtllm}) {
      Collective plain = call(CollectiveOp::all_reduce, mebibytes(1), ranks), own = plain;
      own.library = library;
      const bool has = ranks == 2 && library != CommLibrary::trtllm;
      EXPECT_EQ(time_of(own, l40s) == time_of(plain, l40s), !has) << name_of(library) << ranks;
      // Over NVLink all have one; at eight ranks an adding switch may be as quick.
      if (ranks < 8) {
        EXPECT_NE(time_of(own, h100), time_of(plain, h100)) << name_of(library) << ranks;
      }
    }
}

// Through the host's memory all GPUs below a bridge share it, and no engine has a kernel of its own.
TEST(Collective, WithoutPeerAccessDataPassesThroughTheHost) {
  Cluster through = cluster("l40s-pcie-8");
  through.intra.peers = false;
  const Cluster direct = cluster("l40s-pcie-8");
  const Bytes size = mebibytes(256);
  for (const int ranks : {2, 4, 8}) {
    const Collective all = call(CollectiveOp::all_reduce, size, ranks);
    const double longer = time_of(all, through) / time_of(all, direct);
    EXPECT_NEAR(longer, std::min(ranks, 4), 0.15 * std::min(ranks, 4)) << ranks;
    Collective own = all;
    own.library = CommLibrary::vllm;
    EXPECT_EQ(time_of(own, through), time_of(all, through));
  }
}

TEST(Collective, GroupsThatShareNodesTakeTheNetworksTime) {
  const Cluster four = cluster("hgx-h100-8", 4);
  const auto us = [&](const Collective& c) { return in_microseconds(time_of(c, four)); };
  const NetworkConstants& network = shipped_comm_constants().network;
  // Long messages by ring Simple: its start, 3 hops of 14 us for gathering, 6 for all-reduce, 0.95 of the card.
  const double start = 8.4, hop = 14, reached = 0.95;
  EXPECT_NEAR(us(spread(CollectiveOp::all_gather, gigabytes(9), 4, 1)), 135000 / reached + start + 3 * hop, 1e-3);
  EXPECT_NEAR(us(spread(CollectiveOp::all_reduce, gigabytes(9), 4, 1)), 270000 / reached + start + 6 * hop, 1e-3);
  // One message is also handed on chunk by chunk beside the wire.
  EXPECT_NEAR(us(spread(CollectiveOp::send_recv, gigabytes(9), 2, 1)),
              180000 / reached + 9e6 / network.connection + start + hop, 1e-3);
  // Short ones: the start, and 3 hops of LL; two ranks a node have three hops of 1 us within nodes more than one
  // node's.
  EXPECT_NEAR(us(spread(CollectiveOp::all_gather, bytes(0), 4, 1)), 6.6 + 3 * 2.7, 1e-6);
  const double within = us(call(CollectiveOp::all_gather, bytes(0), 2));
  const double link = 0.5 / 0.47 * 1.0;
  EXPECT_NEAR(us(spread(CollectiveOp::all_gather, bytes(0), 8, 2)), within + 3 * 2.7 + 3 * link, 1e-6);
  // Groups that share a node are never faster than one that has it to itself.
  for (double size = 1; size < 2e10; size *= 7)
    EXPECT_GE(us(spread(CollectiveOp::all_reduce, bytes(size), 32, 8)) * (1 + 1e-12),
              us(call(CollectiveOp::all_reduce, bytes(size), 32)));
  const Collective pair = spread(CollectiveOp::all_reduce, gigabytes(100), 2, 2);
  const Collective alone = call(CollectiveOp::all_reduce, gigabytes(100), 2);
  const Cluster l40s = cluster("l40s-pcie-8");
  EXPECT_NEAR(time_of(pair, l40s) / time_of(alone, l40s), 4, 1e-6);
}

// Two of a mesh of four have the links between them, a third of what a GPU has.
TEST(Collective, PartOfAMesh) {
  const Cluster mesh = cluster("hgx-a100-4");
  const Seconds two = time_of(call(CollectiveOp::all_gather, gigabytes(10), 2), mesh);
  EXPECT_GE(two, gigabytes(5) / gigabytes_per_second(100));
  EXPECT_LT(time_of(call(CollectiveOp::all_gather, gigabytes(10), 4), mesh), two);
}

TEST(Collective, BusFactorsAreNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::broadcast, 4), 1);
  const auto f = forecast_collective(call(CollectiveOp::all_reduce, gigabytes(1), 8), cluster("hgx-h100-8"),
                                     shipped_comm_constants());
  EXPECT_NEAR(f->bus_bandwidth.base(), 1.75e9 / in_seconds(f->latency), 1);
}

TEST(Collective, OneRankHasNothingToDo) {
  const auto f = forecast_collective(call(CollectiveOp::all_reduce, gigabytes(1), 1), cluster("hgx-h100-8"),
                                     shipped_comm_constants());
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f->latency, seconds(0));
  EXPECT_EQ(f->bound, seconds(0));
}

TEST(Collective, NeverBelowItsBoundAndGrowsWithBytes) {
  for_each_call([](Collective c, const Cluster& on) {
    Seconds last;
    for (double size = 1; size < 2e10; size *= 5.3) {
      c.bytes = bytes(size);
      const auto f = forecast_collective(c, on, shipped_comm_constants());
      ASSERT_TRUE(f.ok()) << f.error().line();
      ASSERT_GE(f->latency, f->bound);
      ASSERT_GE(f->low, f->bound);
      ASSERT_LE(f->low, f->latency);
      ASSERT_GE(f->high, f->latency);
      ASSERT_GE(f->latency.base(), last.base() * (1 - 1e-12)) << on.name << " " << name_of(c.op) << " " << size;
      last = f->latency;
    }
  });
}

TEST(Collective, MoreBandwidthIsNeverSlower) {
  for_each_call([](Collective c, const Cluster& on) {
    Cluster faster = on;
    faster.intra.bandwidth = on.intra.bandwidth * 1.3;
    if (faster.inter) faster.inter->bandwidth = on.inter->bandwidth * 1.3;
    if (faster.host_bridge) faster.host_bridge->bandwidth = on.host_bridge->bandwidth * 1.3;
    for (double size = 1; size < 2e10; size *= 9) {
      c.bytes = bytes(size);
      ASSERT_LE(time_of(c, faster).base(), time_of(c, on).base() * (1 + 1e-12)) << on.name << " " << name_of(c.op);
    }
  });
}

TEST(Collective, EnginesBeatNcclOnShortMessagesAndCallItOnLongOnes) {
  const Cluster h100 = cluster("hgx-h100-8");
  const Seconds nccl = time_of(call(CollectiveOp::all_reduce, kibibytes(16), 8), h100);
  for (const CommLibrary engine : {CommLibrary::vllm, CommLibrary::sglang, CommLibrary::trtllm}) {
    const auto shorter =
        forecast_collective(call(CollectiveOp::all_reduce, kibibytes(16), 8, engine), h100, shipped_comm_constants());
    EXPECT_LT(shorter->latency * 2, nccl) << name_of(engine);
    EXPECT_EQ(shorter->algorithm, "one-shot");
    EXPECT_EQ(time_of(call(CollectiveOp::all_reduce, mebibytes(512), 8, engine), h100),
              time_of(call(CollectiveOp::all_reduce, mebibytes(512), 8), h100));
    EXPECT_EQ(time_of(call(CollectiveOp::all_gather, kibibytes(16), 8, engine), h100),
              time_of(call(CollectiveOp::all_gather, kibibytes(16), 8), h100));
  }
}

TEST(Collective, AlgorithmsAreNccls) {
  const auto named = [](Bytes size, const char* on, int ranks, int nodes = 1) {
    return forecast_collective(call(CollectiveOp::all_reduce, size, ranks), cluster(on, nodes),
                               shipped_comm_constants())
        ->algorithm;
  };
  EXPECT_EQ(named(kibibytes(4), "hgx-h100-8", 8), "ring LL");
  EXPECT_EQ(named(gibibytes(1), "hgx-h100-8", 8), "NVLS");
  EXPECT_EQ(named(gibibytes(1), "hgx-a100-8", 8), "ring Simple");
  EXPECT_EQ(named(kibibytes(4), "hgx-a100-8", 32, 4), "tree LL");
}

TEST(Collective, UnseenGpusWorkFromTheirLinks) {
  const auto f = forecast_collective(call(CollectiveOp::all_reduce, mebibytes(64), 8), cluster("hgx-b300-8"),
                                     shipped_comm_constants());
  ASSERT_TRUE(f.ok());
  EXPECT_FALSE(f->seen);
  const double b200 = in_seconds(time_of(call(CollectiveOp::all_reduce, mebibytes(64), 8), cluster("hgx-b200-8")));
  EXPECT_NEAR(in_seconds(f->latency) / b200, 1, 0.3);
  // Nothing fitted at all: still an answer.
  EXPECT_GT(forecast_collective(call(CollectiveOp::all_reduce, mebibytes(64), 8), cluster("hgx-b300-8"), {})->latency,
            f->bound);
}

TEST(Collective, RefusesWhatCannotBe) {
  const auto line = [](const Collective& c, const Cluster& on) {
    return forecast_collective(c, on, shipped_comm_constants()).error().line();
  };
  EXPECT_THAT(line(call(CollectiveOp::all_reduce, bytes(8), 16), cluster("hgx-h100-8")),
              HasSubstr("ranks: 16 do not fit on the 8 GPUs of HGX-H100-8 (give it 2 nodes)"));
  EXPECT_THAT(line(spread(CollectiveOp::all_reduce, bytes(8), 4, 1), cluster("hgx-h100-8", 2)),
              HasSubstr("ranks: 4 do not fit on the 16 GPUs of HGX-H100-8 (give it 4 nodes)"));
  EXPECT_THAT(line(spread(CollectiveOp::all_reduce, bytes(8), 16, 16), cluster("hgx-h100-8", 2)),
              HasSubstr("local: 16 ranks do not fit on a node of 8"));
  Cluster apart = cluster("hgx-h100-8", 2);
  apart.inter.reset();
  EXPECT_THAT(line(call(CollectiveOp::all_reduce, bytes(8), 16), apart), HasSubstr("cannot reach each other"));
  EXPECT_THAT(line(call(CollectiveOp::send_recv, bytes(8), 3), cluster("hgx-h100-8")), HasSubstr("between two"));
  EXPECT_THAT(line(call(CollectiveOp::all_reduce, bytes(-1), 2), cluster("hgx-h100-8")), HasSubstr("bytes"));
  EXPECT_THAT(line(call(CollectiveOp::all_reduce, bytes(8), 0), cluster("hgx-h100-8")), HasSubstr("ranks"));
  EXPECT_THAT(collective_from("all_reduse").error().line(), HasSubstr("did you mean all_reduce"));
  EXPECT_EQ(*collective_from("AllReduce"), CollectiveOp::all_reduce);
  EXPECT_EQ(*comm_library_from("custom"), CommLibrary::vllm);
}

}  // namespace
}  // namespace tilecast
