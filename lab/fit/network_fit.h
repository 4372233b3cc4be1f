// Fits NetworkConstants to measurements between nodes, and forecasts each network by a fit that leaves it out.
//
// No source states its fabric: a network is told the bandwidth of one pair of GPUs, the median of its send/recv over
// long messages, and stands otherwise on the built-in description of its nodes. Four numbers are fitted for all of
// them, by turns, so that the mean of |log2(forecast / measured)| over networks is least, with a small charge on
// leaving what constants/network.h assumes: where the rows of the others say nothing, that stays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/comm_constants.h"
#include "lab/import/network_rows.h"

namespace tilecast {

struct NetworkOutcome {
  Seconds forecast, low, high, bound;
};

struct NetworkJudgement {
  NetworkRows data;
  std::map<std::string, BytesPerSecond> pairs;      // what a network is told
  std::map<std::string, NetworkConstants> without;  // fitted on the others
  NetworkConstants constants;                       // on all, with departures: what is shipped
  std::map<SpreadKey, CommSpread> spreads;          // of networks left out, and of sizes held out
  std::vector<NetworkOutcome> seen, left_out;       // of every row; `seen` counts at held-out sizes
};

// `within` has the curves of calls within nodes. Rows within nodes are forecast by them and train nothing.
Result<NetworkJudgement> judge_networks(NetworkRows rows, const CommConstants& within);

// A network's nodes, with what it is told.
Result<Cluster> told_cluster(const std::string& network, int nodes, BytesPerSecond pair);

}  // namespace tilecast
