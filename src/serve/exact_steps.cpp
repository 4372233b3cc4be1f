#include "serve/exact_steps.h"

#include <algorithm>
#include <cmath>

#include "engine/rocm.h"
#include "kernel/attention_decode.h"
#include "kernel/attention_prefill.h"
#include "model/build.h"

namespace tilecast {

namespace {

// Cells an octave, of mean lengths and of what lengths spread over.
constexpr double kMeans = 256, kSpreads = 64;
// Lengths of so few requests are priced each time: that is soon done, and a step in what was learned of attention would
// show in a cell of them.
constexpr std::size_t kFew = 48;

std::int64_t octaves(double value, double cells) {
  return static_cast<std::int64_t>(std::floor(std::log2(std::max(value, 1e-9)) * cells));
}

// Whether it takes as long as the requests' lengths say, beside their number.
bool by_lengths(const KernelCall& call) {
  return call.role == Role::attention || call.op_class == OpClass::scan || call.role == Role::indexer;
}

bool has_latent_attention(const Model& model) {
  const auto* spec = std::get_if<ModelSpec>(&model);
  if (!spec || !spec->decoder) return false;
  const auto kinds = layer_kinds(*spec->decoder).kinds;
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const LayerRun& kind) { return std::holds_alternative<MlaSpec>(kind.layer.mixer); });
}

Workload workload_of(std::span<const PrefillChunk> prompts, std::span<const Count> decodes) {
  Workload w;
  w.mode = decodes.empty() ? Mode::prefill : prompts.empty() ? Mode::decode : Mode::mixed;
  for (const PrefillChunk& chunk : prompts) w.requests.push_back({1, chunk.fresh, chunk.cached});
  std::vector<Count> sorted(decodes.begin(), decodes.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size();) {
    const auto end =
        static_cast<std::size_t>(std::upper_bound(sorted.begin(), sorted.end(), sorted[i]) - sorted.begin());
    w.requests.push_back({static_cast<Count>(end - i), 1, sorted[i]});
    i = end;
  }
  return w;
}

std::vector<PricedCalls> calls_of(const Program& program, const ProgramForecast& step, Seconds switching) {
  std::vector<PricedCalls> all;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    const CallForecast& f = step.calls[i];
    const auto times = static_cast<double>(program.calls[i].times);
    all.push_back(
        {(f.unheated - switching).base() * times, f.clock, f.work * times, times, by_lengths(program.calls[i])});
  }
  return all;
}

// A whole step that takes `total`, from its kernels.
PricedStep priced_step(const Program& program, const ProgramForecast& step, Seconds total, const Gpu& gpu) {
  PricedStep priced;
  priced.switching = host_on(gpu, program).switching;
  priced.host = step.host, priced.between = total - std::max(step.gpu, step.host);
  priced.calls = calls_of(program, step, priced.switching);
  priced.attention = program;
  std::erase_if(priced.attention.calls, [](const KernelCall& call) { return !by_lengths(call); });
  return priced;
}

WholeSteps steps_with(const Gpu& gpu, Method method, const ModelSource* weights, const Model& model) {
  WholeSteps steps;
  steps.law = power_law(gpu);
  if (method != Method::tilecast && method != Method::analytic) steps.law.limit = watts(0);
  steps.keyed_prompts = has_latent_attention(model);
  steps.kernels = [gpu, method, weights](const Program& program) -> Result<std::vector<PricedCalls>> {
    const auto step = forecast_step(program, gpu, 1, method, weights);
    if (!step) return step.error();
    return calls_of(program, *step, host_on(gpu, program).switching);
  };
  return steps;
}

bool alike(ExactSteps::Prompts prompts) {
  return std::all_of(prompts.begin(), prompts.end(), [&](const PrefillChunk& chunk) {
    return chunk.fresh == prompts.front().fresh && chunk.cached == prompts.front().cached;
  });
}
bool alike(ExactSteps::Decodes decodes) {
  return std::all_of(decodes.begin(), decodes.end(), [&](Count cached) { return cached == decodes.front(); });
}

// Lengths as a model's graph says them (model/build_attention.cpp): a list where they differ.
void set_lengths(AttentionDecode& shape, ExactSteps::Decodes decodes) {
  shape.batch = static_cast<Count>(decodes.size()), shape.q_len = 1, shape.kv_len = 0;
  shape.lens.clear();
  if (alike(decodes)) {
    shape.kv_len = decodes.front() + 1;
    return;
  }
  shape.lens.assign(decodes.begin(), decodes.end());
  for (Count& keys : shape.lens) ++keys;
}
void set_lengths(AttentionPrefill& shape, ExactSteps::Prompts prompts) {
  shape.batch = static_cast<Count>(prompts.size()), shape.q_len = shape.kv_len = 0;
  shape.lens.clear(), shape.kv_lens.clear();
  if (alike(prompts)) {
    shape.q_len = prompts.front().fresh, shape.kv_len = prompts.front().fresh + prompts.front().cached;
    return;
  }
  for (const PrefillChunk& chunk : prompts)
    shape.lens.push_back(chunk.fresh), shape.kv_lens.push_back(chunk.fresh + chunk.cached);
}

// The same attention of other requests; false where it is of another kind.
bool set_lengths(Kernel& kernel, ExactSteps::Prompts prompts, ExactSteps::Decodes decodes) {
  if (auto* decode = kernel.shape.get_if<AttentionDecode>(); decode && !decodes.empty() && prompts.empty()) {
    set_lengths(*decode, decodes);
    return true;
  }
  auto* prefill = kernel.shape.get_if<AttentionPrefill>();
  if (!prefill || prompts.empty() || !decodes.empty()) return false;
  set_lengths(*prefill, prompts);
  return true;
}

}  // namespace

WholeSteps whole_steps_on(Run run, Gpu gpu, Method method, const ModelSource* weights) {
  WholeSteps steps = steps_with(gpu, method, weights, run.model);
  steps.price = [run = std::move(run), gpu = std::move(gpu), method,
                 weights](const Workload& workload) mutable -> Result<PricedStep> {
    run.workload.mode = workload.mode, run.workload.requests = workload.requests;
    const auto prepared = prepare(run);
    if (!prepared) return prepared.error();
    const auto step = forecast_step(prepared->program, gpu, workload.sequences(), method, weights);
    if (!step) return step.error();
    return priced_step(prepared->program, *step, step->total, gpu);
  };
  return steps;
}

WholeSteps whole_steps_over(ParallelRun run, Cluster cluster, StepPricing with) {
  WholeSteps steps = steps_with(cluster.gpu, with.method, with.weights, run.run.model);
  steps.price = [run = std::move(run), cluster = std::move(cluster),
                 with = std::move(with)](const Workload& workload) mutable -> Result<PricedStep> {
    run.run.workload.mode = workload.mode, run.run.workload.requests = workload.requests;
    const auto whole = forecast_parallel(run, cluster, with);
    if (!whole) return whole.error();
    return priced_step(whole->program, whole->rank, whole->step, cluster.gpu);
  };
  return steps;
}

std::size_t ExactSteps::KeyHash::operator()(const Key& key) const {
  std::uint64_t mixed = 0;
  for (const std::int64_t part : key)
    mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u, mixed ^= mixed >> 32;
  return static_cast<std::size_t>(mixed);
}

Result<const PricedStep*> ExactSteps::plain(const Key& key, Prompts prompts, Decodes decodes) {
  const auto found = plain_.find(key);
  if (found != plain_.end()) return &found->second;
  ++priced_;
  auto priced = steps_.price(workload_of(prompts, decodes));
  if (!priced) return std::move(priced).error();
  std::erase_if(priced->calls, [](const PricedCalls& c) { return c.by_lengths; });
  priced->attention = {};
  return &plain_.emplace(key, *std::move(priced)).first->second;
}

Result<const ExactSteps::Cell*> ExactSteps::cell(Cells& cells, const Lengths& of, Prompts prompts, Decodes decodes) {
  Program& kept = prompts.empty() ? decode_attention_ : prompt_attention_;
  if (decodes.size() > 0 && decodes.size() <= kFew && !kept.calls.empty()) {
    auto calls = attention(kept, prompts, decodes);
    if (!calls) return std::move(calls).error();
    alone_ = {*std::move(calls), of.amount};
    return &alone_;
  }
  const auto found = cells.find(of.key);
  if (found != cells.end()) return &found->second;
  auto calls = attention(kept, prompts, decodes);
  if (!calls) return std::move(calls).error();
  return &cells.emplace(of.key, Cell{*std::move(calls), of.amount}).first->second;
}

Result<std::vector<PricedCalls>> ExactSteps::attention(Program& kept, Prompts prompts, Decodes decodes) {
  ++priced_;
  bool same = !kept.calls.empty();
  for (KernelCall& call : kept.calls) same = same && set_lengths(call.kernel, prompts, decodes);
  if (same) return steps_.kernels(kept);
  auto whole = steps_.price(workload_of(prompts, decodes));
  if (!whole) return std::move(whole).error();
  // Where all of it is attention whose lengths can be set, the next such step needs no more than that.
  kept = std::move(whole->attention);
  for (KernelCall& call : kept.calls)
    if (!set_lengths(call.kernel, prompts, decodes)) {
      kept.calls.clear();
      break;
    }
  std::erase_if(whole->calls, [](const PricedCalls& c) { return !c.by_lengths; });
  return std::move(whole->calls);
}

Seconds ExactSteps::total(const PricedStep& plain, const Scaled& prompts, const Scaled& decodes) const {
  PowerWork work;
  double cool = 0, launches = 0;
  const auto each = [&](const auto& visit) {
    for (const PricedCalls& c : plain.calls) visit(c, 1.0);
    for (const Scaled* part : {&prompts, &decodes})
      if (part->cell)
        for (const PricedCalls& c : part->cell->calls) visit(c, part->by);
  };
  each([&](const PricedCalls& c, double scale) {
    work = work + c.work * scale, cool += c.cool * scale, launches += c.launches;
  });
  const double clock = clock_under(steps_.law, work, steps_.law.limit);
  double warm = 0;
  // A card that is warm from the rest of the step runs what is faster than its clock at that.
  if (clock < 1)
    each([&](const PricedCalls& c, double scale) {
      if (clock < c.clock) warm += ((c.work.at(clock) - c.work.at(c.clock)) * scale).base();
    });
  const Seconds gpu = seconds(cool + warm) + plain.switching * launches;
  return std::max(gpu, plain.host) + plain.between;
}

ExactSteps::Lengths ExactSteps::lengths_of(Prompts prompts) {
  double tokens = 0, squares = 0, pairs = 0;
  for (const PrefillChunk& chunk : prompts) {
    const auto q = static_cast<double>(chunk.fresh);
    tokens += q, squares += q * q, pairs += q * (static_cast<double>(chunk.cached) + q / 2);
  }
  const auto count = static_cast<double>(prompts.size());
  const double spread = squares * count / std::max(1.0, tokens * tokens);  // 1 where all are alike
  return {{static_cast<std::int64_t>(prompts.size()), octaves(tokens, kMeans), octaves(pairs, kMeans),
           octaves(spread, kSpreads)},
          pairs};
}

ExactSteps::Lengths ExactSteps::lengths_of(Decodes decodes) {
  double keys = 0, squares = 0;
  Count longest = 0;
  for (const Count cached : decodes) {
    const auto k = static_cast<double>(cached + 1);
    keys += k, squares += k * k;
    longest = std::max(longest, cached + 1);
  }
  const double count = std::max(1.0, static_cast<double>(decodes.size())), mean = std::max(1.0, keys / count);
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  return {
      {static_cast<std::int64_t>(decodes.size()), octaves(mean, kMeans),
       static_cast<std::int64_t>(deviation / mean * kSpreads), octaves(static_cast<double>(longest) / mean, kSpreads)},
      keys};
}

Result<Seconds> ExactSteps::time(Prompts prompts, Decodes decodes) {
  Count tokens = 0;
  for (const PrefillChunk& chunk : prompts) tokens += chunk.fresh;
  const Lengths of_prompts = lengths_of(prompts), of_decodes = lengths_of(decodes);
  const auto rest = plain({tokens, static_cast<std::int64_t>(prompts.size()), static_cast<std::int64_t>(decodes.size()),
                           steps_.keyed_prompts ? of_prompts.key[2] : 0},
                          prompts, decodes);
  if (!rest) return rest.error();
  const Cell *prompt_cell = nullptr, *decode_cell = nullptr;
  if (!prompts.empty()) {
    const auto found = cell(prompts_, of_prompts, prompts, {});
    if (!found) return found.error();
    prompt_cell = *found;
  }
  if (!decodes.empty()) {
    const auto found = cell(decodes_, of_decodes, {}, decodes);
    if (!found) return found.error();
    decode_cell = *found;
  }
  return total(**rest, {prompt_cell, prompt_cell ? of_prompts.amount / prompt_cell->amount : 0},
               {decode_cell, decode_cell ? of_decodes.amount / decode_cell->amount : 0});
}

}  // namespace tilecast
