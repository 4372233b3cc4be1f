// How a model is spread over GPUs.
//
// Ranks are numbered as Megatron numbers them: tensor parallel ranks are neighbours, then context, then data, then
// pipeline. Experts are spread over the ranks of a stage, whatever else those do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.h"
#include "model/spec.h"
#include "parallel/pipeline.h"
#include "tilecast/layout.h"
#include "tilecast/result.h"

namespace tilecast {

Result<Sharding> sharding_from(std::string_view name);  // "ddp" and "fsdp" too

// Ranks of a group, how many of them one node holds (as Collective has it: 0 for neighbours), and how far apart they
// are numbered.
struct RankGroup {
  int ranks = 1, local = 0, stride = 1;
};
RankGroup group_of(const RankLayout& layout, Axis axis, int gpus_per_node);

// The virtual stages that a pipeline rank holds, in the model's order.
std::vector<std::size_t> stages_of(const RankLayout& layout, std::size_t rank);
// Layers of each virtual stage, in the model's order.
std::vector<int> layers_of_stages(const RankLayout& layout, Count layers);

// Refuses numbers that are no layout of any model: none, or so many that their products have no meaning.
Status check_sizes(const RankLayout& layout);
// Refuses what cannot run, with the reason and the nearest choices that can. `sequence` is the length of a sequence
// (context parallelism divides it), 0 where it does not matter.
Status check(const RankLayout& layout, const ModelSpec& spec, Count sequence = 0);
// ... and what the cluster has no GPUs for.
Status check(const RankLayout& layout, const Cluster& cluster);

}  // namespace tilecast
