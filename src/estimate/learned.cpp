#include "estimate/learned.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <set>

#include "constants/estimate.h"
#include "constants/intervals.h"
#include "constants/product.h"
#include "estimate/feature_schema.h"
#include "estimate/kept_share.h"
#include "gpu/registry.h"
#include "kernel/attention_sources.h"
#include "kernel/torch_walk.h"
#include "support/text.h"

namespace tilecast {

using namespace constants;

namespace {

std::string_view vendor_name(Vendor vendor) {
  return vendor == Vendor::nvidia ? "nvidia" : vendor == Vendor::amd ? "amd" : "intel";
}

std::string_view generation_name(TensorGeneration generation) {
  switch (generation) {
    case TensorGeneration::none: return "none";
    case TensorGeneration::mma: return "mma";
    case TensorGeneration::wgmma: return "wgmma";
    case TensorGeneration::tcgen05: return "tcgen05";
    case TensorGeneration::mfma: return "mfma";
    case TensorGeneration::xmx: return "xmx";
  }
  return "none";
}

const SourceFacts* find(const FamilyModel& model, std::string_view name) {
  const auto found = model.sources.find(name);
  return found == model.sources.end() ? nullptr : &found->second;
}

using NamedSource = std::pair<const std::string, SourceFacts>;

// The source with an index and most rows below a level ("nvidia/mma").
const NamedSource* most_measured(const FamilyModel& model, const std::string& level) {
  const NamedSource* best = nullptr;
  const std::string prefix = level + "/";
  for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at)
    if (at->second.index >= 0 && (!best || at->second.rows > best->second.rows)) best = &*at;
  return best;
}

// The last two levels of a source's name: "vllm" and "vllm_flash_attn_fa3" of "nvidia/wgmma/vllm/vllm_flash_attn_fa3".
struct LastLevels {
  Launcher engine;
  KernelSource kernel;
};
LastLevels last_levels(std::string_view levels) {
  for (int skip = 0; skip < 2; ++skip) levels.remove_prefix(std::min(levels.find('/'), levels.size() - 1) + 1);
  const std::size_t slash = std::min(levels.find('/'), levels.size());
  return {Launcher::named(levels.substr(0, slash)),
          KernelSource::named(slash < levels.size() ? levels.substr(slash + 1) : std::string_view())};
}

// A kernel of the same kind on this generation, from any engine: the one with most rows.
const NamedSource* kin_of(const FamilyModel& model, const KernelSource& source, const std::string& generation) {
  using Word = KernelSource::Word;
  const NamedSource* best = nullptr;
  const std::string prefix = generation + "/";
  for (const Word kin : {Word::kin_of_fa3, Word::kin_of_fa2, Word::kin_of_fa4, Word::kin_of_triton}) {
    if (!source.says(kin)) continue;
    for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at)
      if (at->second.index >= 0 && last_levels(at->first).kernel.says(kin) &&
          (!best || at->second.rows > best->second.rows))
        best = &*at;
  }
  return best;
}

// The kernel most likely run in a context that names none, or an unknown one; null: nothing better than its name.
const NamedSource* likeliest(const FamilyModel& model, const Context& context, const SourceNames& names) {
  // The engine's own name, where a table has it, says no more than no name.
  if (context.kernel_source.empty() || context.kernel_source.text() == context.engine.text())
    return most_measured(model, context.engine.empty() ? names.generation : names.engine);
  if (context.engine.empty() || find(model, names.kernel_anywhere)) return nullptr;
  if (algorithm_named(context.kernel_source) != AttentionAlgorithm::automatic) return nullptr;  // the plans know it ...
  if (torch_walk(context) == TorchWalk::transposed) return nullptr;                             // ... and this
  if (const NamedSource* kin = kin_of(model, context.kernel_source, names.generation)) return kin;
  return most_measured(model, names.engine);
}

// A GPU with the same architecture and the same way of feeding its tensor pipe provides most of what can be learned.
Seen seen_by(const FamilyModel& model, const Gpu& gpu) {
  if (model.seen.contains(gpu.name)) return Seen::yes;
  for (const Gpu& other : built_in_gpus())
    if (model.seen.contains(other.name) && other.architecture == gpu.architecture &&
        other.tensor_generation() == gpu.tensor_generation())
      return Seen::sibling;
  return Seen::no;
}

// The share of what was learned that holds on an unseen card.
float carried_share(const FamilyModel& model, const Gpu& card, const std::string& vendor) {
  const auto carry = model.carry.find(vendor);
  if (carry == model.carry.end()) return 1;
  double most_alike = 0;
  for (const Gpu& other : built_in_gpus())
    if (model.seen.contains(other.name)) most_alike = std::max(most_alike, likeness(card, other));
  return carry->second.share(most_alike);
}

}  // namespace

std::string model_key(const Kernel& kernel) {
  return std::string(family_of(kernel.shape)) + "/" + std::string(kernel.format.name);
}

std::vector<std::string> engines_of(const FamilyModel& model) {
  std::set<std::string> engines;
  for (const auto& [name, facts] : model.sources) {
    const std::vector<std::string> levels = split(name, '/');
    if (levels.size() >= 3 && !levels[2].empty()) engines.emplace(levels[2]);
  }
  return {engines.begin(), engines.end()};
}

std::string architecture_key(const Gpu& gpu) {
  return std::string(name_of(gpu.architecture)) + "/" + std::string(generation_name(gpu.tensor_generation()));
}

std::string kin_key(const Gpu& gpu) { return "*/" + std::string(generation_name(gpu.tensor_generation())); }

SourceNames source_names(const Context& context, const Gpu& gpu) {
  SourceNames names;
  names.vendor = vendor_name(gpu.vendor);
  names.generation = names.vendor + "/" + std::string(generation_name(gpu.tensor_generation()));
  const std::string engine(context.engine.text()), kernel(kept_as(context.kernel_source).text());
  names.engine = names.generation + "/" + engine;
  names.kernel = names.engine + "/" + kernel;
  names.kernel_anywhere = names.vendor + "/*/" + engine + "/" + kernel;
  return names;
}

Context stand_in(const FamilyModel& model, const Context& context, const Gpu& gpu) {
  const SourceNames names = source_names(context, gpu);
  if (find(model, names.kernel)) return context;
  const NamedSource* best = likeliest(model, context, names);
  if (!best) return context;
  const LastLevels levels = last_levels(best->first);
  Context named = context;
  named.engine = levels.engine;
  named.kernel_source = levels.kernel;
  return named;
}

namespace {

// PyTorch launches operators one by one; what engines launch outside graphs has its own rows and floors.
bool launched_by_host(const Context& context) {
  return context.engine.of_pytorch() && context.runtime == Runtime::eager;
}

// Whether all of a vendor's rows are of one tensor generation. The vendor's factors are then that generation's alone,
// and say nothing about what another generation shares with it.
bool one_generation(const FamilyModel& model, const std::string& vendor) {
  const auto is_generation = [&](const auto& source) {
    const std::string_view name = source.first;
    return name.starts_with(vendor + "/") && name.find('/', vendor.size() + 1) == std::string_view::npos;
  };
  return std::count_if(model.sources.begin(), model.sources.end(), is_generation) == 1;
}

// Pipes, steps and prologues have constants for each generation (constants/product.h): factors for another generation
// do not apply. With those of B200's nvfp4 products, the left-out RTX PRO 6000 was 98 % off; without them, 16.
Tuning across_generations(Tuning tuning) {
  for (const Tuning::Factor own : {Tuning::math, Tuning::waiting, Tuning::prologue}) tuning.log_factors[own] = 0;
  return tuning;
}

// The same kernel of the generation that has most rows of it: kernels of one engine differ more than generations do.
const SourceFacts* elsewhere(const FamilyModel& model, const Context& context, const SourceNames& names) {
  if (!find(model, names.kernel_anywhere)) return nullptr;
  const SourceFacts* best = nullptr;
  const std::string prefix = names.vendor + "/", last = names.engine.substr(names.generation.size()) + "/" +
                                                        std::string(kept_as(context.kernel_source).text());
  for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at)
    if (at->second.index >= 0 && at->first.ends_with(last) && (!best || at->second.rows > best->rows))
      best = &at->second;
  return best;
}

}  // namespace

Standing standing_of(const FamilyModel& model, const Context& context, const Gpu& gpu) {
  const Gpu& card = gpu.measured();
  const SourceNames names = source_names(context, gpu);
  Standing standing;
  standing.seen = seen_by(model, card);
  if (&card != &gpu && !gpu.as_parent && standing.seen == Seen::yes) standing.seen = Seen::sibling;
  standing.calibration = gpu.calibration.get();
  standing.key = model.key;
  if (standing.calibration && standing.calibration->families.contains(model.key)) standing.seen = Seen::calibrated;
  const SourceFacts* kernel = find(model, names.kernel);
  if (!kernel && context.kernel_source.empty())
    if (const NamedSource* most = most_measured(model, context.engine.empty() ? names.generation : names.engine))
      kernel = &most->second;
  bool hosted = false;  // whose floor it is
  if (kernel) {
    hosted = kernel->hosted;
    standing.tuning = kernel->tuning;
    standing.code = kernel->code;
    standing.source_index = kernel->index;
  } else {
    const SourceFacts* level = nullptr;
    for (const std::string* name : {&names.generation, &names.vendor})
      if (!level) level = find(model, *name);
    if (!level) standing.doubt = Doubt::vendor;
    if (level) standing.tuning = level->tuning, standing.code = level->code, hosted = level->hosted;
    if (level && !find(model, names.generation)) {
      const SourceFacts* same = elsewhere(model, context, names);
      if (same) standing.tuning = same->tuning;
      if (same || one_generation(model, names.vendor)) standing.tuning = across_generations(standing.tuning);
    }
    // The same kernel elsewhere, or other kernels of the engine, are the best guide to the floor.
    for (const std::string* name : {&names.kernel_anywhere, &names.engine})
      if (const SourceFacts* near = find(model, *name)) {
        standing.tuning.extra_floor_us = near->tuning.extra_floor_us;
        standing.code = near->code;
        hosted = near->hosted;
        break;
      }
  }
  if (hosted && launched_by_host(context) && !model.hosts.empty())
    standing.hosts = &model.hosts, standing.host_card = card.name, standing.host_vendor = names.vendor;
  standing.kernel_known = kernel != nullptr;
  if (standing.doubt != Doubt::vendor)
    standing.doubt = standing.seen == Seen::no        ? Doubt::architecture
                     : standing.seen == Seen::sibling ? Doubt::card
                     : context.engine.of_pytorch()    ? Doubt::protocol
                                                      : Doubt::none;
  standing.rates = tuned_rates(standing.tuning, floor_law(card));
  standing.forest = &model.general;
  if (const auto own = model.siblings.find(architecture_key(gpu)); own != model.siblings.end()) {
    standing.forest = &own->second;
    standing.card_index = kSiblingSeen;
  } else if (const auto kin = model.siblings.find(kin_key(gpu)); kin != model.siblings.end()) {
    standing.forest = &kin->second;
  }
  const auto seen = model.seen.find(card.name);
  if (const auto own = model.cards.find(card.name); own != model.cards.end() && seen != model.seen.end() && kernel) {
    standing.card_index = static_cast<float>(std::distance(model.seen.begin(), seen));
    standing.forest = &own->second;
    if (seen->second < kFewRows)
      standing.domain = domain_of(own->second, std::string_view(model.key).substr(0, model.key.find('/')));
  }
  if (seen == model.seen.end()) standing.share = carried_share(model, card, names.vendor);
  return standing;
}

Domain domain_of(const Forest& forest, std::string_view family) {
  Domain domain;
  const auto sizes = sizes_of(family);
  const auto& borders = forest.borders();
  for (std::size_t i = 0; i < domain.shape.size(); ++i) {
    const std::size_t at = index_of(Feature::first_of_shape) + i;
    if (!sizes[i] || at >= borders.size() || borders[at].empty()) continue;
    // Borders lie halfway between observed values, so the outermost values are at most one step farther out.
    const std::vector<float>& b = borders[at];
    const std::size_t n = b.size();
    domain.shape[i] = {b[0] - (n > 1 ? b[1] - b[0] : 0), b[n - 1] + (n > 1 ? b[n - 1] - b[n - 2] : 0)};
  }
  return domain;
}

float Domain::trust(const Features& features) const {
  const auto values = features.shape();
  float farthest = 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i].low <= shape[i].high && values[i] >= 0)  // below: left to its default
      farthest = std::max({farthest, shape[i].low - values[i], values[i] - shape[i].high});
  const double beyond = static_cast<double>(farthest) - kDomainMargin;
  return beyond <= 0 ? 1.0f : static_cast<float>(std::exp(-beyond / kDomainFade));
}

double floor_law(const Gpu& gpu) {
  return kFloorLawFixed + kFloorLawClocks * kReferenceClock / in_gigahertz(gpu.clock.max);
}

namespace {

// An eager estimate with the floors of a graph.
Estimate in_graph(Estimate e, const Plan& plan, const Gpu& gpu) {
  const Physics physics = default_physics(gpu);
  for (std::size_t i = 0; i < e.launches.size(); ++i) {
    LaunchEstimate& launch = e.launches[i];
    const Seconds floor =
        launch_floor(physics, plan.launches[i], Runtime::graph) * (i == 0 ? 1.0 : physics.follower_floor);
    const Seconds less = launch.floor - floor;
    launch.floor = floor;
    launch.achieved[static_cast<std::size_t>(Resource::launch)] -= less;
    launch.latency -= less;
    e.latency -= less;
  }
  return e;
}

LearnedInput input_as_launched(const Kernel& kernel, const Plan& own_plan, const Estimate& analytic, const Gpu& gpu,
                               const Context& context) {
  const auto input = [&](const Plan& plan, const Estimate& e, const Gpu& card) {
    return LearnedInput{terms_of(plan, e, overlap_of(card)), raw_features(kernel, plan, e, card, context),
                        analytic.assumed_bound, gpu.calibration ? calibration_variant(kernel, context) : std::string()};
  };
  if (!gpu.inherits() || gpu.as_parent) return input(own_plan, analytic, gpu);
  const auto parents_plan = plan(kernel, *gpu.parent, context);
  if (!parents_plan) return input(own_plan, analytic, gpu);  // the change is what makes the kernel possible
  const Estimate parents = estimate(*parents_plan, *gpu.parent, context, Method::analytic);
  LearnedInput moved = input(*parents_plan, parents, *gpu.parent);
  moved.move = LearnedInput::Move{analytic.latency / parents.latency, parents.assumed_bound};
  return moved;
}

}  // namespace

LearnedInput learned_input(const Kernel& kernel, const Plan& plan, const Estimate& analytic, const Gpu& gpu,
                           const Context& context) {
  LearnedInput input = input_as_launched(kernel, plan, analytic, gpu, context);
  if (launched_by_host(context)) {
    Context graph = context;
    graph.runtime = Runtime::graph;
    input.in_graph = std::make_shared<const LearnedInput>(
        input_as_launched(kernel, plan, in_graph(analytic, plan, gpu), gpu, graph));
    input.call = host_call(kernel.shape);
  }
  return input;
}

namespace {

// The physics may be wrong about a change, so each end of the interval moves out: a card whose analytic forecast is
// half its parent's is 1.19 times as uncertain in either direction.
float doubt_of(const LearnedInput& input) {
  return input.move ? static_cast<float>(kMoveDoubt * std::abs(std::log(input.move->factor))) : 0.0f;
}

// The learned time on the card that was measured, then on this one.
Seconds time_at(const LearnedInput& input, Seconds base, float log) {
  if (!input.move) return std::max(base * std::exp(log), input.bound);
  return std::max(std::max(base * std::exp(log), input.move->bound) * input.move->factor, input.bound);
}

}  // namespace

namespace {

// What the forests were grown on: the kernel alone, if its host is added at the end.
const LearnedInput& alone(const LearnedInput& input, const Standing& standing) {
  return standing.hosts && input.in_graph ? *input.in_graph : input;
}

// `input` as the kernel is launched.
Seconds with_host(Seconds kernel, const LearnedInput& input, const Standing& standing) {
  if (!standing.hosts || !input.in_graph) return kernel;
  const HostTiming* host = host_of(*standing.hosts, standing.host_card, standing.host_vendor, input.call);
  return host ? timed_by_host(*host, kernel) : kernel;
}

// The ends keep their distance from the median, since hosts differ too.
LearnedTime with_host(LearnedTime t, const LearnedInput& input, const Standing& standing) {
  const double longer = with_host(t.median, input, standing) / t.median;
  if (longer == 1) return t;
  for (Seconds* time : {&t.median, &t.low, &t.high}) *time = *time * longer;
  t.ceiling = std::min(with_host(t.ceiling, input, standing), t.median);
  return t;
}

}  // namespace

Seconds untuned_time(const LearnedInput& input) { return microseconds(tuned_time(input.terms, Tuning{}, 1)); }

Prepared prepare(const LearnedInput& given, const Standing& standing) {
  const LearnedInput& input = alone(given, standing);
  const Seconds base = microseconds(tuned_time(input.terms, standing.rates));
  return {base, relative_features(input.raw, base, standing.code, standing.card_index, standing.source_index),
          standing.share < 1 ? static_cast<float>(std::log(base / untuned_time(input))) : 0};
}

namespace {

// A forest's answer, a logarithm over the base, with the share of what was learned that holds on the card.
float carried(float log, float tuned, float share) { return share < 1 ? kept(tuned + log, share) - tuned : log; }

const Spread& spread_for(const FamilyModel& model, const Standing& standing) {
  if (standing.known() && !standing.guessed && !standing.domain) return model.seen_spread;
  return standing.has_sibling() && !standing.guessed ? model.sibling_spread : model.unseen_spread;
}

}  // namespace

LearnedTime learned_time(const FamilyModel& model, const LearnedInput& given, const Standing& standing, Wanted wanted) {
  const LearnedInput& input = alone(given, standing);
  const Prepared p = prepare(input, standing);
  const float trust = standing.domain ? standing.domain->trust(p.features) : 1.0f;
  const float median = carried(trust * standing.forest->predict(p.features.row()), p.tuned, standing.share);
  if (wanted == Wanted::time) {
    const Seconds time = time_at(input, p.base, median);
    const LearnedTime alike = with_host({time, time, time, time}, given, standing);
    return standing.calibration ? calibrated(alike, input, standing) : alike;
  }
  const Spread& spread = spread_for(model, standing);
  const auto time = [&](float log) { return time_at(input, p.base, log); };
  LearnedTime t;
  t.median = time(median);
  // The ends are trained separately and may cross the median.
  t.own = {std::max(0.0, -static_cast<double>(spread.low.predict(p.features.row()))),
           std::max(0.0, static_cast<double>(spread.high.predict(p.features.row())))};
  const MainLoop loop = loop_of(standing.key.substr(0, standing.key.find('/')));
  t.shared = shared_width(loop, standing.doubt, standing.kernel_known);
  const Width whole = kernel_width(t.own, loop, standing.doubt, standing.kernel_known);
  const float doubt = doubt_of(input) + static_cast<float>(kOutsideWidth) * (1 - trust);
  t.low = time(median - static_cast<float>(whole.down) - doubt);
  t.high = time(median + static_cast<float>(whole.up) + doubt);
  t.ceiling = std::min(time(carried(model.ceiling.predict(p.features.row()), p.tuned, standing.share)), t.median);
  t = with_host(t, given, standing);
  return standing.calibration ? calibrated(t, input, standing) : t;
}

LearnedTime calibrated(const LearnedTime& t, const LearnedInput& input, const Standing& standing) {
  const Prepared p = prepare(input, standing);
  const CalibrationStanding card = calibration_standing(standing.calibration, standing.key, input.variant);
  const LogCorrection log = log_correction(card, input.terms, standing.rates, calibration_place(p.features, p.base));
  const double spread = card.family ? static_cast<double>(card.family->spread) : 1;
  LearnedTime c;
  c.median = std::max(t.median * std::exp(log.whole()), input.bound);
  c.low = std::max(c.median * std::pow(t.low / t.median, spread), input.bound);
  c.high = c.median * std::pow(t.high / t.median, spread);
  c.shared = {t.shared.down * spread, t.shared.up * spread};
  c.own = t.own;
  // Two measurements of one kernel differ, however well the card is known.
  c.low = std::min(c.low, std::max(c.median * std::exp(-kNoiseWidth), input.bound));
  c.high = std::max(c.high, c.median * std::exp(double{kNoiseWidth}));
  c.ceiling = std::clamp(t.ceiling * std::exp(log.card), input.bound, c.median);
  return c;
}

void learned_times(std::span<const LearnedInput> inputs, const Standing& standing, std::span<Seconds> out) {
  assert(inputs.size() == out.size());
  constexpr std::size_t kBlock = 256;  // as many rows as a forest walks together
  std::array<float, kBlock * kFeatureCount> features;
  std::array<float, kBlock> logs;
  std::array<float, kBlock> trust, tuned;
  for (std::size_t start = 0; start < inputs.size(); start += kBlock) {
    const std::size_t n = std::min(kBlock, inputs.size() - start);
    for (std::size_t i = 0; i < n; ++i) {
      const Prepared p = prepare(inputs[start + i], standing);
      out[start + i] = p.base;
      tuned[i] = p.tuned;
      trust[i] = standing.domain ? standing.domain->trust(p.features) : 1.0f;
      const auto row = p.features.row();
      std::copy(row.begin(), row.end(), features.begin() + static_cast<std::ptrdiff_t>(i * kFeatureCount));
    }
    standing.forest->predict(std::span<const float>(features).first(n * kFeatureCount),
                             std::span<float>(logs).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      const LearnedInput &given = inputs[start + i], &input = alone(given, standing);
      const float log = carried(trust[i] * logs[i], tuned[i], standing.share);
      const Seconds time = with_host(time_at(input, out[start + i], log), given, standing);
      out[start + i] = standing.calibration ? calibrated({time, time, time, time}, input, standing).median : time;
    }
  }
}

namespace {

// Only the part above the bound is stretched, so no launch falls below its own bound and the launches still sum to the
// whole.
Estimate with_time(const Estimate& analytic, const LearnedTime& t, Seen seen) {
  Estimate e = analytic;
  const Seconds above = analytic.latency - analytic.assumed_bound;
  const double factor = above > seconds(0) ? (t.median - analytic.assumed_bound) / above : 1;
  e.latency = t.median;
  e.interval = {t.low, t.high};
  e.shared = t.shared;
  e.ceiling = t.ceiling;
  e.efficiency = e.bound / e.latency;
  e.seen = seen;
  for (LaunchEstimate& launch : e.launches)
    launch.latency = launch.assumed_bound + (launch.latency - launch.assumed_bound) * factor;
  return e;
}

}  // namespace

Estimate calibrated(const Estimate& analytic, const Kernel& kernel, const Plan& plan, const Gpu& gpu,
                    const Context& context) {
  const std::string key = model_key(kernel);
  Standing standing;
  standing.rates = tuned_rates(Tuning{}, 1);
  standing.calibration = gpu.calibration.get();
  standing.key = key;
  const LearnedInput input = learned_input(kernel, plan, analytic, gpu, context);
  const LearnedTime t{analytic.latency, analytic.interval.low, analytic.interval.high, analytic.ceiling,
                      analytic.shared};
  return with_time(analytic, calibrated(t, input, standing),
                   gpu.calibration->families.contains(key) ? Seen::calibrated : analytic.seen);
}

Estimate corrected(const Estimate& analytic, const FamilyModel& model, const Kernel& kernel, const Plan& plan,
                   const Gpu& gpu, const Context& context, bool guessed, Wanted wanted) {
  Standing standing = standing_of(model, context, gpu);
  standing.guessed = guessed;
  if (guessed) standing.kernel_known = false;
  const LearnedTime t = learned_time(model, learned_input(kernel, plan, analytic, gpu, context), standing, wanted);
  Estimate e = with_time(analytic, t, standing.seen);
  e.method = Method::tilecast;
  return e;
}

}  // namespace tilecast
