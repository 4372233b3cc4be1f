#include "serve/step_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "constants/serve.h"
#include "estimate/physics.h"
#include "kernel/gemm.h"
#include "kernel/moe.h"
#include "kernel/quantize.h"
#include "kernel/rmsnorm.h"

namespace tilecast {

using namespace constants;

namespace {

// Two neighbours on a grid around a value, and how far it stands from the lower one to the upper one.
struct Between {
  Count low = 0, high = 0;
  double share = 0;
};

// Grid points: every whole number up to `dense`, then `per_octave` between powers of two.
Count grid_point(int k, int per_octave) { return static_cast<Count>(std::llround(std::exp2(k / double(per_octave)))); }
Between on_grid(double value, Count dense, int per_octave) {
  Between b;
  if (value <= static_cast<double>(dense)) {
    b.low = std::max<Count>(1, static_cast<Count>(value));
    b.high = b.low + 1;
  } else {
    int k = static_cast<int>(std::floor(std::log2(value) * per_octave + 1e-9));
    while (static_cast<double>(grid_point(k, per_octave)) > value) --k;
    b.low = std::max(dense, grid_point(k, per_octave));
    while (b.high <= b.low) b.high = grid_point(++k, per_octave);
  }
  b.share = std::clamp((value - static_cast<double>(b.low)) / static_cast<double>(b.high - b.low), 0.0, 1.0);
  return b;
}
// The share in logarithms.
Between on_log_grid(double value, Count dense, int per_octave) {
  Between b = on_grid(value, dense, per_octave);
  if (b.share > 0) b.share = std::log(value / static_cast<double>(b.low)) / std::log(double(b.high) / double(b.low));
  return b;
}

// Tokens of a step: products' time is a staircase that jumps after multiples of a tile's rows, so the grid has a point
// at the end of each tread and one right after it. Few tokens touch fewer experts than there are, each one more of
// them: every number has a point.
Between tokens_grid(Count tokens) {
  if (tokens <= 32) return {tokens, tokens, 0};
  const Count step = tokens <= 512 ? 8 : tokens <= 4096 ? 64 : tokens <= 16384 ? 128 : 1024;
  const Count low = (tokens - 1) / step * step + 1, high = low + step - 1;
  return {low, high, static_cast<double>(tokens - low) / static_cast<double>(step - 1)};
}

// The value at `b` from f at its two grid points; f is not asked where it has no weight.
template <class F>
auto blend(const Between& b, F f) -> std::decay_t<decltype(f(b.low))> {
  if (b.share <= 0) return f(b.low);
  if (b.share >= 1) return f(b.high);
  return f(b.low) * (1 - b.share) + f(b.high) * b.share;
}

Workload prefill_of(Count chunks, Count fresh, Count cached) {
  Workload w;
  w.mode = Mode::prefill;
  w.requests = {{chunks, fresh, cached}};
  return w;
}
Workload decode_of(Count requests, Count context, Count tokens_each) {
  Workload w;
  w.mode = Mode::decode;
  w.requests = {{requests, tokens_each, context}};
  return w;
}

bool of_head(const CallTime& c) { return c.part == SectionKind::head && c.role != Role::final_norm; }
bool of_attention(const CallTime& c) {
  return c.op_class == OpClass::attention || c.op_class == OpClass::scan || c.role == Role::indexer;
}

// vLLM's FlashAttention 2 (csrc/flash_attn/flash_api.cpp, mha_varlen_fwd) swaps heads and splits keys only where every
// request has one query (max_seqlen_q == 1). FlashAttention 3 and the kernels for Blackwell do both in any batch.
bool one_kernel(EngineKind engine, const Gpu& gpu) {
  return engine == EngineKind::vllm &&
         (gpu.architecture == Architecture::ampere || gpu.architecture == Architecture::ada);
}

// The largest message that one kernel sums over ranks together with the residual and the norm after it; a longer one
// goes through NCCL, and the norm is a kernel of its own.
// - vLLM (vllm/config/compilation.py, FI_ALLREDUCE_FUSION_MAX_SIZE_MB): FlashInfer's kernel, from Hopper on.
// - TensorRT-LLM (tensorrt_llm/plugin/plugin.py, CustomAllReduceHelper.max_workspace_size_auto).
// - SGLang (python/sglang/srt/layers/flashinfer_comm_fusion.py): 2048 tokens; `row` bytes each.
double fused_sum_bytes(EngineKind engine, Architecture architecture, int ranks, double row) {
  const bool hopper = architecture == Architecture::hopper, blackwell = architecture == Architecture::blackwell;
  if (engine == EngineKind::trtllm) return ranks <= 2 ? kTrtllmPairSum : kTrtllmSum;
  if (!hopper && !blackwell) return 0;
  if (engine == EngineKind::sglang) return kSglangSumTokens * row;
  const Number& mebi = ranks <= 2  ? kVllmPairSum
                       : ranks > 4 ? kVllmSum
                       : blackwell ? kVllmFourSumBlackwell
                                   : kVllmFourSum;
  return in_bytes(mebibytes(mebi));
}

// Products of block-scaled fp8 on Blackwell are DeepGEMM's under SGLang and TensorRT-LLM alike. AIConfigurator's rows
// of SGLang hold 10 us more each, whatever the size: scales brought into the layout that DeepGEMM asks for, which
// SGLang's own quantising kernels write at once (sglang/srt/layers/quantization/fp8_kernel.py, scale_ue8m0).
bool slow_collector(const KernelCall& call, EngineKind engine, Architecture architecture) {
  return engine == EngineKind::sglang && architecture == Architecture::blackwell && call.kernel.shape.is<Gemm>() &&
         call.kernel.format.id == FormatId::fp8_block;
}

// Where few tokens are computed, shared experts run on a stream of their own beside the routed ones, which take longer:
// vLLM up to VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD, SGLang in captured graphs (deepseek_v2.py,
// forward_normal_dual_stream; up to 1024 tokens in other models), both on NVIDIA's cards alone.
void hide_shared_experts(Program& program, EngineKind engine, Architecture architecture) {
  const bool cuda = architecture == Architecture::ampere || architecture == Architecture::ada ||
                    architecture == Architecture::hopper || architecture == Architecture::blackwell;
  const Count most = !cuda                          ? 0
                     : engine == EngineKind::vllm   ? kVllmBeside
                     : engine == EngineKind::sglang ? kSglangBeside
                                                    : 0;
  Count tokens = 0;
  for (const KernelCall& call : program.calls)
    if (const auto* moe = call.kernel.shape.get_if<Moe>()) tokens = std::max(tokens, moe->tokens);
  if (tokens == 0 || tokens > most) return;
  for (KernelCall& call : program.calls)
    if (call.role == Role::shared_expert) call.times = 0;  // still there by name: tables compare steps' calls
}

// TensorRT-LLM's gated activation writes fp8 and no fp4 (tensorrt_llm/_torch/modules/gated_mlp.py, _apply_activation):
// before the product down to the stream stands a kernel that quantises by a known scale.
void quantise_gated(Program& program) {
  std::vector<KernelCall> calls;
  calls.reserve(program.calls.size());
  for (KernelCall& call : program.calls) {
    const auto* product = call.kernel.shape.get_if<Gemm>();
    if (product && call.role == Role::mlp_down && call.kernel.format.math == DType::fp4) {
      KernelCall& quantise = calls.emplace_back(call);
      quantise.name += ".quantise", quantise.role = Role::other, quantise.op_class = OpClass::pointwise,
                                    quantise.flops = 0;
      Quantize shape;
      shape.rows = product->m, shape.cols = product->k, shape.part = QuantizePart::apply;
      quantise.kernel.shape = shape;
    }
    calls.push_back(std::move(call));
  }
  program.calls = std::move(calls);
}

}  // namespace

// - vLLM does from 0.17 on (its pull request 34299 of February 2026: fuse_allreduce_rms with -O2), before where told;
// - SGLang in the models that it lists (python/sglang/srt/server_args.py, _handle_model_specific_adjustments, 0.5.6 to
//   0.5.9), in others where told;
// - none with norms whose weights are added to one (Gemma, Qwen3-Next, Qwen 3.5), which no fused kernel knew before
//   FlashInfer's pull request 3322: vLLM's 42646 of May and TensorRT-LLM's 15194 of June 2026, SGLang's 19889 of March
//   for Qwen 3.5 (a sum and its norm took 21.5 us before, 10.4 since).
bool fuses_sums(const ModelSpec& model, EngineKind engine) {
  if (engine == EngineKind::vllm) return false;  // 0.14, whose flags plans write
  const std::string& name = model.architecture;
  for (const std::string_view plus_one : {"Gemma", "Qwen3Next", "Qwen3_5"})
    if (name.starts_with(plus_one)) return false;
  if (engine != EngineKind::sglang) return true;
  constexpr std::array<std::string_view, 6> kListed = {"DeepseekV3ForCausalLM", "GptOssForCausalLM",
                                                       "Glm4MoeForCausalLM",    "Glm4MoeLiteForCausalLM",
                                                       "Qwen3MoeForCausalLM",   "KimiK25ForConditionalGeneration"};
  return std::find(kListed.begin(), kListed.end(), name) != kListed.end();
}

void as_served(Program& program, EngineKind engine, Architecture architecture, int ranks,
               const KernelSource& experts_kernel, bool fused) {
  if (engine == EngineKind::trtllm) quantise_gated(program);
  for (KernelCall& call : program.calls) {
    // Engines' kernels before a product (norm, attention) write its input quantised; the tables' own times hold a pass
    // for it, 9 us and more under TensorRT-LLM (quantize.csv: compute_scale and scale_matrix).
    if (engine == EngineKind::trtllm && call.kernel.shape.is<Gemm>() && call.kernel.format.math == DType::fp4)
      call.kernel.format.quantise = Quantise::none;
    if (slow_collector(call, engine, architecture))
      call.context.engine = Launcher::trtllm, call.context.kernel_source = KernelSource::deepgemm;
    if (call.kernel.shape.is<Moe>() && !experts_kernel.empty()) call.context.kernel_source = experts_kernel;
  }
  hide_shared_experts(program, engine, architecture);
  // The sum over ranks, the residual and the norm are one kernel where few tokens are summed (TensorRT-LLM's
  // AllReduceFusionOp, vLLM's fuse_allreduce_rms, SGLang's enable_flashinfer_allreduce_fusion).
  if (ranks > 1 && fused)
    std::erase_if(program.calls, [&](const KernelCall& call) {
      const auto* norm = call.kernel.shape.get_if<RmsNorm>();
      const double row = norm ? 2.0 * static_cast<double>(norm->cols) : 0;
      return norm && norm->residual &&
             row * static_cast<double>(norm->rows) <= fused_sum_bytes(engine, architecture, ranks, row);
    });
}

Result<std::vector<CallTime>> call_times(Program program, const Gpu& gpu, Method method, const ModelSource* weights,
                                         KnownCosts* known, const CallWanted& wanted) {
  std::vector<CallTime> calls;
  calls.reserve(program.calls.size());
  for (const KernelCall& call : program.calls) {
    const ProgramSection& section = program.sections[call.section];
    calls.push_back({section.name, call.name, call.op_class, {}, {}, 1, call.role, section.part.kind});
  }
  std::vector<CallTime*> timed;
  std::vector<KernelCall> some;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (!wanted || wanted(calls[i])) timed.push_back(&calls[i]), some.push_back(std::move(program.calls[i]));
  program.calls = std::move(some);
  const auto costs = call_costs(program, gpu, method, weights, known);
  if (!costs) return costs.error();
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const CallCost& cost = (*costs)[i];
    const auto times = static_cast<double>(program.calls[i].times);
    timed[i]->cool = cost.unheated * times, timed[i]->work = cost.work * times, timed[i]->clock = cost.clock;
  }
  return calls;
}

StepPricer price_on(ModelSpec model, EngineOptions engine, Gpu gpu, Method method, const ModelSource* weights,
                    const KernelSource& experts_kernel, std::shared_ptr<KnownCosts> known) {
  StepPricer pricer;
  pricer.one_attention_kernel = one_kernel(engine.kind, gpu);
  if (gpu.architecture == Architecture::ada) pricer.answers_at_most = kInPromptsKernel;
  pricer.law = power_law(gpu);
  pricer.metered = metered_law(gpu).has_value();
  if (method != Method::tilecast && method != Method::analytic) pricer.law.limit = watts(0);
  pricer.calls = [run = Run{std::move(model), {}, std::move(engine), {}}, gpu = std::move(gpu), method, weights,
                  experts_kernel, known = std::move(known)](
                     const Workload& workload, const CallWanted& wanted) mutable -> Result<std::vector<CallTime>> {
    run.workload = workload;
    auto prepared = prepare(run);
    if (!prepared) return std::move(prepared).error();
    as_served(prepared->program, run.engine.kind, gpu.architecture, 1, experts_kernel);
    return call_times(std::move(prepared->program), gpu, method, weights, known.get(), wanted);
  };
  return pricer;
}

Result<std::unique_ptr<StepTable>> StepTable::make(StepPricer pricer, Count longest) {
  std::unique_ptr<StepTable> table(new StepTable(std::move(pricer), longest));
  // Names are enough, but for what ranks exchange: a layout that its links do not carry is refused here.
  const CallWanted exchanges = [](const CallTime& call) { return call.op_class == OpClass::other; };
  const auto prompt = table->pricer_.calls(prefill_of(1, 16, 0), exchanges);
  if (!prompt) return prompt.error();
  const auto decode = table->pricer_.calls(decode_of(1, 16, 1), exchanges);
  if (!decode) return decode.error();
  std::set<std::pair<std::string, std::string>> of_prompt;
  for (const CallTime& c : *prompt) of_prompt.emplace(c.section, c.name);
  for (const CallTime& c : *decode)
    if (!of_attention(c) && of_prompt.count({c.section, c.name}) > 0) table->common_.emplace(c.section, c.name);
  return table;
}

StepTable::Part StepTable::part_of(const CallTime& call) const {
  if (of_head(call)) return Part::head;
  const std::pair<std::string_view, std::string_view> named{call.section, call.name};
  return common_.find(named) != common_.end() ? Part::body : Part::attention;
}

StepTable::Amount StepTable::price(const Workload& workload, Part part) const {
  ++priced_;
  Amount sum;
  const auto calls = pricer_.calls(workload, [&](const CallTime& call) { return part_of(call) == part; });
  if (!calls) {
    if (!problem_) problem_ = calls.error();
    return sum;
  }
  for (const CallTime& c : *calls)
    if (part_of(c) == part) sum = sum + Amount{c.cool.base(), c.work.clocked.base() / c.clock, c.work};
  return sum;
}

const StepTable::Amount& StepTable::tokens_point(Count tokens) const {
  const auto [at, fresh] = tokens_.try_emplace(tokens);
  if (!fresh) return at->second;
  const Count most = longest_ > 0 ? std::min(longest_, tokens) : tokens;
  Workload w = prefill_of(tokens / most, most, 0);
  if (tokens % most > 0) w.requests.push_back({1, tokens % most, 0});
  return at->second = price(w, Part::body);
}

StepTable::Amount StepTable::body(Count tokens) const {
  if (tokens <= 0) return {};
  return blend(tokens_grid(tokens), [&](Count n) { return tokens_point(n); });
}

// The head's rows are a product's, as tokens are: the same grid.
StepTable::Amount StepTable::head(Count sequences) const {
  if (sequences <= 0) return {};
  return blend(tokens_grid(sequences), [&](Count n) {
    const auto [at, fresh] = head_.try_emplace(n);
    if (fresh) at->second = price(decode_of(n, 16, 1), Part::head);
    return at->second;
  });
}

const StepTable::Amount& StepTable::decode_point(Count requests, Count context, Count tokens_each) const {
  const Count most = longest_ > 0 ? std::max<Count>(1, longest_ - tokens_each) : context;
  const auto [at, fresh] = decode_.try_emplace({requests, context, tokens_each});
  if (fresh) at->second = price(decode_of(requests, std::min(context, most), tokens_each), Part::attention);
  return at->second;
}

namespace {

constexpr Count kShortContext = 16;        // below it every context is a point
constexpr int kCounts = 8, kContexts = 4;  // points an octave

// Where a cell is kept: by sixteenths of an octave, of which but a few lie on both sides of a point.
std::size_t cell_of(Count requests, double context, std::size_t cells) {
  const std::uint64_t part = std::bit_cast<std::uint64_t>(context) >> 48;  // exponent and four bits of the fraction
  return static_cast<std::size_t>(static_cast<std::uint64_t>(requests) * 31 + part) % cells;
}

}  // namespace

// Fills the cell that a step lies in; false where it lies so near a point that rounding decides which cell that is.
bool StepTable::find_cell(DecodeCell& cell, Count requests, double context, Count tokens_each) const {
  const Between c = on_grid(context, kShortContext, kContexts);
  const int k = static_cast<int>(std::floor(std::log2(context) * kContexts + 1e-9));
  const double from = std::exp2(k / double(kContexts)) * (1 + 1e-6);
  const double to = std::exp2((k + 1) / double(kContexts)) * (1 - 1e-6);
  if (c.low != grid_point(k, kContexts) || c.low < kShortContext || context < from || context > to) return false;
  const Between b = on_grid(static_cast<double>(requests), 8, kCounts);
  cell = {requests, tokens_each, std::max(from, static_cast<double>(c.low)), to, {b.low, b.high}, {c.low, c.high},
          b.share,  {}};
  return true;
}

StepTable::Amount StepTable::decode_attention(Count requests, double mean_context, Count tokens_each) const {
  const double context = std::max(static_cast<double>(kShortContext), mean_context);
  DecodeCell& cell = cells_[cell_of(requests, context, cells_.size())];
  const bool there =
      cell.requests == requests && cell.tokens_each == tokens_each && context >= cell.from && context <= cell.to;
  if (!there && !find_cell(cell, requests, context, tokens_each)) {
    const Between b = on_grid(static_cast<double>(requests), 8, kCounts);
    const Between c = on_grid(context, kShortContext, kContexts);
    return blend(b, [&](Count n) { return blend(c, [&](Count k) { return decode_point(n, k, tokens_each); }); });
  }
  const auto [low, high] = cell.contexts;
  const double share = std::clamp((context - static_cast<double>(low)) / static_cast<double>(high - low), 0.0, 1.0);
  // Points are looked up by their place, 0 or 1, and kept.
  return blend(Between{0, 1, cell.between}, [&](Count i) {
    return blend(Between{0, 1, share}, [&](Count j) -> Amount {
      const auto n = static_cast<std::size_t>(i), k = static_cast<std::size_t>(j);
      const Amount*& point = cell.points[n][k];
      if (!point) point = &decode_point(cell.counts[n], cell.contexts[k], tokens_each);
      return *point;
    });
  });
}

const StepTable::Amount& StepTable::prefill_point(Count chunks, Count fresh, Count cached) const {
  const auto [at, is_new] = prefill_.try_emplace({chunks, fresh, cached});
  if (is_new) {
    const Count room = longest_ > 0 ? longest_ : fresh + cached;
    const Count q = std::min(fresh, room), c = std::min(cached, room - q);
    at->second = price(prefill_of(chunks, q, c), Part::attention);
  }
  return at->second;
}

// Chunks that differ are taken as fewer ones alike, with the same tokens and the same pairs of queries and keys:
//   n = (sum q)^2 / sum q^2,  q = sum q / n,  n (q c + q^2 / 2) = sum (q_i c_i + q_i^2 / 2).
StepTable::Amount StepTable::prefill_attention(const std::vector<PrefillChunk>& chunks) const {
  double tokens = 0, squares = 0, pairs = 0;
  for (const PrefillChunk& chunk : chunks) {
    const auto q = static_cast<double>(chunk.fresh);
    tokens += q, squares += q * q, pairs += q * static_cast<double>(chunk.cached) + q * q / 2;
  }
  if (tokens <= 0) return {};
  const double n = tokens * tokens / squares, fresh = tokens / n;
  const double cached = std::max(0.0, (pairs / n - fresh * fresh / 2) / fresh);
  const Between bn = on_log_grid(n, 4, 4), bq = on_log_grid(fresh, 4, 4);
  // Few cached tokens cost next to nothing: the first grid point is none, the second 64.
  Between bc = on_log_grid(std::max(cached, 64.0), 64, 4);
  if (cached < 64) bc = {0, 64, cached / 64};
  // Times are close to powers of each quantity: a product of powers is straight in logarithms.
  double cool = 0;
  Amount rest;
  const auto corner = [&](Count i, Count j, Count k, double share) {
    if (share <= 0) return;
    const Amount& a = prefill_point(i, j, k);
    cool += share * std::log(std::max(a.cool, 1e-12));
    rest = rest + a * (share / std::max(a.cool, 1e-12));
  };
  for (const bool i : {false, true})
    for (const bool j : {false, true})
      for (const bool k : {false, true})
        corner(i ? bn.high : bn.low, j ? bq.high : bq.low, k ? bc.high : bc.low,
               (i ? bn.share : 1 - bn.share) * (j ? bq.share : 1 - bq.share) * (k ? bc.share : 1 - bc.share));
  return rest * std::exp(cool);
}

// Answers whose kernel is the prompts': a row of each tile is used. Keys are read once by every query head of a group,
// but from L2 after the first, where that is as large as Ada's: there it takes longer than decoding, and not without
// end.
StepTable::Amount StepTable::in_prompts_kernel(const StepBatch& batch, const Amount& alone) const {
  const Count context = batch.decode_context / batch.decodes;
  const Amount together = prefill_attention(
      std::vector<PrefillChunk>(static_cast<std::size_t>(batch.decodes), {batch.decode_tokens, context}));
  const double most = pricer_.answers_at_most * alone.cool;
  return most > 0 && together.cool > most ? together * (most / together.cool) : together;
}

const StepTable::Amount& StepTable::body_and_head(Count tokens, Count sequences) const {
  Plain& kept = plain_[static_cast<std::size_t>(tokens * 31 + sequences) % plain_.size()];
  if (kept.tokens != tokens || kept.sequences != sequences) kept = {tokens, sequences, body(tokens) + head(sequences)};
  return kept.sum;
}

StepCost::Spent StepTable::spent(const StepBatch& batch) const {
  Amount sum = body_and_head(batch.tokens() + batch.padding, batch.sequences());
  const bool mixed = batch.decodes > 0 && !batch.prefill.empty();
  if (batch.decodes > 0) {
    const double context = static_cast<double>(batch.decode_context) / static_cast<double>(batch.decodes);
    const Amount answers = decode_attention(batch.decodes, context, batch.decode_tokens);
    sum = sum + (mixed && pricer_.one_attention_kernel ? in_prompts_kernel(batch, answers) : answers);
  }
  if (!batch.prefill.empty()) sum = sum + prefill_attention(batch.prefill);
  if (!(sum.cool > 0)) return {};
  const double clock = clock_under(pricer_.law, sum.work, pricer_.law.limit);
  const double time = sum.cool + std::max(0.0, sum.work.clocked.base() / clock - sum.slowed);
  return {seconds(time), pricer_.metered ? joules_at(pricer_.law, sum.work, clock) : 0};
}

}  // namespace tilecast
