// The physics under collective.h: what moves over which link, in how many steps.
#pragma once

#include "cluster/collective.h"

namespace tilecast {

// A scheme within one node.
struct Flow {
  CurveKey curve;       // which learned curve speaks of it
  Seconds empty, wire;  // see collective.h
};
Flow nccl_flow(const Collective& call, const Cluster& cluster);
// The engines' kernels: one-shot (everyone reads everything and adds) or two-shot (reduce-scatter, then all-gather).
Flow shot_flow(const Collective& call, const Cluster& cluster, bool two_shots);

// Physics x the curve, for the machine measured so or what is nearest to it.
Seconds flow_time(const Flow& flow, const Cluster& cluster, const CommConstants& constants, std::string_view source);
// See SpreadKey: the source where the GPU was measured, else whether another of its architecture was.
std::string standing_of(const std::string& library, const Cluster& cluster, const CommConstants& constants,
                        std::string_view source, bool measured);

// Where an engine changes from one-shot to two-shot, and where from its own kernel to NCCL.
struct ShotLimits {
  Bytes one_shot, own_kernel;
};
// Whether the engine has an all-reduce of its own over these links. Over PCIe vLLM's and SGLang's join two GPUs alone
// ("not supported on more than two PCIe-only GPUs", vllm/distributed/device_communicators/custom_all_reduce.py), where
// these reach each other's memory; TensorRT-LLM's asks for NVLink (cpp/tensorrt_llm/thop/allreduceOp.cpp).
bool has_own_kernel(const Collective& call, const Cluster& cluster);
ShotLimits shot_limits(CommLibrary library, int ranks, const Gpu& gpu);

// Ranks below host bridges of one node, and how many groups send through a bridge at a time.
struct BridgeUse {
  int bridges = 1, local = 1, groups = 1;
};
BridgeUse bridge_use(const Collective& call, const Cluster& cluster);

// Bytes that must leave a group of `local` ranks (a node, a host bridge) for each byte of a call over all ranks.
double leaving_share(CollectiveOp op, int groups, int local, int ranks);

// What NCCL's own cost model would choose within a node.
std::string nccl_algorithm(const Collective& call, const Cluster& cluster);

}  // namespace tilecast
