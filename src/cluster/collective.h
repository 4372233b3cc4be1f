// Collectives between GPUs: a bound that no execution beats, and a forecast of what a library reaches.
//
// `bytes` is what NCCL's own tests call size: the buffer of a rank for all-reduce, broadcast and send/recv; the
// gathered result for all-gather; the whole input of a rank for reduce-scatter and all-to-all.
//
// A forecast is physics x a learned curve. Physics gives two times: `empty`, what an empty message takes (software and
// one latency a step), and `wire`, the bytes of a rank over its link at peak rate. The curve (comm_constants.h) says,
// in units of `empty`, how long the call takes at each ratio of the two: flat where steps rule, slope one where bytes
// do, and between them the protocols of the library. It never falls, so more bytes or less bandwidth never help.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "cluster/cluster.h"
#include "cluster/comm_constants.h"
#include "tilecast/result.h"

namespace tilecast {

enum class CollectiveOp : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
inline constexpr std::array<std::string_view, 6> kCollectiveNames = {"all_reduce", "all_gather", "reduce_scatter",
                                                                     "all_to_all", "broadcast",  "send_recv"};
constexpr std::string_view name_of(CollectiveOp op) { return kCollectiveNames[static_cast<std::size_t>(op)]; }
Result<CollectiveOp> collective_from(std::string_view name);

// Who runs it. The engines have all-reduce kernels of their own, for messages of up to some megabytes within a node;
// everything else they give to NCCL.
enum class CommLibrary : std::uint8_t { nccl, vllm, sglang, trtllm };
inline constexpr std::array<std::string_view, 4> kCommLibraryNames = {"nccl", "vllm", "sglang", "trtllm"};
constexpr std::string_view name_of(CommLibrary l) { return kCommLibraryNames[static_cast<std::size_t>(l)]; }
Result<CommLibrary> comm_library_from(std::string_view name);  // "custom" is vLLM's

struct Collective {
  CollectiveOp op = CollectiveOp::all_reduce;
  Bytes bytes;
  int ranks = 2;
  // Ranks of the group on one node. 0: as many as fit, one node after the other, and nobody else calls. Above 0 they
  // lie evenly spread over the node, and the groups of its other GPUs make the same call at the same time:
  // data-parallel groups of stride tp have gpus_per_node / tp.
  int local = 0;
  // Groups of one node that call at the same time and share its network cards; 0: as `local` says.
  int groups = 0;
  bool integers = false;  // sums of integers: the switch cannot add them
  CommLibrary library = CommLibrary::nccl;
  bool eager = false;  // engines: launched by the host, not replayed from a CUDA graph
};

// Whose errors are alike: the rows that set an interval and the forecasts that get it.
SpreadKey spread_key(const Collective& call, const Cluster& cluster, const std::string& standing);

// What ran on a network that was measured, as its departures are filed; `cluster` has a network.
NetworkConstants::Key crossed_key(const Collective& call, const Cluster& cluster);

struct CollectiveForecast {
  Seconds latency, low, high;  // the outer two: 80 % interval
  Seconds bound;
  BytesPerSecond bus_bandwidth;  // as NCCL's tests define it: what a link would carry if ranks formed a ring
  std::string algorithm;         // "ring LL", "NVLS", "two-shot" ...
  bool seen = false;             // constants were fitted on this GPU
  std::string standing;          // see SpreadKey
};

// Bytes of a rank through its link for each byte of the call, in the best way without help of the switch.
double bus_factor(CollectiveOp op, int ranks);

Seconds collective_bound(const Collective& call, const Cluster& cluster);

// `source` names the measurements whose conditions are meant: the constants of a GPU may have been fitted on several.
Result<CollectiveForecast> forecast_collective(const Collective& call, const Cluster& cluster,
                                               const CommConstants& constants, std::string_view source = kPlainSource);

}  // namespace tilecast
