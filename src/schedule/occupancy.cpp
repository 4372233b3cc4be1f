#include <algorithm>

#include "constants/streaming.h"
#include "schedule/schedule.h"

namespace tilecast {

using namespace constants;

namespace {

// Registers are allocated per warp in units of 256, from the file of the sub-partition the warp runs on: four of them
// on an SM, two on compute capability 6.0 (CUDA occupancy calculator, compute capability 6.0 to 12.0).
int partitions_of(const Gpu& gpu) { return gpu.compute_capability == "6.0" ? kSmPartitionsP100 : kSmPartitions; }

// From compute capability 8.0 on every resident CTA also takes 1 KiB of shared memory for the system; shared memory is
// allocated in units of 128 bytes, 256 before (the same source).
struct SharedRule {
  double reserved, unit;
};
SharedRule shared_rule_of(const Gpu& gpu) {
  switch (gpu.architecture) {
    case Architecture::ampere:
    case Architecture::ada:
    case Architecture::hopper:
    case Architecture::blackwell: return {kSharedReserved, kSharedUnit};
    default: return {0, kSharedUnitBefore};
  }
}

}  // namespace

int occupancy(const CtaShape& cta, const Gpu& gpu) {
  const int warps = (cta.threads + kWarpThreads - 1) / kWarpThreads;
  const int warp_registers = (cta.registers * kWarpThreads + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  const Count by_threads = gpu.max_threads_per_sm / (warps * kWarpThreads);
  Count by_registers = gpu.max_ctas_per_sm;
  if (warp_registers > 0) {
    const Count partitions = partitions_of(gpu);
    by_registers = gpu.registers_per_sm / partitions / warp_registers * partitions / warps;
  }
  Count by_shared = gpu.max_ctas_per_sm;
  if (in_bytes(cta.shared_memory) > 0) {
    if (cta.shared_memory > gpu.shared_memory.per_cta) return 0;
    const SharedRule rule = shared_rule_of(gpu);
    const Count taken =
        round_up(static_cast<Count>(in_bytes(cta.shared_memory) + rule.reserved), static_cast<Count>(rule.unit));
    by_shared = std::max<Count>(1, static_cast<Count>(in_bytes(gpu.shared_memory.per_sm)) / taken);
  }
  return static_cast<int>(std::min({by_registers, by_threads, by_shared, Count{gpu.max_ctas_per_sm}}));
}

}  // namespace tilecast
