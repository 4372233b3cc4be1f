// A question: how long does a collective between GPUs take? Tokens on their way to experts and back count as such.
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
  // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv; of tokens: dispatch, combine, prepare.
  std::string op = {};
  // Of a collective, as nccl-tests' size: the buffer of a rank for all_reduce, broadcast and send_recv, the gathered
  // result for all_gather, the whole input of a rank for reduce_scatter and all_to_all.
  std::optional<Bytes> bytes = {};
  // Of dispatch, combine and prepare, in place of bytes: tokens of a rank, elements of a token, experts each visits.
  std::optional<Count> tokens = {};
  Count hidden = 7168, topk = 8, experts = 256;
  Count most_nodes = 0;   // that the experts of one token lie on; 0: any
  Count sms = 20;         // that DeepEP's kernels get
  bool balanced = false;  // a token's experts lie on as many ranks as they can; else they are drawn at random

  std::string cluster = {};          // known_clusters(), "hgx-h100:4" (nodes), "64xH100", a file, or its
                                     // JSON text; any of them with "@hdr200", one of known_fabrics()
  std::optional<Count> nodes = {};   // of the cluster; absent: its description's, or as many as the ranks need
  std::optional<Count> ranks = {};   // that take part; absent: all GPUs of the cluster
  std::optional<Count> local = {};   // of them on one node, while the node's other GPUs make the same call
  std::optional<Count> groups = {};  // with `local`: only so many groups of a node call at a time; 1: this one alone
  // nccl (if empty), vllm, sglang, trtllm; of tokens deepep (if empty), deepep-ll, trtllm-one-sided, trtllm-two-sided.
  std::string library = {};
  std::string dtype = {};  // empty: bf16, of dispatch fp8 with scales
  bool eager = false;      // engines: launched by the host, not from a CUDA graph
};

struct CollectiveAnswer {
  std::string cluster, op, library;
  Count ranks = 0;
  Bytes bytes;  // of a collective
  struct Tokens {
    Count tokens = 0, hidden = 0, topk = 0, experts = 0;
    double bytes_per_element = 0;  // on the way, scales included
  };
  std::optional<Tokens> exchange;  // of dispatch, combine and prepare
  Seconds latency;
  Interval interval;  // 80 %
  Seconds bound;      // no execution is faster
  // As nccl-tests define it: what a link would carry if ranks formed a ring. Of tokens: what leaves a rank.
  BytesPerSecond bus_bandwidth;
  std::string algorithm;  // "ring LL", "NVLS", "two-shot" ...
  bool seen = false;      // such calls were measured on this GPU
};

// The forecast, or what is wrong with the query: errors name its field.
Result<CollectiveAnswer> forecast(const CollectiveQuery& query);
// One answer per query, in order; clusters that several name are looked up once.
std::vector<Result<CollectiveAnswer>> forecast(std::span<const CollectiveQuery> queries);

// GPUs and the links between them. Rates are peaks of one direction.
struct ClusterInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string gpu;
  Count gpus_per_node = 0;  // that fast links join: a server, or a rack
  Count nodes = 1;
  std::string link;  // "nvlink-switch", "nvlink-mesh" or "pcie"
  BytesPerSecond link_rate;
  bool nvls = false;  // the switch reduces and multicasts
  struct Network {
    std::string kind;     // "infiniband", "roce", "efa", "slingshot" or "ethernet"
    BytesPerSecond rate;  // of a GPU
  };
  std::optional<Network> network;  // between nodes
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> sources;  // a field, and where its figure comes from
};
// The built-in ones, by name.
std::vector<ClusterInfo> known_clusters();
// One of them, "hgx-h100:4", "64xH100", a description file, or its JSON text.
Result<ClusterInfo> describe_cluster(const std::string& cluster);

// Networks by name, which a cluster takes after an @: "hgx-h100:4@hdr200".
struct FabricInfo {
  std::string name;
  std::vector<std::string> aliases;
  ClusterInfo::Network network;  // of a GPU of nodes of eight
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> sources;
};
std::vector<FabricInfo> known_fabrics();

const Question& collective_question();
const Question& clusters_question();
std::vector<BoundArgument> arguments_of(CollectiveQuery& query);

}  // namespace tilecast
