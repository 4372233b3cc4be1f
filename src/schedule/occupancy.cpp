#include <algorithm>

#include "schedule/schedule.h"

namespace tilecast {
namespace {

// Registers are handed out per warp in units of 256 (CUDA occupancy calculator, compute capability 6.0 to 12.0).
constexpr int kRegisterUnit = 256;
constexpr int kWarp = 32;
// Every resident CTA also takes 1 KiB of shared memory for the system (compute capability 8.0 and later; a lower
// occupancy by one CTA at most on older chips).
constexpr double kReservedShared = 1024;

}  // namespace

int occupancy(const CtaShape& cta, const Gpu& gpu) {
  const int warps = (cta.threads + kWarp - 1) / kWarp;
  const int warp_registers = (cta.registers * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  const Count by_registers = warp_registers ? gpu.registers_per_sm / (Count{warps} * warp_registers) : gpu.max_ctas_per_sm;
  const Count by_threads = gpu.max_threads_per_sm / (warps * kWarp);
  Count by_shared = gpu.max_ctas_per_sm;
  if (in_bytes(cta.shared_memory) > 0) {
    if (cta.shared_memory > gpu.shared_memory.per_cta) return 0;
    by_shared = static_cast<Count>(gpu.shared_memory.per_sm / (cta.shared_memory + bytes(kReservedShared)));
    by_shared = std::max<Count>(by_shared, 1);
  }
  return static_cast<int>(std::min({by_registers, by_threads, by_shared, Count{gpu.max_ctas_per_sm}}));
}

}  // namespace tilecast
