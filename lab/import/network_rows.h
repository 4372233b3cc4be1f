// Measured collectives between nodes (collectives/collectives.csv.gz): two clusters of H100 by nccl-tests
// (xxrjun/nccl-tests-cluster), three of A100 and A40 by Vidur's profiler, and bandwidths of the Ultra-Scale playbook's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/collective.h"
#include "lab/import/source_mapping.h"

namespace tilecast {

struct NetworkRow {
  std::string network;  // the cluster, as the table calls it
  int nodes = 1, local = 1;
  Collective call;
  Seconds measured;
};

// A bandwidth over many jobs; the message size is not stated.
struct NetworkBand {
  int nodes = 1, local = 8;
  CollectiveOp op = CollectiveOp::all_reduce;
  double low = 0, usual = 0, high = 0;  // GB/s of the bus: 5 %, median, 95 %
};

struct NetworkRows {
  std::vector<NetworkRow> rows;
  std::vector<NetworkBand> bands;
  LeftOutRows left_out;
};

// Below `folder` (shared/data). Of the cluster of 17 nodes, some of whose links are faulty, only the faster half of
// the rows of each size. Calls within nodes of NVLink pairs are left out: no description covers such nodes.
Result<NetworkRows> read_network_rows(const std::string& folder);

// The built-in cluster whose nodes resemble a network's; their own network is not stated.
Result<Cluster> nodes_like(const std::string& network, int nodes);

// Of nccl-tests' ten sizes three, of Vidur's a tenth.
bool is_held_out(const NetworkRow& row);

// Vidur's send/recv is the sender's kernel, which ends once the rest of a message fits into NCCL's buffer of 4 MiB.
bool ends_early(const NetworkRow& row);

}  // namespace tilecast
