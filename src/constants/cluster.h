// Collectives and exchanges of experts' tokens. What was measured on machines is in data/collectives; these are the
// laws that carry it to other sizes and machines.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

namespace sources {
inline constexpr std::string_view kNccl = "NCCL src/graph/tuning.cc (commit 01afd20)";
inline constexpr std::string_view kShots = "curves of 2, 4 and 8 ranks lie on one another at 256 B (AIConfigurator)";
inline constexpr std::string_view kExchangeRows =
    "AIConfigurator's rows of one token and of the most tokens: DeepEP on H100, TensorRT-LLM on GB200";
inline constexpr std::string_view kUnmeasured = "no such rows; a judgement";
}  // namespace sources

inline constexpr Whole kPlainNode{"cluster.plain_gpus",          8, "GPUs", assumed, "of a node that nobody described",
                                  "common servers of PCIe cards"};
inline constexpr Number kPlainNodePcie{"cluster.plain_pcie",
                                       32,
                                       "GB/s",
                                       assumed,
                                       "a GPU's link there where its description has none",
                                       "PCIe 4, 16 lanes, one direction"};
inline constexpr Number kPlainNodeHop{"cluster.plain_hop", 1, "us", published, "of a hop between GPUs of such a node",
                                      sources::kNccl};
inline constexpr Number kPlainNodeNetwork{"cluster.plain_network",
                                          12.5,
                                          "GB/s",
                                          assumed,
                                          "of a GPU between such nodes",
                                          "two cards of 400 Gbit/s, shared by eight GPUs"};
inline constexpr Number kPlainNodeNetworkHop{"cluster.plain_network_hop",   2.7,           "us", published,
                                             "of a hop between such nodes", sources::kNccl};

inline constexpr Number kCollectiveDoubt{
    "collective.doubt",  0.5, "log2", assumed, "by which an interval reaches farther on what was not measured",
    sources::kUnmeasured};
inline constexpr Number kEagerCopyShare{
    "collective.copy_share", 0.9, "1", assumed, "of DRAM's rate at which an eager engine copies its message",
    "as a long stream"};
inline constexpr Number kEagerCopyLaunch{"collective.copy_launch",
                                         6,
                                         "us",
                                         fitted,
                                         "and that is a kernel of its own",
                                         "eager rows beside graph rows of the same message"};
inline constexpr Number kNcclBase{
    "collective.nccl_base", 3.6, "us", published, "baseLat of ring LL: launch, and the first flag seen",
    sources::kNccl};
inline constexpr Number kShotBase{"collective.shot_base", 2.0, "us", fitted, "launch of the engines' own kernels",
                                  sources::kShots};
inline constexpr Number kShotSteps{"collective.shot_steps", 2.0, "steps", fitted, "their two barriers",
                                   sources::kShots};
inline constexpr Number kShotStepsPerRank{
    "collective.shot_steps_per_rank", 0.4, "steps", fitted, "and what a rank adds", sources::kShots};
inline constexpr Number kExchangeSteps{"collective.exchange_steps",
                                       0.3,
                                       "steps",
                                       fitted,
                                       "of point-to-point calls for each doubling of the ranks",
                                       sources::kShots};
inline constexpr Whole kMeasuredRanks{
    "collective.measured_ranks", 8, "ranks", measured, "nothing beyond a node of so many was measured",
    "data/collectives"};
inline constexpr Number kStepsPerDoubling{"collective.steps_per_doubling",
                                          4,
                                          "steps",
                                          assumed,
                                          "that each doubling beyond it adds: rings grow into trees",
                                          sources::kUnmeasured};
inline constexpr Whole kLeastNvlsRanks{"collective.least_nvls_ranks",
                                       6,
                                       "ranks",
                                       measured,
                                       "from which on sums of floats are left to the switch",
                                       "rings at four ranks, NVLS at eight on every machine measured"};

inline constexpr Number kNetHop{
    "collective.net_hop", 2.7, "us", published, "hop that a network's described latency stands for", sources::kNccl};
inline constexpr Number kNvlinkHop{
    "collective.nvlink_hop", 0.47, "us", published, "hop that NVLink's described latency stands for", sources::kNccl};
inline constexpr Number kPcieHop{
    "collective.pcie_hop", 1.0, "us", published, "hop that PCIe's described latency stands for", sources::kNccl};

// The same within a node, to name the algorithm NCCL would take.
struct NodeProtocolConstants {
  const char* name;
  Number base, hop, share;
};
constexpr NodeProtocolConstants node_protocol(const char* name, double base, double hop, double share) {
  return {name, Number{"collective.node_protocol.base", base, "us", published, "baseLat", sources::kNccl, "", name},
          Number{"collective.node_protocol.hop", hop, "us", published, "hwLat of NVLink", sources::kNccl, "", name},
          Number{"collective.node_protocol.share", share, "1", published, "of the link that is not flags",
                 sources::kNccl, "", name}};
}
inline constexpr std::array<NodeProtocolConstants, 3> kNodeProtocols = {node_protocol("ring LL", 3.6, 0.47, 0.25),
                                                                        node_protocol("ring LL128", 10.0, 1.9, 0.92),
                                                                        node_protocol("ring Simple", 8.4, 3.4, 1.0)};
inline constexpr Number kNvlsBase{"collective.nvls_base", 25, "us", published, "baseLat of NVLS", sources::kNccl};

// The largest message of the engines' own kernels: where measured rows join NCCL's.
inline constexpr std::string_view kCustomRows = "AIConfigurator's custom_allreduce rows, where they join NCCL's";
inline constexpr Whole kOwnKernelRanks{"collective.own_kernel_ranks",
                                       8,
                                       "ranks",
                                       published,
                                       "at most",
                                       "custom_all_reduce.cuh of vLLM and SGLang; TensorRT-LLM's plugin"};
inline constexpr Whole kOwnKernelPcieRanks{"collective.own_kernel_pcie_ranks",
                                           2,
                                           "ranks",
                                           published,
                                           "that an engine's own all-reduce joins over PCIe",
                                           "vllm/distributed/device_communicators/custom_all_reduce.py"};
inline constexpr Number kSglangAmpereShot{
    "collective.own_kernel",      8,       "MiB", measured, "largest message", kCustomRows,
    "pascal volta turing ampere", "sglang"};
inline constexpr Number kSglangShot{"collective.own_kernel", 16,      "MiB", measured, "largest message", kCustomRows,
                                    "ada hopper blackwell",  "sglang"};
inline constexpr Number kVllmPairShot{"collective.own_kernel", 4,           "MiB", measured,
                                      "largest message",       kCustomRows, "",    "vllm, two ranks or Ampere"};
inline constexpr Number kVllmFourShot{"collective.own_kernel", 8,           "MiB", measured,
                                      "largest message",       kCustomRows, "",    "vllm, up to four ranks"};
inline constexpr Number kVllmShot{"collective.own_kernel", 32,          "MiB", measured,
                                  "largest message",       kCustomRows, "",    "vllm, more ranks"};
inline constexpr Number kOtherShot{"collective.own_kernel", 8,           "MiB", measured,
                                   "largest message",       kCustomRows, "",    "trtllm"};
inline constexpr Number kFourOneShot{"collective.one_shot",
                                     512,
                                     "KiB",
                                     published,
                                     "largest message that ranks exchange whole",
                                     "custom_all_reduce.cuh of vLLM and SGLang",
                                     "",
                                     "up to four ranks"};
inline constexpr Number kOneShot{"collective.one_shot",
                                 256,
                                 "KiB",
                                 published,
                                 "largest message that ranks exchange whole",
                                 "custom_all_reduce.cuh of vLLM and SGLang",
                                 "",
                                 "more ranks"};

inline constexpr Number kPlainShare{
    "collective.plain_share", 0.75, "1", assumed, "of the peak where nothing is known of a scheme",
    sources::kUnmeasured};
inline constexpr Number kPlainHost{
    "collective.plain_host", 30, "us", assumed, "of an eager launch where none was measured", sources::kUnmeasured};
inline constexpr Number kPlainSpread{
    "collective.plain_spread", 0.6, "log2", assumed, "either end of an interval where none was measured",
    sources::kUnmeasured};

// Exchanges of experts' tokens: these put rows of all shapes on one line, a curve carries the rest.
namespace exchange {
constexpr Number number(std::string_view name, double value, std::string_view unit, std::string_view about,
                        std::string_view kernel) {
  return Number{name, value, unit, fitted, about, sources::kExchangeRows, "", kernel};
}
inline constexpr std::string_view kNormal = "DeepEP", kLow = "DeepEP low latency", kTwoSided = "TensorRT-LLM";
inline constexpr Number kNormalBase = number("exchange.base", 24, "us", "an empty dispatch", kNormal);
inline constexpr Number kNormalCombineBase = number("exchange.combine_base", 22, "us", "an empty combine", kNormal);
inline constexpr Number kCombinePerElement =
    number("exchange.combine_element", 3.4, "ns", "an element of a token, which combine copies whole", kNormal);
inline constexpr Number kLlBase = number("exchange.base", 9, "us", "an empty dispatch or combine", kLow);
inline constexpr Number kLlPerExpert = number("exchange.expert", 16, "ns", "the flag of an expert, dispatch", kLow);
inline constexpr Number kLlCombinePerExpert =
    number("exchange.combine_expert", 10, "ns", "the flag of an expert, combine", kLow);
inline constexpr Number kTrtllmBase = number("exchange.base", 11, "us", "an empty exchange", kTwoSided);
inline constexpr Number kSmToken = number("exchange.sm_token", 380, "ns", "an SM looks at a token", kNormal);
inline constexpr Number kSmCopy = number("exchange.sm_copy", 40, "ns", "an SM makes a copy of it", kNormal);
inline constexpr Number kSmCopyByte = number("exchange.sm_copy_byte", 40e-12, "s", "and of its bytes", kNormal);
inline constexpr Number kSmSumByte = number("exchange.sm_sum_byte", 125e-12, "s", "an SM adds a byte up", kNormal);
inline constexpr Number kSmCombineByte =
    number("exchange.sm_combine_byte", 27e-12, "s", "an SM sends a byte back", kNormal);
inline constexpr Number kNormalLinkShare = number("exchange.link_share", 0.72, "1", "of the links", kNormal);
inline constexpr Number kAcrossDispatch =
    number("exchange.across_dispatch", 1.5, "1", "across nodes SMs send, forward and receive", kNormal);
inline constexpr Number kAcrossCombine = number("exchange.across_combine", 2.2, "1", "the same for combine", kNormal);
inline constexpr Number kLlToken = number("exchange.token", 1.4, "us", "an SM goes through a token", kLow);
inline constexpr Number kLlTokenElement =
    number("exchange.token_element", 0.18, "ns", "and an element, which it casts to fp8", kLow);
inline constexpr Number kLlDispatchShare = number("exchange.dispatch_share", 0.6, "1", "of the links", kLow);
inline constexpr Number kLlCombineShare = number("exchange.combine_share", 0.45, "1", "of the links", kLow);
inline constexpr Number kLlSmRate = number("exchange.sm_rate", 60, "GB/s", "that an SM sends back", kLow);
inline constexpr Number kQueueDispatch =
    number("exchange.queue_dispatch", 29, "ns", "a token passes a queue in shared memory", kTwoSided);
inline constexpr Number kQueueCombine = number("exchange.queue_combine", 48, "ns", "the same back", kTwoSided);
inline constexpr Number kQueueLowCombine =
    number("exchange.queue_low_combine", 80, "ns", "the same back in low precision", kTwoSided);
inline constexpr Number kPrepareToken = number("exchange.prepare_token", 7, "ns", "preparing a token", kTwoSided);
}  // namespace exchange

// Layouts over many GPUs.
inline constexpr Number kExchangeSms{"parallel.exchange_sms",
                                     16,
                                     "SMs",
                                     published,
                                     "that NCCL's channels occupy while they move data",
                                     "NCCL 2.2x on NVLink machines; DeepEP's kernels take 20 to 24"};
inline constexpr Number kCopyShare{"parallel.copy_share",
                                   0.85,
                                   "1",
                                   measured,
                                   "of DRAM's rate that pointwise kernels over a gigabyte reach",
                                   "0.82 to 0.89 by the forecasts of A100, H100 and H200"};

inline constexpr Number kOffloadShare{"parallel.offload_share",
                                      0.8,
                                      "1",
                                      assumed,
                                      "of PCIe's rate that pinned copies to and from the host reach",
                                      "large pinned copies; no row here has one"};
inline constexpr Number kUpdateMemory{"parallel.update_memory",
                                      30,
                                      "GB/s",
                                      assumed,
                                      "of the host's memory that one GPU's part of an update gets",
                                      "two sockets of eight DDR5 channels over eight GPUs, at half their peak"};

// Failures of long trainings and what saves them. Meta's 54 days of Llama 3 405B: 419 unexpected interruptions of
// 16,384 GPUs; storage that sustains 2 TB/s for a cluster of 24,576.
namespace sources {
inline constexpr std::string_view kLlama3 = "The Llama 3 Herd of Models (2024), section 3.3";
}  // namespace sources
inline constexpr Number kGpuFailure{"training.gpu_failure",
                                    50'676,
                                    "hours",
                                    published,
                                    "between failures of one GPU with what is around it: 16,384 x 54 days / 419",
                                    sources::kLlama3};
inline constexpr Number kStorageOfGpu{
    "training.storage", 0.081, "GB/s", published, "at which a GPU's share of a checkpoint is written: 2 TB/s / 24,576",
    sources::kLlama3};
inline constexpr Number kRestart{
    "training.restart",
    10,
    "min",
    assumed,
    "from a failure to the next useful step: found, replaced, loaded, compiled",
    "with it the published run would have been useful 91 % of its time; more than 90 % was reported"};

}  // namespace tilecast::constants
