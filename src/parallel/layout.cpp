#include "parallel/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "support/text.h"

namespace tilecast {
namespace {

Error refusal(std::string field, std::string problem, std::string remedy) {
  return Error{"", std::move(field), std::move(problem), std::move(remedy)};
}

// "4 or 8": the largest legal values below and above.
std::string nearest(int value, int most, const std::function<bool(int)>& legal) {
  int below = 0, above = 0;
  for (int n = 1; n <= most; ++n) {
    if (!legal(n)) continue;
    if (n < value) below = n;
    if (n > value && above == 0) above = n;
  }
  if (below > 0 && above > 0) return fmt::format("{} or {}", below, above);
  return fmt::format("{}", below > 0 ? below : std::max(above, 1));
}

constexpr int kMostRanks = 1 << 20;
constexpr int kMostHeads = 4096;  // that a choice of ranks is looked for among

struct Widths {  // that tensor parallelism must divide
  std::vector<Count> heads, kv_heads, widths;
};
void add_attention(Widths& w, const AttentionSpec& a) {
  w.heads.push_back(a.heads);
  w.kv_heads.push_back(a.kv_heads);
}
Widths widths_of(const ModelSpec& spec) {
  Widths w;
  for (const auto* stack : {spec.encoder ? &*spec.encoder : nullptr, spec.decoder ? &*spec.decoder : nullptr}) {
    if (!stack) continue;
    for (const LayerRun& run : stack->layers) {
      if (const auto* a = std::get_if<AttentionSpec>(&run.layer.mixer)) add_attention(w, *a);
      if (const auto* a = std::get_if<MlaSpec>(&run.layer.mixer)) w.heads.push_back(a->heads);
      if (const auto* s = std::get_if<ScanSpec>(&run.layer.mixer)) {
        w.heads.push_back(s->heads);
        w.kv_heads.push_back(s->key_heads);
      }
      if (run.layer.cross) add_attention(w, *run.layer.cross);
      if (const auto* m = std::get_if<MlpSpec>(&run.layer.feed_forward)) w.widths.push_back(m->inter);
      if (const auto* m = std::get_if<MoeSpec>(&run.layer.feed_forward); m && m->shared_inter > 0)
        w.widths.push_back(m->shared_inter);
    }
  }
  return w;
}

Status check_tensor(const RankLayout& layout, const ModelSpec& spec) {
  const Widths w = widths_of(spec);
  const auto divides = [](const std::vector<Count>& all, int n) {
    return std::all_of(all.begin(), all.end(), [&](Count x) { return x % n == 0; });
  };
  // Fewer key heads than ranks are copied, if they go evenly.
  const auto shares = [&](int n) {
    return std::all_of(w.kv_heads.begin(), w.kv_heads.end(),
                       [&](Count x) { return x <= 0 || x % n == 0 || n % x == 0; });
  };
  const auto legal = [&](int n) { return divides(w.heads, n) && shares(n) && divides(w.widths, n); };
  if (legal(layout.tp)) return Ok{};
  const Count heads = w.heads.empty() ? 0 : *std::min_element(w.heads.begin(), w.heads.end());
  const std::string remedy = "nearest: tp " + nearest(layout.tp, static_cast<int>(std::max<Count>(heads, 1)), legal);
  if (!divides(w.heads, layout.tp))
    return refusal("tp", fmt::format("{} does not divide the {} attention heads of {}", layout.tp, heads, spec.name),
                   remedy);
  if (!shares(layout.tp))
    return refusal("tp",
                   fmt::format("{} neither divides the {} key heads of {} nor is a multiple of them", layout.tp,
                               w.kv_heads.front(), spec.name),
                   remedy);
  return refusal("tp", fmt::format("{} does not divide the widths of {}'s feed-forward", layout.tp, spec.name), remedy);
}

const MoeSpec* experts_of(const ModelSpec& spec) {
  for (const auto* stack : {spec.encoder ? &*spec.encoder : nullptr, spec.decoder ? &*spec.decoder : nullptr})
    if (stack)
      for (const LayerRun& run : stack->layers)
        if (const auto* m = std::get_if<MoeSpec>(&run.layer.feed_forward)) return m;
  return nullptr;
}

Status check_experts(const RankLayout& layout, const ModelSpec& spec) {
  const MoeSpec* moe = experts_of(spec);
  if (!moe) {
    if (layout.ep == 1) return Ok{};
    return refusal("ep", spec.name + " has no experts to spread", "leave ep at 1");
  }
  const Count stage = Count{layout.tp} * layout.cp * layout.dp, width = layout.expert_width();
  const auto legal = [&](int n) { return moe->experts % n == 0 && stage % (n * width) == 0; };
  const std::string remedy = "nearest: ep " + nearest(layout.ep, static_cast<int>(moe->experts), legal);
  if (layout.ep > moe->experts)
    return refusal("ep", fmt::format("{} ranks are more than the {} experts of {}", layout.ep, moe->experts, spec.name),
                   remedy);
  if (moe->experts % layout.ep != 0)
    return refusal("ep", fmt::format("{} does not divide the {} experts of {}", layout.ep, moe->experts, spec.name),
                   remedy);
  if (stage % (layout.ep * width) != 0)
    return refusal(
        "ep", fmt::format("{} x {} does not divide the {} ranks of a stage (tp x cp x dp)", layout.ep, width, stage),
        remedy);
  if (moe->inter % width != 0)
    return refusal("expert-tp", fmt::format("{} does not divide an expert's width {}", width, moe->inter),
                   "nearest: expert-tp " + nearest(static_cast<int>(width), static_cast<int>(moe->inter),
                                                   [&](int n) { return moe->inter % n == 0; }));
  return Ok{};
}

Status check_pipeline(const RankLayout& layout, const ModelSpec& spec) {
  const int stages = layout.virtual_stages();
  if (stages == 1) return Ok{};
  if (spec.encoder && spec.decoder)
    return refusal("pp", spec.name + " has an encoder and a decoder, whose stages differ", "leave pp at 1");
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  const Count layers = stack.layer_count();
  if (stages > layers)
    return refusal("pp", fmt::format("{} stages are more than the {} layers of {}", stages, layers, spec.name),
                   fmt::format("at most pp {}", std::max<Count>(1, layers / layout.chunks)));
  if (is_v(layout.schedule) && layout.chunks != 2)
    return refusal("chunks",
                   fmt::format("{} goes down the ranks and back: two chunks each, not {}", name_of(layout.schedule),
                               layout.chunks),
                   "give chunks 2, or none");
  if (layout.stage_layers.empty()) return Ok{};
  const auto& own = layout.stage_layers;
  if (static_cast<int>(own.size()) != stages || std::any_of(own.begin(), own.end(), [](int n) { return n < 0; }) ||
      std::accumulate(own.begin(), own.end(), Count{0}) != layers)
    return refusal("stage-layers", fmt::format("must be {} numbers that sum to {}", stages, layers),
                   "give the layers of each stage, separated by commas");
  return Ok{};
}

Status check_context(const RankLayout& layout, const ModelSpec& spec, Count sequence) {
  if (layout.cp == 1) return Ok{};
  const StackSpec& stack = spec.decoder ? *spec.decoder : *spec.encoder;
  for (const LayerRun& run : stack.layers)
    if (std::holds_alternative<ScanSpec>(run.layer.mixer))
      return refusal("cp", spec.name + " has layers of linear attention, whose state passes from token to token",
                     "leave cp at 1");
  if (layout.context == ContextScheme::all_to_all) {
    const Widths w = widths_of(spec);
    const auto divides = [&](int n) {
      return std::all_of(w.heads.begin(), w.heads.end(), [&](Count x) { return x % (Count{n} * layout.tp) == 0; });
    };
    if (!divides(layout.cp))
      return refusal("cp", fmt::format("{} ranks do not share the heads of {} evenly", layout.cp, spec.name),
                     "nearest: cp " + nearest(layout.cp, kMostHeads, divides) + ", or the context scheme ring");
  }
  // Causal work is shared out evenly by giving a rank one piece from the front and one from the back.
  const auto legal = [&](int n) { return n == 1 || sequence % (Count{2} * n) == 0; };
  if (sequence > 0 && !legal(layout.cp))
    return refusal(
        "cp", fmt::format("{} ranks need sequences that {} divides, not {} tokens", layout.cp, 2 * layout.cp, sequence),
        "nearest: cp " + nearest(layout.cp, static_cast<int>(std::min<Count>(sequence, 4096)), legal));
  return Ok{};
}

}  // namespace

Result<Sharding> sharding_from(std::string_view name) {
  if (name == "ddp") return Sharding::none;
  if (name == "fsdp") return Sharding::parameters;
  for (std::size_t i = 0; i < kShardingNames.size(); ++i)
    if (name == kShardingNames[i]) return static_cast<Sharding>(i);
  return field_error("sharding", "is unknown: '" + std::string(name) + "'", "none, zero1, zero2, zero3 or fsdp");
}

std::string text_of(const RankLayout& l) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, int value) {
    if (value > 1) parts.push_back(fmt::format("{} {}", name, value));
  };
  add("tp", l.tp), add("cp", l.cp), add("pp", l.pp), add("dp", l.dp), add("ep", l.ep);
  if (l.expert_tp > 1) add("expert-tp", l.expert_tp);
  add("chunks", l.chunks);
  if (l.sequence_parallel) parts.emplace_back("sp");
  if (l.sharding != Sharding::none) parts.emplace_back(name_of(l.sharding));
  add("shard-group", l.shard_group);
  if (l.pp > 1 && l.schedule != PipelineSchedule::one_f_one_b && l.schedule != PipelineSchedule::interleaved)
    parts.emplace_back(name_of(l.schedule));
  return parts.empty() ? "one GPU" : join(parts, ", ");
}

RankGroup group_of(const RankLayout& l, Axis axis, int gpus_per_node) {
  int ranks = 1, stride = 1;
  switch (axis) {
    case Axis::tensor: ranks = l.tp; break;
    case Axis::context: ranks = l.cp, stride = l.tp; break;
    case Axis::expert: ranks = l.ep, stride = l.expert_width(); break;
    case Axis::data: ranks = l.replicas(), stride = l.tp; break;
    case Axis::expert_data: ranks = l.expert_replicas(), stride = l.ep * l.expert_width(); break;
    case Axis::pipeline: ranks = std::min(l.pp, 2), stride = l.tp * l.cp * l.dp; break;
  }
  // Neighbours fill one node after the other, as a call by nobody else does.
  return {ranks, stride == 1 ? 0 : std::clamp(gpus_per_node / stride, 1, std::max(ranks, 1)), stride};
}

std::vector<std::size_t> stages_of(const RankLayout& layout, std::size_t rank) {
  std::vector<std::size_t> stages;
  stages.reserve(static_cast<std::size_t>(layout.chunks));
  for (int chunk = 0; chunk < layout.chunks; ++chunk)
    stages.push_back(static_cast<std::size_t>(layout.stage_of(static_cast<int>(rank), chunk)));
  return stages;
}

std::vector<int> layers_of_stages(const RankLayout& layout, Count layers) {
  if (!layout.stage_layers.empty()) return layout.stage_layers;
  const Count stages = layout.virtual_stages();
  std::vector<int> each(static_cast<std::size_t>(stages), static_cast<int>(layers / stages));
  // The last stage has the head to run as well: what is left over goes to the others.
  for (Count i = 0; i < layers % stages; ++i) ++each[static_cast<std::size_t>(i)];
  return each;
}

Status check_sizes(const RankLayout& layout) {
  for (const auto& [value, field] : {std::pair(layout.tp, "tp"),
                                     {layout.cp, "cp"},
                                     {layout.dp, "dp"},
                                     {layout.pp, "pp"},
                                     {layout.ep, "ep"},
                                     {layout.chunks, "chunks"}})
    if (value < 1 || value > kMostRanks)
      return refusal(field, fmt::format("must lie between 1 and {}, not {}", kMostRanks, value), "1 switches it off");
  if (layout.expert_tp > kMostRanks || layout.shard_group > kMostRanks)
    return refusal(layout.expert_tp > kMostRanks ? "expert-tp" : "shard-group",
                   fmt::format("must be at most {}", kMostRanks), "0 is the default");
  if (static_cast<double>(layout.pp) * layout.chunks > kMostRanks)
    return refusal("chunks", fmt::format("times pp are more than {} stages", kMostRanks), "use fewer");
  if (layout.expert_tp < 0 || layout.shard_group < 0)
    return refusal(layout.expert_tp < 0 ? "expert-tp" : "shard-group", "must not be negative", "0 is the default");
  if (static_cast<double>(layout.tp) * layout.cp * layout.dp * layout.pp > kMostRanks)
    return refusal("ranks", fmt::format("are more than {}", kMostRanks), "use fewer");
  return Ok{};
}

Status check(const RankLayout& layout, const ModelSpec& spec, Count sequence) {
  if (auto fine = check_sizes(layout); !fine) return fine;
  if (layout.sequence_parallel && layout.tp == 1)
    return refusal("sequence-parallel", "shares work among tensor parallel ranks, of which there is one",
                   "give tp > 1");
  if (layout.shard_group > 0 && layout.replicas() % layout.shard_group != 0)
    return refusal("shard-group",
                   fmt::format("{} does not divide the {} data parallel ranks", layout.shard_group, layout.replicas()),
                   "nearest: " + nearest(layout.shard_group, layout.replicas(),
                                         [&](int n) { return layout.replicas() % n == 0; }));
  if (auto fine = check_tensor(layout, spec); !fine) return fine;
  if (auto fine = check_experts(layout, spec); !fine) return fine;
  if (auto fine = check_pipeline(layout, spec); !fine) return fine;
  return check_context(layout, spec, sequence);
}

Status check(const RankLayout& layout, const Cluster& cluster) {
  if (layout.ranks() > cluster.gpus())
    return refusal("ranks",
                   fmt::format("{} (tp x cp x dp x pp) are more than the {} GPUs of {}", layout.ranks(), cluster.gpus(),
                               cluster.name),
                   fmt::format("at most dp {} fits, or give the cluster {} nodes",
                               std::max(1, cluster.gpus() / (layout.tp * layout.cp * layout.pp)),
                               ceil_div(layout.ranks(), cluster.gpus_per_node)));
  if (cluster.nodes > 1 && !cluster.inter && layout.ranks() > cluster.gpus_per_node)
    return refusal("ranks",
                   fmt::format("{} need several nodes of {}, which nothing joins", layout.ranks(), cluster.name),
                   fmt::format("use at most {} GPUs, or describe the network between nodes", cluster.gpus_per_node));
  return Ok{};
}

}  // namespace tilecast
