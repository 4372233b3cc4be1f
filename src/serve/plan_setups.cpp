// What replicas a plan may consist of: layouts, formats, limits.
#include <fmt/format.h>

#include <algorithm>

#include "engine/engine_cards.h"
#include "engine/path.h"
#include "engine/serving_memory.h"
#include "parallel/smaller_steps.h"
#include "parallel/split.h"
#include "serve/plan.h"

namespace tilecast {
namespace {

// Limits worth a look beside the engine's defaults (zeros).
struct LimitChoice {
  Count max_sequences = 0, max_tokens = 0, chunk = 0;
  std::optional<bool> chunked_prefill = {};
};
std::vector<LimitChoice> limit_choices(EngineKind engine, const ServeQuery& query) {
  const Count longest = query.mean_input() * 2;
  switch (engine) {
    // Small steps spare answers, large ones prompts.
    case EngineKind::sglang: return {{}, {0, 0, kSmallStep}};
    // Prompts are whole by default: a longer one than a step's tokens would be refused.
    case EngineKind::trtllm:
      return longest > 8192 ? std::vector<LimitChoice>{{0, 0, 0, true}}
                            : std::vector<LimitChoice>{{}, {0, kSmallStep, 0, true}};
    default: return {{}, {0, kSmallStep, 0}, {256, 16384, 0}};
  }
}

std::vector<Formats> formats_for(const ServeQuery& query, const Gpu& gpu, EngineKind engine) {
  const ModelSpec& m = query.model;
  std::vector<Formats> wanted = query.formats, possible;
  if (wanted.empty()) {
    const std::string own = m.quantization.empty() ? m.dtype : m.quantization;
    wanted = {{own, ""}};
    if (m.quantization.empty()) wanted.push_back({"fp8", ""});
    wanted.push_back({m.quantization.empty() ? "fp8" : own, "fp8"});
  }
  for (const Formats& f : wanted) {
    const auto precision = precision_of(m, f.dtype, f.kv_dtype);
    if (!precision || !runs_on(gpu, *precision, has_experts(m), engine)) continue;
    // A cache in fp8 is read by kernels of cards that multiply fp8.
    if (precision->cache == CacheType::fp8 && !gpu.has_tensor(DType::fp8, DType::fp32)) continue;
    possible.push_back(f);
  }
  return possible;
}

DeploymentOptions options_for(const ServeQuery& query, const GpuOffer& offer, EngineKind engine, const Formats& formats,
                              const RankLayout& layout) {
  DeploymentOptions o;
  o.model = query.model;
  o.gpu = offer.gpu;
  o.engine.kind = engine;
  o.engine.precision = *precision_of(query.model, formats.dtype, formats.kv_dtype);
  o.engine.routing = query.routing;
  const ServeFeatures& f = query.features;
  o.speculation = f.speculation, o.draft_cost = f.draft_cost, o.offload = f.offload, o.by_priority = f.by_priority;
  if (layout.ranks() > 1) {
    RankSpread spread{layout, *offer.cluster, f.variants};
    spread.cluster.nodes = static_cast<int>(ceil_div(layout.ranks(), spread.cluster.gpus_per_node));
    o.spread = std::move(spread);
  }
  return o;
}

// The layouts asked for, whether or not they would be tried by themselves; else those that make sense.
std::vector<RankLayout> wanted_layouts(const ServeQuery& query, const GpuOffer& offer) {
  if (query.layouts.empty()) return serving_layouts(query.model, offer);
  std::vector<RankLayout> layouts;
  for (const RankLayout& l : query.layouts)
    if (l.ranks() <= (offer.cluster ? offer.most : 1) && check(l, query.model)) layouts.push_back(l);
  return layouts;
}

// Whether this layout is one that the features are about, and the engine has them for the model.
Status suits(const ServeQuery& query, const RankLayout& layout, EngineKind engine) {
  const auto indexed = [](const LayerRun& run) {
    const auto* latent = std::get_if<MlaSpec>(&run.layer.mixer);
    return latent && latent->index_topk > 0;
  };
  const auto& layers = query.model.decoder->layers;
  // It fails on the keys of the indexer: KeyError: '...self_attn.indexer.k_cache'.
  if (engine == EngineKind::vllm && query.features.offload.host > bytes(0) &&
      std::any_of(layers.begin(), layers.end(), indexed))
    return field_error("offload-host", "vLLM does not offload the cache of a sparse attention's indexer");
  if (auto fine = check(query.features.variants, layout, query.model); !fine) return fine;
  if (query.features.speculation.draft > 0 && layout.pp > 1)
    return field_error("draft", "engines do not speculate over pipeline stages");
  return Ok{};
}

// Whether there are kernels for its steps on this card: of a prompt and of an answer, which every plan asks for.
bool priced(const ServeQuery& query, const StepTable& steps) {
  StepBatch prompt, answer;
  prompt.prefill = {{query.mean_input(), 0}};
  answer.decodes = 1, answer.decode_context = query.mean_input() + query.mean_output() / 2;
  steps.of(prompt), steps.of(answer);
  return steps.status().ok();
}

// Adapters, drafts and images of this engine.
Status add_features(Deployment& deployment, const DeploymentOptions& options, const ServeQuery& query, Method method,
                    const ModelSource* weights) {
  const auto of_engine = query.features.of_engine.find(options.engine.kind);
  if (of_engine == query.features.of_engine.end()) return Ok{};
  return equip(deployment, options, of_engine->second, method, weights);
}

}  // namespace

DeploymentOptions options_of(const ServeQuery& query, const ServeSetup& setup) {
  DeploymentOptions o = options_for(query, query.gpus[setup.offer], setup.engine, setup.formats, setup.layout);
  const SchedulerLimits& l = setup.pool.limits;
  o.max_sequences = l.max_sequences, o.max_tokens = l.max_tokens, o.chunk = l.chunk;
  o.chunked_prefill = l.chunked_prefill;
  return o;
}

bool has_experts(const ModelSpec& model) {
  if (!model.decoder) return false;
  return std::any_of(model.decoder->layers.begin(), model.decoder->layers.end(),
                     [](const LayerRun& run) { return std::holds_alternative<MoeSpec>(run.layer.feed_forward); });
}

double memory_fraction(EngineKind engine, const CacheBudget& b) {
  if (engine == EngineKind::sglang) return b.usable / (b.visible - b.other);
  if (engine == EngineKind::trtllm) return b.usable / (b.visible - b.weights - b.activations - b.other);
  return b.usable / b.visible;
}

std::vector<RankLayout> serving_layouts(const ModelSpec& model, const GpuOffer& offer) {
  std::vector<RankLayout> layouts;
  const auto add = [&](int tp, int pp, int dp, int ep) {
    RankLayout layout;
    layout.tp = tp, layout.pp = pp, layout.dp = dp, layout.ep = ep;
    const bool same = std::find(layouts.begin(), layouts.end(), layout) != layouts.end();
    if (!same && layout.ranks() <= offer.most && check(layout, model)) layouts.push_back(layout);
  };
  if (!offer.cluster) return add(1, 1, 1, 1), layouts;
  const Cluster& cluster = *offer.cluster;
  const int node = cluster.gpus_per_node;
  const bool experts = has_experts(model), slow = cluster.intra.kind == LinkKind::pcie;
  for (int tp = 1; tp <= std::min(node, 16); tp *= 2) {
    add(tp, 1, 1, 1);
    if (experts && tp > 1) add(tp, 1, 1, tp);
    for (const int pp : {2, 4})
      if ((slow && tp * pp <= node) || (tp * 2 > node && cluster.inter)) add(tp, pp, 1, 1);
  }
  if (experts)
    for (int ranks = 4; ranks <= (cluster.inter ? 4 * node : node) && ranks <= 64; ranks *= 2) add(1, 1, ranks, ranks);
  return layouts;
}

Result<ServeSetups> serving_setups(const ServeQuery& query, std::size_t index, Method method,
                                   const ModelSource* weights) {
  ServeSetups setups;
  const GpuOffer& offer = query.gpus[index];
  const std::vector<RankLayout> layouts = wanted_layouts(query, offer);
  const auto kernels = std::make_shared<KnownCosts>();
  for (const EngineKind engine : query.engines) {
    if (std::string why = why_not_on(engine, offer.gpu); !why.empty()) {
      ++setups.unsuited, setups.does_not_suit = std::move(why);
      continue;
    }
    for (const Formats& formats : formats_for(query, offer.gpu, engine))
      for (const RankLayout& layout : layouts) {
        if (auto fine = suits(query, layout, engine); !fine) {
          ++setups.unsuited, setups.does_not_suit = fine.error().line();
          continue;
        }
        std::shared_ptr<StepTable> known;
        DeploymentOptions options = options_for(query, offer, engine, formats, layout);
        if (std::string why = refused_blocks(rank_spec(query.model, layout), options.engine.precision, engine);
            !why.empty()) {
          ++setups.too_large;
          setups.does_not_fit = std::move(why);
          continue;
        }
        for (const LimitChoice& limits : limit_choices(engine, query)) {
          options.max_sequences = limits.max_sequences, options.max_tokens = limits.max_tokens;
          options.chunk = limits.chunk, options.chunked_prefill = limits.chunked_prefill;
          auto rank = whole_model(options, method, weights, kernels);
          if (!rank) return std::move(rank).error();
          auto deployed = deploy(options, *std::move(rank), known);
          if (!deployed) {
            ++setups.too_large;
            setups.does_not_fit = deployed.error().line();
            continue;
          }
          if (const CacheBudget& b = deployed->budget; !room_is_sure(b)) {
            ++setups.too_large;
            setups.does_not_fit = fmt::format(
                "{} leaves {:.1f} GiB of {} for keys and values, no more than the forecast of memory is unsure of",
                query.model.name, in_gibibytes(b.cache), offer.gpu.name);
            continue;
          }
          if (!known && !priced(query, *deployed->steps)) {
            ++setups.unsuited, setups.does_not_suit = deployed->steps->status().error().line();
            continue;
          }
          known = deployed->steps;
          if (auto fine = add_features(*deployed, options, query, method, weights); !fine) {
            ++setups.unsuited, setups.does_not_suit = fine.error().line();
            continue;
          }
          setups.all.push_back(std::make_shared<ServeSetup>(
              ServeSetup{index, engine, formats, layout, std::move(deployed->pool), deployed->budget, known}));
        }
      }
  }
  return setups;
}

}  // namespace tilecast
