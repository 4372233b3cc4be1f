// What crosses nodes: which part of a call, over how many cards and switches, by which of NCCL's ways.
//
// NCCL joins nodes by rings through every rank, by double trees of nodes, by trees below which the NVLink switch adds
// (NVLS tree), and by switches that add themselves (collnet). A ring's cards carry what a ring of all ranks does; a
// tree's carry the bytes once over two nodes and twice over more. The quickest counts: every one of them never falls
// with bytes and never rises with bandwidth, and so the least does neither.
#pragma once

#include <string>
#include <vector>

#include "cluster/collective.h"

namespace tilecast {

// The part of a call that crosses nodes.
struct Crossing {
  int nodes = 1;   // that the ranks are on
  int local = 1;   // ranks on one of them
  int groups = 1;  // of a node that call at the same time
  Seconds wire;    // of the busiest node's cards at peak rate, by the fewest bytes that any way needs
};
Crossing crossing_of(const Collective& call, const Cluster& cluster);

// What is reached of the network, by one group among those that call at the same time.
struct NetworkRates {
  BytesPerSecond group;    // by all its ranks of a node together
  BytesPerSecond message;  // by one message between two GPUs
};
NetworkRates network_rates(const Crossing& crossing, const Cluster& cluster, const NetworkConstants& constants);

// Switches on the way between nodes beyond the first: none below one leaf, two more to the next tier, four to the
// third.
int switches_more(const Cluster::Inter& inter, int nodes);

// One way: what a group of one rank a node starts with, what its cards take, and the hops that nothing hides.
struct NetworkWay {
  std::string name;
  Seconds start, wire, steps;
};
std::vector<NetworkWay> network_ways(const Collective& call, const Cluster& cluster, const NetworkConstants& constants);

// Log2 by which intervals of calls over so many nodes are wider, either way.
double congestion_width(const Cluster::Inter& inter, int nodes);

}  // namespace tilecast
