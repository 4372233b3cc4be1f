// How a model is distributed over GPUs.
//
// Ranks are numbered as in Megatron: tensor parallel ranks are neighbours, then context, then data, then pipeline.
// Experts are distributed over the ranks of a stage, whatever else those ranks do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilecast {

enum class PipelineSchedule : std::uint8_t {
  gpipe,          // all forward, then all backward
  one_f_one_b,    // PipeDream-flush: backward as soon as possible
  interleaved,    // 1F1B over several chunks per rank (Megatron's virtual pipeline)
  zero_bubble,    // ZB-H1: gradients of weights fill the bubble that gradients of inputs leave
  zero_bubble_v,  // ZB-V: the same over two chunks per rank, down the ranks and back up, which leaves no bubble
  dual_pipe_v,    // DualPipe folded into a V: a forward and a backward run together, each behind the other's exchanges
};
inline constexpr std::array<std::string_view, 6> kPipelineScheduleNames = {
    "gpipe", "1f1b", "interleaved", "zero-bubble", "zero-bubble-v", "dualpipe-v"};
constexpr std::string_view name_of(PipelineSchedule s) { return kPipelineScheduleNames[static_cast<std::size_t>(s)]; }
constexpr const auto& enum_names(PipelineSchedule) { return kPipelineScheduleNames; }

// Two chunks per rank, the first running from the first rank to the last, the second back.
constexpr bool is_v(PipelineSchedule s) {
  return s == PipelineSchedule::zero_bubble_v || s == PipelineSchedule::dual_pipe_v;
}

// A model is cut into ranks x chunks virtual stages, in order. They are placed chunk by chunk over the ranks (as in
// Megatron), or as a V.
constexpr int stage_at(PipelineSchedule s, int ranks, int rank, int chunk) {
  const bool back = is_v(s) && chunk % 2 == 1;
  return chunk * ranks + (back ? ranks - 1 - rank : rank);
}
constexpr int rank_of_stage(PipelineSchedule s, int ranks, int stage) {
  const bool back = is_v(s) && stage / ranks % 2 == 1;
  return back ? ranks - 1 - stage % ranks : stage % ranks;
}

// Which parts of a model's state are sharded over data parallel ranks.
enum class Sharding : std::uint8_t {
  none,        // DDP: every rank has everything
  optimizer,   // ZeRO 1, Megatron's distributed optimizer
  gradients,   // ZeRO 2
  parameters,  // ZeRO 3, FSDP: weights are gathered layer by layer
};
inline constexpr std::array<std::string_view, 4> kShardingNames = {"none", "zero1", "zero2", "zero3"};
constexpr std::string_view name_of(Sharding s) { return kShardingNames[static_cast<std::size_t>(s)]; }
constexpr const auto& enum_names(Sharding) { return kShardingNames; }

// How the parts of a sequence reach all ranks that attend to them.
enum class ContextScheme : std::uint8_t {
  ring,
  all_gather,
  all_to_all,  // each rank gets all tokens of some heads (DeepSpeed's Ulysses)
};
inline constexpr std::array<std::string_view, 3> kContextSchemeNames = {"ring", "all-gather", "all-to-all"};
constexpr std::string_view name_of(ContextScheme s) { return kContextSchemeNames[static_cast<std::size_t>(s)]; }
constexpr const auto& enum_names(ContextScheme) { return kContextSchemeNames; }

// Which exchanges of sequence parallel ranks overlap with products.
enum class TensorOverlap : std::uint8_t {
  none,
  inputs,     // backward, a block's input is gathered again during the gradients of its input
  backward,   // ... and those gradients are scattered during the gradients of weights (Megatron's layers.py)
  pipelined,  // all of them, cut into pieces that overlap with pieces of the products (user buffers, async TP)
};
inline constexpr std::array<std::string_view, 4> kTensorOverlapNames = {"none", "inputs", "backward", "pipelined"};
constexpr std::string_view name_of(TensorOverlap o) { return kTensorOverlapNames[static_cast<std::size_t>(o)]; }
constexpr const auto& enum_names(TensorOverlap) { return kTensorOverlapNames; }

struct RankLayout {
  int tp = 1, cp = 1, dp = 1, pp = 1;
  bool sequence_parallel = false;  // norms and sums of tensor parallel ranks are divided by token
  ContextScheme context = ContextScheme::ring;

  int ep = 1;         // ranks that share the experts
  int expert_tp = 0;  // ranks that share an expert's width; 0: tp without expert parallelism, otherwise 1

  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1;                      // groups of consecutive layers on a pipeline rank
  std::vector<int> stage_layers = {};  // layers of each virtual stage; empty: as even as possible

  Sharding sharding = Sharding::none;
  int shard_group = 0;         // data parallel ranks that together hold one copy (hybrid sharding); 0: all
  bool overlap = true;         // exchanges of gradients and parameters overlap with computation
  bool gather_overlap = true;  // ... and so do updated weights, with the next step's forward pass
  TensorOverlap tensor_overlap = TensorOverlap::inputs;
  // Sequence parallel: blocks keep their gathered inputs for the gradients instead of gathering them again.
  bool keep_gathered = false;

  int ranks() const { return tp * cp * dp * pp; }
  int virtual_stages() const { return pp * chunks; }
  int stage_of(int rank, int chunk) const { return stage_at(schedule, pp, rank, chunk); }
  int rank_of(int stage) const { return rank_of_stage(schedule, pp, stage); }
  // The order micro-batches actually take: several chunks per rank mean Megatron's interleaved schedule, or a V.
  PipelineSchedule order() const { return chunks > 1 && !is_v(schedule) ? PipelineSchedule::interleaved : schedule; }
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

}  // namespace tilecast
