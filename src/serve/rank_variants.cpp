#include "serve/rank_variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/comm_constants.h"
#include "engine/expert_copies.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "kernel/mla_decode.h"
#include "kernel/moe.h"
#include "support/arithmetic.h"

namespace tilecast {
namespace {

// Heads whose keys differ, at least; 0: the model has none to share out.
Count key_heads(const ModelSpec& model) {
  Count most = 0;
  for (const LayerRun& run : model.decoder->layers) {
    if (const auto* a = std::get_if<AttentionSpec>(&run.layer.mixer)) most = std::max(most, a->kv_heads);
    if (std::holds_alternative<MlaSpec>(run.layer.mixer)) most = std::max<Count>(most, 1);
  }
  return most;
}

Count experts_of(const ModelSpec& model) {
  Count most = 0;
  for (const LayerRun& run : model.decoder->layers)
    if (const auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward)) most = std::max(most, moe->experts);
  return most;
}

Status check_copies(Count redundant, const RankLayout& layout, Count experts) {
  if (redundant == 0) return Ok{};
  if (experts == 0) return field_error("redundant-experts", "the model has no experts");
  if (layout.ep < 2)
    return field_error("redundant-experts", "are about experts shared out over ranks", "for example ep 8");
  if (redundant < 0 || redundant > experts * (layout.ep - 1))
    return field_error("redundant-experts", "no rank needs more than one of each expert");
  const Count uneven = (experts + redundant) % layout.ep;
  if (uneven == 0) return Ok{};
  return field_error("redundant-experts",
                     fmt::format("{} experts and {} copies do not divide by {} ranks", experts, redundant, layout.ep),
                     fmt::format("{}", redundant + layout.ep - uneven));
}

}  // namespace

Status check(const RankVariants& v, const RankLayout& layout, const ModelSpec& model) {
  if (auto fine = check_copies(v.redundant, layout, experts_of(model)); !fine) return fine;
  if (v.decode_cp == 1) return Ok{};
  constexpr const char* kField = "decode-context-parallel-size";
  const Count heads = key_heads(model);
  if (heads == 0) return field_error(kField, "the model keeps no keys of its tokens");
  const Count copies = std::max<Count>(1, layout.tp / heads);  // of each head's keys
  if (v.decode_cp < 1 || layout.tp % v.decode_cp != 0 || v.decode_cp > copies)
    return field_error(kField,
                       fmt::format("{} tensor parallel ranks keep {} cop{} of every key", layout.tp, copies,
                                   copies == 1 ? "y" : "ies"),
                       copies == 1 ? "more ranks (tp) than heads of keys" : fmt::format("a divisor of {}", copies));
  return Ok{};
}

ModelSpec with_copies(ModelSpec model, Count redundant) {
  if (redundant == 0 || !model.decoder) return model;
  for (LayerRun& run : model.decoder->layers)
    if (auto* moe = std::get_if<MoeSpec>(&run.layer.feed_forward)) moe->experts += redundant;
  return model;
}

Status spread_copies(Program& program, Count redundant, const std::optional<Routing>& routing) {
  if (redundant == 0) return Ok{};
  for (KernelCall& call : program.calls) {
    auto* moe = call.kernel.shape.get_if<Moe>();
    if (!moe || moe->ep == 1) continue;
    auto copied = with_expert_copies(*moe, redundant, routing);
    if (!copied) return std::move(copied).error();
    *moe = *std::move(copied);
  }
  return Ok{};
}

void share_keys(Program& program, int ranks) {
  if (ranks == 1) return;
  const auto share = [&](auto& a) {
    a.heads *= ranks;
    a.kv_len = a.kv_len > 0 ? ceil_div(a.kv_len, static_cast<Count>(ranks)) : 0;
    for (Count& length : a.lens) length = ceil_div(length, static_cast<Count>(ranks));
    // A short context is spread thinner than the new tokens are many.
    if (a.kv_len > 0) a.kv_len = std::max(a.kv_len, a.q_len);
    for (Count& length : a.lens) length = std::max(length, a.q_len);
  };
  for (KernelCall& call : program.calls) {
    if (auto* a = call.kernel.shape.get_if<AttentionDecode>(); a && a->window == 0) share(*a);
    if (auto* a = call.kernel.shape.get_if<MlaDecode>()) share(*a);
  }
}

namespace {

// Elements that travel for a token of one layer's decode: queries of all heads of the group, and their outputs; for one
// cached token of a prompt its keys and values on a rank.
struct LayerWidths {
  double queries = 0, outputs = 0, heads = 0, keys = 0;
};

double latent_width(const ModelSpec& model) {
  for (const LayerRun& run : model.decoder->layers)
    if (const auto* a = std::get_if<MlaSpec>(&run.layer.mixer)) return real(a->kv_rank + a->rope_dim);
  return 0;
}

LayerWidths widths_of(const Section& section, const ModelSpec& model) {
  LayerWidths w;
  for (const Operator& op : section.operators) {
    if (const auto* a = op.shape.get_if<AttentionDecode>(); a && a->window == 0)
      w = {real(a->heads * a->head_dim), real(a->heads * a->head_dim), real(a->heads), 0};
    if (const auto* a = op.shape.get_if<MlaDecode>())
      w = {real(a->heads * (a->kv_lora + a->rope_dim)), real(a->heads * a->kv_lora), real(a->heads), 0};
    if (const auto* a = op.shape.get_if<AttentionPrefill>(); a && a->window == 0)
      w.keys = real(2 * a->kv_heads * a->head_dim);
    if (op.shape.is<MlaPrefill>()) w.keys = latent_width(model);
  }
  return w;
}

}  // namespace

Status add_key_exchanges(const Graph& graph, const ExchangeSetting& at, int ranks, const Cluster& cluster,
                         std::vector<CallTime>& calls) {
  if (ranks == 1) return Ok{};
  const double element = at.engine.precision.activation.activation_bits / 8, tokens = real(at.workload.tokens());
  double cached = 0;
  for (const Requests& r : at.workload.requests) cached += real(r.count * r.cached);
  for (const Section& section : graph.sections) {
    const LayerWidths w = widths_of(section, at.spec);
    const auto add = [&](const char* name, CollectiveOp op, double size) -> Status {
      if (!(size > 0)) return Ok{};
      Collective call;
      call.op = op, call.bytes = bytes(size), call.ranks = ranks;
      const auto timed = forecast_collective(call, cluster, shipped_comm_constants());
      if (!timed) return timed.error();
      const Seconds time = timed->latency * static_cast<double>(section.repeats);
      // No clock makes it faster, and the SMs have next to nothing to do.
      calls.push_back(
          {section.name, name, OpClass::other, time, {0, 0, seconds(0), time}, 1, Role::other, section.part.kind});
      return Ok{};
    };
    constexpr double kSumBytes = 4;  // fp32
    if (auto fine = add("queries gather", CollectiveOp::all_gather, tokens * w.queries * ranks * element); !fine)
      return fine;
    if (auto fine = add("sums gather", CollectiveOp::all_gather, tokens * w.heads * ranks * ranks * kSumBytes); !fine)
      return fine;
    if (auto fine = add("outputs scatter", CollectiveOp::reduce_scatter, tokens * w.outputs * ranks * element); !fine)
      return fine;
    if (auto fine = add("keys gather", CollectiveOp::all_gather, cached * w.keys * element); !fine) return fine;
  }
  return Ok{};
}

}  // namespace tilecast
