#include "estimate/standing.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "constants/estimate.h"
#include "constants/intervals.h"
#include "constants/product.h"
#include "estimate/feature_schema.h"
#include "gpu/registry.h"
#include "kernel/attention_sources.h"
#include "kernel/scan_sources.h"
#include "kernel/shapes.h"
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

// Whoever names no kernel does not mean one for tensors that lie apart or change their type.
bool is_plain(const NamedSource& source) {
  Context context;
  context.kernel_source = last_levels(source.first).kernel;
  return torch_walk(context) == TorchWalk::vectorized;
}

// The plain source with an index and most rows below a level ("nvidia/mma").
const NamedSource* most_measured(const FamilyModel& model, const std::string& level) {
  const NamedSource* best = nullptr;
  const std::string prefix = level + "/";
  for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at)
    if (at->second.index >= 0 && is_plain(*at) && (!best || at->second.rows > best->second.rows)) best = &*at;
  return best;
}

// A kernel of the same kind on this generation, from any engine: the one with most rows.
const NamedSource* kin_of(const FamilyModel& model, const KernelSource& source, const std::string& generation) {
  using Word = KernelSource::Word;
  const NamedSource* best = nullptr;
  const std::string prefix = generation + "/";
  for (const Word kin : {Word::kin_of_fa3, Word::kin_of_fa2, Word::kin_of_fa4, Word::kin_of_triton, Word::flashinfer}) {
    if (!source.says(kin)) continue;
    for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at)
      if (at->second.index >= 0 && last_levels(at->first).kernel.says(kin) &&
          last_levels(at->first).kernel.says(Word::trtllm) == source.says(Word::trtllm) &&  // which FlashInfer may call
          (!best || at->second.rows > best->second.rows))
        best = &*at;
  }
  return best;
}

// The scan kernel below a level that computes what the shape asks for, the one with most rows among those that fit
// best.
const NamedSource* fitting(const FamilyModel& model, const Scan& shape, const std::string& level) {
  const NamedSource* best = nullptr;
  int best_fit = 0;
  const std::string prefix = level + "/";
  for (auto at = model.sources.lower_bound(prefix); at != model.sources.end() && at->first.starts_with(prefix); ++at) {
    const ScanSource* source = at->second.index < 0 ? nullptr : scan_source(last_levels(at->first).kernel.text());
    const int fit = source ? fit_of(*source, shape) : 0;
    if (fit == 0 || fit < best_fit || (fit == best_fit && at->second.rows <= best->second.rows)) continue;
    best = &*at, best_fit = fit;
  }
  return best;
}

// ... of the engine, where it has one of that form.
const NamedSource* fitting(const FamilyModel& model, const Scan& shape, const Context& context,
                           const SourceNames& names) {
  const auto form = [&](const NamedSource* s) { return scan_source(last_levels(s->first).kernel.text())->fused; };
  const NamedSource* own = context.engine.empty() ? nullptr : fitting(model, shape, names.engine);
  if (own && form(own) == shape.fused) return own;
  const NamedSource* any = fitting(model, shape, names.generation);
  return any && (!own || form(any) == shape.fused) ? any : own;
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
bool sibling_seen(const FamilyModel& model, const Gpu& gpu) {
  return std::any_of(built_in_gpus().begin(), built_in_gpus().end(), [&](const Gpu& other) {
    return other.architecture == gpu.architecture && other.tensor_generation() == gpu.tensor_generation() &&
           other.name != gpu.name && model.seen.contains(other.name);
  });
}

Seen seen_by(const FamilyModel& model, const Gpu& gpu) {
  if (model.seen.contains(gpu.name)) return Seen::yes;
  return sibling_seen(model, gpu) ? Seen::sibling : Seen::no;
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

bool measures(const FamilyModel& model, const Shape& shape) {
  const Scan* scan = shape.get_if<Scan>();
  return !scan || std::any_of(model.sources.begin(), model.sources.end(), [&](const NamedSource& named) {
    const ScanSource* source = named.second.index < 0 ? nullptr : scan_source(last_levels(named.first).kernel.text());
    return source && source->kind == scan->kind;
  });
}

Context stand_in(const FamilyModel& model, const Context& context, const Gpu& gpu, const Shape* shape) {
  const SourceNames names = source_names(context, gpu);
  const Scan* scan = shape ? shape->get_if<Scan>() : nullptr;
  const ScanSource* named_scan = scan ? scan_source(context.kernel_source.text()) : nullptr;
  if (find(model, names.kernel) && !(named_scan && named_scan->kind != scan->kind)) return context;
  const NamedSource* best = scan ? fitting(model, *scan, context, names) : likeliest(model, context, names);
  if (!best) return context;
  const LastLevels levels = last_levels(best->first);
  Context named = context;
  named.engine = levels.engine;
  named.kernel_source = levels.kernel;
  return named;
}

bool launched_by_host(const Context& context) {
  return context.engine.of_pytorch() && context.runtime == Runtime::eager;
}

namespace {

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
  standing.kernel_known_somewhere = kernel || find(model, names.kernel_anywhere);
  standing.of_pytorch = context.engine.of_pytorch();
  standing.sibling_seen = sibling_seen(model, card);
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

Footing Standing::footing() const {
  return {loop_of(key.substr(0, key.find('/'))), doubt, kernel_known_somewhere, of_pytorch};
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

}  // namespace tilecast
