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
#include "support/result.h"

namespace tilecast {

// What of a model's state data parallel ranks share out among themselves.
enum class Sharding : std::uint8_t {
  none,        // DDP: every rank has all of it
  optimizer,   // ZeRO 1, Megatron's distributed optimizer
  gradients,   // ZeRO 2
  parameters,  // ZeRO 3, FSDP: weights are gathered layer by layer
};
inline constexpr std::array<std::string_view, 4> kShardingNames = {"none", "zero1", "zero2", "zero3"};
constexpr std::string_view name_of(Sharding s) { return kShardingNames[static_cast<std::size_t>(s)]; }
Result<Sharding> sharding_from(std::string_view name);  // "ddp" and "fsdp" too

enum class ContextScheme : std::uint8_t { ring, all_gather };
inline constexpr std::array<std::string_view, 2> kContextSchemeNames = {"ring", "all-gather"};
constexpr std::string_view name_of(ContextScheme s) { return kContextSchemeNames[static_cast<std::size_t>(s)]; }

struct RankLayout {
  int tp = 1, cp = 1, dp = 1, pp = 1;
  bool sequence_parallel = false;  // norms and sums of tensor parallel ranks are shared out by token
  ContextScheme context = ContextScheme::ring;

  int ep = 1;         // ranks that share the experts
  int expert_tp = 0;  // ranks that share an expert's width; 0: tp without expert parallelism, else 1

  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1;                 // runs of layers a pipeline rank holds
  std::vector<int> stage_layers;  // layers of each virtual stage; empty: as even as they go

  Sharding sharding = Sharding::none;
  int shard_group = 0;  // data parallel ranks that hold one copy together (hybrid sharding); 0: all
  bool overlap = true;  // exchanges of gradients and parameters run beside the computation

  int ranks() const { return tp * cp * dp * pp; }
  int virtual_stages() const { return pp * chunks; }
  // Ranks over which a dense weight is replicated, and an expert's.
  int replicas() const { return cp * dp; }
  int expert_width() const { return expert_tp > 0 ? expert_tp : ep > 1 ? 1 : tp; }
  int expert_replicas() const { return tp * cp * dp / (ep * expert_width()); }
  int shards() const { return shard_group > 0 ? shard_group : replicas(); }
  friend bool operator==(const RankLayout&, const RankLayout&) = default;
};

std::string text_of(const RankLayout& layout);  // "tp 8, pp 2, dp 4"

// Which groups of ranks exchange something.
enum class Axis : std::uint8_t { tensor, context, expert, data, expert_data, pipeline };
inline constexpr std::array<std::string_view, 6> kAxisNames = {"tensor", "context",     "expert",
                                                               "data",   "expert data", "pipeline"};
constexpr std::string_view name_of(Axis a) { return kAxisNames[static_cast<std::size_t>(a)]; }

// Ranks of a group, how many of them one node holds (as Collective has it: 0 for neighbours), and how far apart they
// are numbered.
struct RankGroup {
  int ranks = 1, local = 0, stride = 1;
};
RankGroup group_of(const RankLayout& layout, Axis axis, int gpus_per_node);

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
