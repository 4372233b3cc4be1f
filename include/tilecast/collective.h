// A question: how long does a collective between GPUs take? The exchange of tokens between experts counts as one.
//
//   auto answer = tilecast::forecast({.op = "all_reduce", .bytes = tilecast::mebibytes(64), .cluster = "hgx-h100-8"});
//   if (answer) use(answer->latency, answer->interval, answer->algorithm);
//
// Everything here is a value or a pure function; any number of threads may call any of it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/forecast.h"
#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct CollectiveQuery {
  // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv; for tokens: dispatch, combine, prepare.
  std::string op = {};
  // For a collective, the size in nccl-tests: a rank's buffer for all_reduce, broadcast and send_recv, the gathered
  // result for all_gather, a rank's whole input for reduce_scatter and all_to_all.
  std::optional<Bytes> bytes = {};
  // For dispatch, combine and prepare, instead of bytes: tokens per rank, elements per token, experts per token.
  std::optional<Count> tokens = {};
  Count hidden = 7168, topk = 8, experts = 256;
  Count most_nodes = 0;   // most nodes that one token's experts may lie on; 0: any
  Count sms = 20;         // SMs given to DeepEP's kernels
  bool balanced = false;  // a token's experts lie on as many ranks as possible; otherwise they are drawn at random

  std::string cluster = {};          // known_clusters(), "hgx-h100:4" (nodes), "64xH100", a file, or its
                                     // JSON text; any of them with "@hdr200", one of known_fabrics()
  std::optional<Count> nodes = {};   // nodes in the cluster; absent: as described, or as many as the ranks need
  std::optional<Count> ranks = {};   // ranks that take part; absent: all GPUs of the cluster
  std::optional<Count> local = {};   // ranks on one node, while the node's other GPUs make the same call
  std::optional<Count> groups = {};  // with `local`: how many groups of a node call at once; 1: only this one
  // nccl (if empty), vllm, sglang, trtllm; for tokens deepep (if empty), deepep-ll, trtllm-one-sided, trtllm-two-sided.
  std::string library = {};
  std::string dtype = {};  // empty: bf16, or fp8 with scales for dispatch
  bool eager = false;      // engines: launched by the host, not from a CUDA graph
};

struct CollectiveAnswer {
  std::string cluster, op, library;
  Count ranks = 0;
  Bytes bytes;  // for a collective
  struct Tokens {
    Count tokens = 0, hidden = 0, topk = 0, experts = 0;
    double bytes_per_element = 0;  // as sent, scales included
  };
  std::optional<Tokens> exchange;  // for dispatch, combine and prepare
  Seconds latency;
  Interval interval;  // 80 %
  Seconds bound;      // no execution is faster
  // As nccl-tests define it: what a link would carry if ranks formed a ring. For tokens: what leaves a rank.
  BytesPerSecond bus_bandwidth;
  std::string algorithm;  // "ring LL", "NVLS", "two-shot" ...
  bool seen = false;      // such calls were measured on this GPU
};

// The forecast, or what is wrong with the query: errors name its field.
Result<CollectiveAnswer> forecast(const CollectiveQuery& query);
// One answer per query, in order; a cluster named by several queries is looked up once.
std::vector<Result<CollectiveAnswer>> forecast(std::span<const CollectiveQuery> queries);

// GPUs and the links between them. Rates are peaks in one direction.
struct ClusterInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string gpu;
  Count gpus_per_node = 0;  // joined by fast links: a server, or a rack
  Count nodes = 1;
  std::string link;  // "nvlink-switch", "nvlink-mesh" or "pcie"
  BytesPerSecond link_rate;
  bool nvls = false;  // the switch reduces and multicasts
  struct Network {
    std::string kind;     // "infiniband", "roce", "efa", "slingshot" or "ethernet"
    BytesPerSecond rate;  // per GPU
  };
  std::optional<Network> network;  // between nodes
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> sources;  // a field, and where its figure comes from
};
// The built-in ones, by name.
std::vector<ClusterInfo> known_clusters();
// One of them, "hgx-h100:4", "64xH100", a description file, or its JSON text.
Result<ClusterInfo> describe_cluster(const std::string& cluster);

// Networks by name, given after an @ in a cluster: "hgx-h100:4@hdr200".
struct FabricInfo {
  std::string name;
  std::vector<std::string> aliases;
  ClusterInfo::Network network;  // per GPU, on nodes of eight
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> sources;
};
std::vector<FabricInfo> known_fabrics();

const Question& collective_question();
const Question& clusters_question();
std::vector<BoundArgument> arguments_of(CollectiveQuery& query);

}  // namespace tilecast
