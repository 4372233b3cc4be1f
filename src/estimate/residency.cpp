#include "estimate/residency.h"

#include <algorithm>
#include <cmath>

#include "constants/estimate.h"
#include "support/arithmetic.h"

namespace tilecast {

using namespace constants;

namespace {

struct Footprint {
  Bytes weights, activations, written;
  Bytes rewritten;  // updated in place; counted in weights or activations as well
  Bytes scratch_read, scratch_written;
  Bytes scratch() const { return std::max(scratch_read, scratch_written); }
};

enum class Share : std::uint8_t { certain, assumed, expected };

Footprint footprint_of(const Launch& launch, Share count) {
  Footprint f;
  for (const Operand& operand : launch.operands) {
    const Bytes size = count == Share::certain   ? operand.least()
                       : count == Share::assumed ? operand.least_assumed()
                                                 : operand.size;
    if (operand.role == Operand::Role::workspace) {
      if (operand.read) f.scratch_read += size;
      if (operand.written) f.scratch_written += size;
      continue;
    }
    if (operand.role == Operand::Role::weight) f.weights += size;
    else if (operand.read) f.activations += size;
    else if (operand.written) f.written += size;
    if (operand.read && operand.written) f.rewritten += size;
  }
  return f;
}

Bytes positive(Bytes b) { return std::max(b, bytes(0)); }

// Share of the cache that data from earlier kernels can actually occupy, and how sharply residency ends there, by
// architecture. Read off decode attention on the visible GPUs (docs/method.md, residency): Ada keeps all of its L2
// with a sharp edge; A100's and H100's are two halves that each cache the other's data.
const CacheConstants& constants_of(const Gpu& gpu) {
  switch (gpu.architecture) {
    case Architecture::ampere: return gpu.compute_capability == "8.0" ? kAmpereCache : kWholeCache;
    case Architecture::hopper: return kHopperCache;
    case Architecture::blackwell:
      return gpu.tensor_generation() == TensorGeneration::tcgen05 ? kTcgenCache : kWholeCache;
    case Architecture::ada:
    case Architecture::turing: return kWholeCache;
    default: return kOtherCache;
  }
}
struct CacheCharacter {
  double usable;
  double sharpness;
};
CacheCharacter character_of(const Gpu& gpu) {
  const CacheConstants& constants = constants_of(gpu);
  return {gpu.tuned(constants.usable), gpu.tuned(constants.sharpness)};
}

// Share of accesses that miss when `footprint` cycles through the cache.
double miss_share(Bytes footprint, const Gpu& gpu) {
  if (footprint <= bytes(0)) return 0;
  const CacheCharacter cache = character_of(gpu);
  return 1 / (1 + power(footprint / (gpu.resident_capacity() * cache.usable), -cache.sharpness));
}

// Later reads of operands that the launch streams more than once, as far as they miss the cache.
Bytes rereads(const Launch& launch, const Gpu& gpu) {
  Bytes sum;
  for (const Operand& operand : launch.operands)
    if (operand.passes > 1) sum += operand.size * ((operand.passes - 1) * miss_share(operand.reuse_distance, gpu));
  return sum;
}

// Written bytes that reach DRAM before the launch ends. The cache keeps the most recently touched lines, which include
// a share of the writes: H200 counters, cold (data/measurements), agree for streams from 2 to 400 MB and products
// alike.
Bytes written_back(Bytes written, Bytes loaded, const Gpu& gpu) {
  if (written <= bytes(0)) return bytes(0);
  const Bytes kept = gpu.resident_capacity() * character_of(gpu).usable;
  return written * (1 - std::min(1.0, kept / (written + loaded)));
}

}  // namespace

Traffic least_traffic(const Launch& launch, const Gpu& gpu, const Context& context, Given given) {
  const Footprint f = footprint_of(launch, given == Given::shape ? Share::certain : Share::assumed);
  const Bytes capacity = gpu.resident_capacity();
  Traffic traffic;
  switch (context.warmth) {
    case Warmth::cold:
      // Everything read comes from DRAM once; what is written may stay in the cache.
      traffic.load = f.weights + f.activations;
      traffic.store = positive(f.written + f.rewritten - capacity);
      break;
    case Warmth::model:
      traffic.load = f.weights + positive(f.activations - capacity);
      traffic.store = positive(f.written + f.rewritten - capacity);
      break;
    case Warmth::warm: {
      // A cycle of `copies` runs touches the whole footprint; perfect replacement keeps one cacheful of it.
      const double copies = std::max(context.weight_copies, context.activation_copies);
      const Bytes cycled = f.weights * context.weight_copies + f.activations * context.activation_copies + f.written;
      traffic.load = std::min(positive(cycled - capacity) / copies, f.weights + f.activations + f.written);
      traffic.store = positive(f.rewritten - capacity);  // every run dirties all of it
      break;
    }
  }
  return traffic;
}

Bytes touched_elsewhere(const Plan& plan, std::size_t launch) {
  const auto touches = [](const Launch& one, std::string_view name) {
    return std::any_of(one.operands.begin(), one.operands.end(), [&](const Operand& o) { return o.name == name; });
  };
  Bytes sum;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    if (i == launch) continue;
    for (const Operand& operand : plan.launches[i].operands)
      if (operand.role != Operand::Role::workspace && !touches(plan.launches[launch], operand.name))
        sum += operand.size;
  }
  return sum;
}

Traffic expected_traffic(const Launch& launch, const Gpu& gpu, const Context& context, Bytes elsewhere) {
  const Footprint f = footprint_of(launch, Share::expected);
  const Bytes stored = f.written + f.rewritten + f.scratch_written;
  const Bytes once = f.weights + f.activations + f.written + f.scratch();
  const double spill = miss_share(once, gpu);
  const Bytes again = rereads(launch, gpu);
  Traffic traffic;
  switch (context.warmth) {
    case Warmth::cold:
      traffic.load = f.weights + f.activations + f.scratch_read * spill + again;
      traffic.store = written_back(stored, traffic.load, gpu);
      break;
    case Warmth::model:
      traffic.load = f.weights + (f.activations + f.scratch_read) * spill + again;
      traffic.store = stored * spill;
      break;
    case Warmth::warm: {
      const Bytes cycled =
          f.weights * context.weight_copies + f.activations * context.activation_copies + f.written + f.scratch();
      const double miss = miss_share(cycled + elsewhere, gpu);
      // Data that is not rotated is touched every run: it is evicted only if one run alone overflows the cache.
      const double miss_activations =
          context.activation_copies > 1 ? miss : std::min(miss, miss_share(once + elsewhere, gpu));
      traffic.load = f.weights * miss + f.activations * miss_activations + f.scratch_read * spill + again;
      traffic.store = stored * std::min(miss, spill);
      break;
    }
  }
  return traffic;
}

}  // namespace tilecast
