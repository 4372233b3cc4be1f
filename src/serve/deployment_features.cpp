#include "serve/deployment_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "constants/serve.h"
#include "engine/step_energy.h"
#include "kernel/gemm.h"
#include "parallel/split.h"

namespace tilecast {

using namespace constants;

namespace {

constexpr double kAdapterElement = 2;  // bytes: adapters and towers are in bf16

// Bytes that keys and values lose on every GPU.
Status take_memory(Deployment& d, Bytes size, const char* field, const std::string& what) {
  d.budget.weights += size;
  d.budget.cache -= size;
  const Bytes block = d.pool.geometry.block_bytes();
  d.budget.blocks = d.budget.cache > bytes(0) ? static_cast<Count>(d.budget.cache / block) : 0;
  d.pool.blocks = d.budget.blocks;
  if (d.pool.blocks < 1)
    return field_error(field,
                       fmt::format("{} of {:.1f} GiB leave no memory for keys and values", what, in_gibibytes(size)),
                       "fewer or smaller ones, or a larger GPU");
  return Ok{};
}

// A token keeps its keys in the draft's layers too.
void keep_more(KvGeometry& geometry, const KvGeometry& more) {
  for (const KvGeometry::Part& part : more.parts) {
    const auto same = std::find_if(geometry.parts.begin(), geometry.parts.end(),
                                   [&](const KvGeometry::Part& p) { return p.window == part.window; });
    if (same != geometry.parts.end()) same->bytes += part.bytes;
    else geometry.parts.push_back(part);
  }
  geometry.state += more.state;
}

ModelSpec rank_model(const DeploymentOptions& o) { return o.spread ? rank_spec(o.model, o.spread->layout) : o.model; }
double ranks_of(const DeploymentOptions& o) { return o.spread ? static_cast<double>(o.spread->layout.tp) : 1; }
const Gpu& card_of(const DeploymentOptions& o) { return o.spread ? o.spread->cluster.gpu : o.gpu; }

bool takes_adapter(const KernelCall& call) {
  if (!call.kernel.shape.is<Gemm>()) return false;
  const int block = block_of(call.role);
  return block == attention_block || block == mlp_block;
}

// The products that an adapter adds to a step: down to its rank beside every product, and up again (vLLM's
// lora_shrink and lora_expand kernels, vllm/lora/ops/triton_ops).
Result<Program> adapter_program(const DeploymentOptions& o, const Workload& workload, Count rank) {
  const auto prepared = prepare(Run{rank_model(o), workload, o.engine, {}});
  if (!prepared) return prepared.error();
  const auto bf16 = format_from("bf16");
  if (!bf16) return bf16.error();
  Program program = prepared->program;
  program.calls.clear();
  for (const KernelCall& call : prepared->program.calls) {
    if (!takes_adapter(call)) continue;
    const Gemm& product = call.kernel.shape.as<Gemm>();
    KernelCall thin = call;
    thin.kernel.format = *bf16;
    thin.kernel.shape = Gemm{product.m, rank, product.k};
    thin.name = call.name + " shrink";
    program.calls.push_back(thin);
    thin.kernel.shape = Gemm{product.m, product.n, rank};
    thin.name = call.name + " expand";
    program.calls.push_back(thin);
  }
  return program;
}

Status equip_adapters(Deployment& d, const DeploymentOptions& o, const FeatureOptions& f, Method method,
                      const ModelSource* weights) {
  if (f.adapter_rank == 0 || f.adapter_slots == 0) return Ok{};
  if (o.engine.kind == EngineKind::trtllm)
    return field_error("adapters", "are simulated as vLLM and SGLang serve them", "engine vllm or sglang");
  const Gpu& gpu = card_of(o);
  if (!(gpu.links.pcie.base() > 0))
    return field_error("adapters", gpu.name + " has no known link to its host",
                       "a description with links.pcie_gb_per_s");
  const Count rank = std::max(f.slot_rank, f.adapter_rank);
  const auto slot = adapter_bytes(o, rank), own = adapter_bytes(o, f.adapter_rank);
  if (!slot) return slot.error();
  if (!own) return own.error();
  if (auto fine = take_memory(d, *slot * static_cast<double>(f.adapter_slots), "max-loras", "slots for adapters");
      !fine)
    return fine;
  StepPricer pricer;
  pricer.law = power_law(gpu);
  pricer.metered = metered_law(gpu).has_value();
  if (method != Method::tilecast && method != Method::analytic) pricer.law.limit = watts(0);
  pricer.calls = [o, gpu, rank, method, weights](const Workload& workload,
                                                 const CallWanted& wanted) -> Result<std::vector<CallTime>> {
    auto program = adapter_program(o, workload, rank);
    if (!program) return std::move(program).error();
    return call_times(*std::move(program), gpu, method, weights, nullptr, wanted);
  };
  auto made = StepTable::make(std::move(pricer), 0);
  if (!made) return std::move(made).error();
  RequestFeatures& features = d.pool.features;
  d.pool.limits.adapters = features.adapter_slots = f.adapter_slots;
  features.adapter_swap = *own / (gpu.links.pcie * static_cast<double>(kHostLinkShare));
  // Every further adapter of a step is read beside the first.
  const Seconds further = *slot / gpu.dram.bandwidth;
  features.adapters = [table = std::shared_ptr<const StepTable>(*std::move(made)), further](const StepBatch& b) {
    StepBatch products;
    products.padding = b.adapter_tokens;
    StepCost::Spent spent = table->spent(products);
    spent.time += further * static_cast<double>(b.adapters - 1);
    return spent;
  };
  return Ok{};
}

// The first pass takes in what the step computed, the others a token of each request.
RequestFeatures::Cost drafts_by(std::shared_ptr<const StepTable> table, Count draft, double longer) {
  return [table = std::move(table), draft, longer](const StepBatch& b) -> StepCost::Spent {
    if (b.sequences() == 0) return {};
    StepBatch first;
    first.prefill = b.prefill;
    first.decodes = b.decodes, first.decode_tokens = b.decode_tokens, first.decode_context = b.decode_context;
    StepCost::Spent spent = table->spent(first);
    if (draft > 1) {
      StepBatch each;
      each.decodes = b.sequences();
      each.decode_context = b.decode_context;
      for (const PrefillChunk& c : b.prefill) each.decode_context += c.cached + c.fresh;
      const StepCost::Spent one = table->spent(each);
      spent.time += one.time * static_cast<double>(draft - 1);
      spent.joules += one.joules * static_cast<double>(draft - 1);
    }
    return {spent.time * longer, spent.joules * longer};
  };
}

Count layer_parameters(const ModelSpec& layer) {
  ModelSpec two = layer;
  two.decoder->layers.front().repeats = 2;
  return parameters(two) - parameters(layer);
}

Status check_drafts(const DeploymentOptions& o, const FeatureOptions& f) {
  if (o.speculation.draft == 0)
    return field_error("draft", "is missing: how many tokens are drafted a step", "for example 3");
  if (o.spread && o.spread->layout.pp > 1 && f.drafting != Drafting::ngram)
    return field_error("pp", "engines do not speculate over pipeline stages", "pp 1");
  if (f.drafting != Drafting::model) return Ok{};
  if (!f.draft_model) return field_error("draft-model", "is missing", "for example Llama-3.2-1B");
  if (!f.draft_model->decoder || f.draft_model->encoder)
    return field_error("draft-model", f.draft_model->name + " does not generate text", "a decoder");
  if (f.draft_model->vocab != o.model.vocab)
    return field_error("draft-model",
                       fmt::format("{} has {} tokens, {} has {}", f.draft_model->name, f.draft_model->vocab,
                                   o.model.name, o.model.vocab),
                       "a draft of the same family, with the same vocabulary");
  return Ok{};
}

Status equip_drafts(Deployment& d, const DeploymentOptions& o, const FeatureOptions& f, Method method,
                    const ModelSource* weights) {
  if (f.drafting == Drafting::share) return Ok{};
  if (auto fine = check_drafts(o, f); !fine) return fine;
  d.pool.draft_cost = 0;
  if (f.drafting == Drafting::ngram) {
    d.pool.features.draft_on_host = microseconds(kNgramOnHost);
    return Ok{};
  }
  const bool whole = f.drafting == Drafting::model;
  const ModelSpec draft = whole ? *f.draft_model : draft_layer(o.model, f.drafting == Drafting::eagle);
  EngineOptions engine = o.engine;
  if (whole) {
    const auto own = precision_of(draft);
    if (!own) return own.error();
    engine.precision = *own;
    engine.precision.cache = o.engine.precision.cache;
  }
  // Beside its layer a draft joins the model's state and the last token: a product of 2 h x h.
  const auto hidden = static_cast<double>(draft.decoder->hidden);
  const auto layer = static_cast<double>(whole ? parameters(draft) : layer_parameters(draft));
  const double joined = whole ? 0 : 2 * hidden * hidden;
  const double element = engine.precision.activation.activation_bits / 8;
  auto fine = take_memory(d, bytes((layer + joined) * element / ranks_of(o)), "draft", "drafting layers");
  if (!fine) return fine;
  DeploymentOptions of_draft = o;
  of_draft.model = draft, of_draft.engine = engine;
  auto rank = whole_model(of_draft, method, weights);
  if (!rank) return std::move(rank).error();
  keep_more(d.pool.geometry, rank->geometry);
  if (fine = take_memory(d, bytes(0), "draft", "drafting layers"); !fine) return fine;
  auto table = StepTable::make(std::move(rank->pricer), rank->longest);
  if (!table) return std::move(table).error();
  d.pool.features.drafts = drafts_by(*std::move(table), o.speculation.draft, 1 + joined / layer);
  d.pool.offload = offload_of(o, d.pool);  // blocks are larger now
  return Ok{};
}

// vLLM and SGLang run a tower on every rank, before the step that needs what it says.
Status equip_encoder(Deployment& d, const DeploymentOptions& o, const FeatureOptions& f, Method method,
                     const ModelSource* weights) {
  if (!f.encoder) return Ok{};
  // What engines load with the text part is among the weights already.
  if (!f.encoder_is_tower || !loads_tower(o.engine.kind)) {
    const auto size = static_cast<double>(parameters(*f.encoder)) * kAdapterElement;
    if (auto fine = take_memory(d, bytes(size), "images", "the tower's weights"); !fine) return fine;
  }
  EngineOptions engine = o.engine;
  const auto precision = precision_of(*f.encoder);
  if (!precision) return precision.error();
  engine.precision = *precision;
  engine.routing = {};
  auto times = std::make_shared<std::map<Count, StepCost::Spent>>();
  const auto price = [encoder = *f.encoder, engine, gpu = card_of(o), method,
                      weights](Count passes) -> Result<StepCost::Spent> {
    Workload images;
    images.requests = {{passes, encoder.patches->tokens(), 0}};
    const auto prepared = prepare(Run{encoder, images, engine, {}});
    if (!prepared) return prepared.error();
    const auto step = forecast_step(prepared->program, gpu, passes, method, weights);
    if (!step) return step.error();
    // What a card draws at rest is the run's own account.
    const auto law = metered_law(gpu);
    const auto joules = joules_of_step(prepared->program, *step, gpu);
    return StepCost::Spent{step->gpu,
                           law && joules ? std::max(0.0, *joules - law->idle.base() * step->total.base()) : 0};
  };
  // What cannot be forecast is said here, not in the middle of a run.
  const auto one = price(f.encoder_passes);
  if (!one) return one.error();
  d.pool.features.encoder = [times, price, one = *one,
                             passes = f.encoder_passes](const StepBatch& b) -> StepCost::Spent {
    // Many at once take as long as several batches of what is still one launch.
    constexpr Count kAtOnce = 16;
    const Count batch = std::min(b.encodes, kAtOnce);
    const auto [at, fresh] = times->try_emplace(batch);
    if (fresh) {
      const auto several = price(batch * passes);
      const auto alone = static_cast<double>(batch);
      at->second = several ? *several : StepCost::Spent{one.time * alone, one.joules * alone};
    }
    const double batches = static_cast<double>(b.encodes) / static_cast<double>(batch);
    return {at->second.time * batches, at->second.joules * batches};
  };
  return Ok{};
}

}  // namespace

ModelSpec draft_layer(const ModelSpec& target, bool dense) {
  ModelSpec draft = target;
  draft.name = target.name + "'s draft layer";
  LayerRun last = draft.decoder->layers.back();
  last.repeats = 1;
  if (const auto* experts = std::get_if<MoeSpec>(&last.layer.feed_forward); dense && experts) {
    MlpSpec mlp;
    mlp.inter = experts->topk * experts->inter + experts->shared_inter;
    mlp.gated = experts->gated, mlp.activation = experts->activation;
    last.layer.feed_forward = mlp;
  }
  draft.decoder->layers = {last};
  return draft;
}

Result<Bytes> adapter_bytes(const DeploymentOptions& o, Count rank) {
  Workload one;
  one.mode = Mode::decode;
  one.requests = {{1, 1, 1}};
  const auto prepared = prepare(Run{rank_model(o), one, o.engine, {}});
  if (!prepared) return prepared.error();
  double elements = 0;
  for (const KernelCall& call : prepared->program.calls) {
    if (!takes_adapter(call)) continue;
    const Gemm& product = call.kernel.shape.as<Gemm>();
    elements += static_cast<double>(call.times) * static_cast<double>(rank * (product.n + product.k));
  }
  return bytes(elements * kAdapterElement);
}

Status equip(Deployment& d, const DeploymentOptions& o, const FeatureOptions& f, Method method,
             const ModelSource* weights) {
  if (auto fine = equip_drafts(d, o, f, method, weights); !fine) return fine;
  if (auto fine = equip_encoder(d, o, f, method, weights); !fine) return fine;
  return equip_adapters(d, o, f, method, weights);
}

}  // namespace tilecast
